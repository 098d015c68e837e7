import { declaredLength, isFreeForm, itemPlace, type Json, memberPlace, type SchemaPlace } from './schema-place.ts'

/** Deeper payloads are refused: their schemas would have to be followed as deep. */
const deepest = 500

/**
 * Returns the value without the members and items that its JSON Schema does not declare, and their paths. A place that declares
 * no members is a free form, and all of it stays; so do the members of a map (`additionalProperties`, `patternProperties`).
 * Items behind a tuple are not declared, unless the schema says which.
 *
 * Members of all branches of a union count as declared, but for branches that cannot hold: the tag of a discriminated union
 * has another value there. The compatibility check of `@waybill/contract` takes the same members as written.
 */
export function withoutUndeclared(
  schema: Json,
  value: unknown,
): { readonly value: unknown; readonly undeclared: readonly string[][] } {
  const undeclared: string[][] = []
  return { value: keep({ root: schema, nodes: [schema] }, value, [], undeclared), undeclared }
}

function keep(place: SchemaPlace, value: unknown, path: readonly string[], undeclared: string[][]): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (path.length > deepest) {
    undeclared.push([...path])
    return value
  }
  return Array.isArray(value)
    ? keepItems(place, value as readonly unknown[], path, undeclared)
    : keepMembers(place, value as Json, path, undeclared)
}

function keepItems(
  place: SchemaPlace,
  value: readonly unknown[],
  path: readonly string[],
  undeclared: string[][],
): unknown {
  const length = declaredLength(place, value)
  for (let index = length; index < value.length; index += 1) undeclared.push([...path, String(index)])
  const items = (length < value.length ? value.slice(0, length) : value).map((item, index) =>
    keep(itemPlace(place, value, index), item, [...path, String(index)], undeclared),
  )
  return items.length === value.length && items.every((item, index) => item === value[index]) ? value : items
}

function keepMembers(place: SchemaPlace, value: Json, path: readonly string[], undeclared: string[][]): unknown {
  let isOpen: boolean | undefined
  const names = Object.keys(value)
  const members = names.flatMap((name): [string, unknown][] => {
    const inner = memberPlace(place, value, name)
    if (inner.nodes.length > 0) return [[name, keep(inner, value[name], [...path, name], undeclared)]]
    isOpen ??= isFreeForm(place, value)
    if (isOpen) return [[name, value[name]]]
    undeclared.push([...path, name])
    return []
  })
  const isSame = members.length === names.length && members.every(([name, member]) => member === value[name])
  return isSame ? value : Object.fromEntries(members)
}
