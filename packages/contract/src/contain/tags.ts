import type { JsonValue } from '../schema/json.ts'
import { listHas } from '../schema/listed-values.ts'
import type { SchemaNode } from '../schema/schema-node.ts'

/** Returns the values that a schema lists, directly or behind references; undefined for a schema that lists none. */
export function listedValuesOf(node: SchemaNode, depth = 0): readonly JsonValue[] | undefined {
  if (node.enum !== undefined) return node.enum
  if (node.ref !== undefined && depth < 10) return listedValuesOf(node.ref, depth + 1)
  return undefined
}

/** Returns required properties with listed values: a member of a discriminated union is known by them. */
export function tagsOf(node: SchemaNode, depth = 0): ReadonlyMap<string, readonly JsonValue[]> {
  const found = new Map<string, readonly JsonValue[]>()
  const inPlace = depth < 10 ? [...(node.ref === undefined ? [] : [node.ref]), ...(node.allOf ?? [])] : []
  for (const inner of inPlace) for (const [name, values] of tagsOf(inner, depth + 1)) found.set(name, values)
  for (const name of node.required ?? []) {
    const property = node.properties?.get(name)
    const values = property === undefined ? undefined : listedValuesOf(property)
    if (values !== undefined) found.set(name, values)
  }
  return found
}

/** Tells whether no value fits both schemas, as far as types and tags show it. */
export function areDisjoint(one: SchemaNode, other: SchemaNode): boolean {
  const [first, second] = [typesBehind(one), typesBehind(other)]
  if (first !== undefined && second !== undefined && ![...first].some((type) => second.has(type))) return true
  if (first?.size !== 1 || !first.has('object') || second?.size !== 1 || !second.has('object')) return false
  const others = tagsOf(other)
  return [...tagsOf(one)].some(([name, values]) => {
    const tags = others.get(name)
    return tags !== undefined && !values.some((value) => listHas(tags, value))
  })
}

function typesBehind(node: SchemaNode, depth = 0): ReadonlySet<string> | undefined {
  if (node.types !== undefined) return new Set([...node.types].map((type) => (type === 'integer' ? 'number' : type)))
  if (node.ref !== undefined && depth < 10) return typesBehind(node.ref, depth + 1)
  return undefined
}
