import { canonicalText, type JsonObject, type JsonValue } from '../schema/json.ts'
import type { SchemaNode } from '../schema/schema-node.ts'
import { isMemberOf } from './member-schemas.ts'
import { all, count, type Verdict, verdictOf } from './verdict.ts'

type InPlace = (inner: SchemaNode) => Verdict
type Member = (node: SchemaNode, value: JsonValue) => Verdict

/** Judges the keywords of objects. */
export function* evaluateProperties(
  node: SchemaNode,
  value: JsonObject,
  inPlace: InPlace,
  member: Member,
): Generator<Verdict> {
  const names = Object.keys(value)
  const holds = (name: string): boolean => Object.hasOwn(value, name)
  if (node.required !== undefined) yield verdictOf(node.required.every(holds))
  if (node.minProperties !== undefined) yield verdictOf(names.length >= node.minProperties)
  if (node.maxProperties !== undefined) yield verdictOf(names.length <= node.maxProperties)
  for (const [name, needed] of node.dependentRequired ?? []) yield verdictOf(!holds(name) || needed.every(holds))
  for (const [name, inner] of node.dependentSchemas ?? []) if (holds(name)) yield inPlace(inner)
  for (const name of names) {
    if (node.propertyNames !== undefined) yield member(node.propertyNames, name)
    for (const [inner, isSure] of memberSchemasOf(node, name)) {
      const verdict = member(inner, value[name] as JsonValue)
      yield isSure || verdict === 'YES' ? verdict : 'UNKNOWN'
    }
  }
  if (node.unevaluatedProperties !== undefined) {
    const left = names.filter((name) => evaluates(node, name, value, inPlace, new Set()) !== 'YES')
    const isSure = left.every((name) => evaluates(node, name, value, inPlace, new Set()) === 'NO')
    const verdict = all(left.map((name) => member(node.unevaluatedProperties as SchemaNode, value[name] as JsonValue)))
    yield isSure || verdict === 'YES' ? verdict : 'UNKNOWN'
  }
}

/** The schemas of a member; false for one of which it is not known whether it applies. */
function memberSchemasOf(node: SchemaNode, name: string): (readonly [SchemaNode, boolean])[] {
  const found: (readonly [SchemaNode, boolean])[] = []
  const declared = node.properties?.get(name)
  if (declared !== undefined) found.push([declared, true])
  let isSure = true
  for (const [pattern, inner] of node.patternProperties ?? []) {
    const applies = isMemberOf(pattern, name)
    if (applies === undefined) isSure = false
    if (applies !== false) found.push([inner, applies === true])
  }
  if (found.every(([, sure]) => !sure) && node.additionalProperties !== undefined)
    found.push([node.additionalProperties, isSure])
  return found
}

/** Tells whether a schema, or one that holds in the same place, has evaluated a member. */
function evaluates(
  node: SchemaNode,
  key: string | number,
  value: JsonValue,
  inPlace: InPlace,
  open: Set<SchemaNode>,
): Verdict {
  if (open.has(node)) return 'NO'
  open.add(node)
  const own = typeof key === 'string' ? memberSchemasOf(node, key).length > 0 : evaluatesItem(node, key)
  if (own) return 'YES'
  if (open.size > 1 && (typeof key === 'string' ? node.unevaluatedProperties : node.unevaluatedItems) !== undefined)
    return 'YES'
  let isOpen = false
  for (const [inner, holds] of appliedInPlace(node, value, inPlace)) {
    if (holds === 'NO') continue
    const verdict = evaluates(inner, key, value, inPlace, open)
    if (verdict === 'YES' && holds === 'YES') return 'YES'
    if (verdict !== 'NO') isOpen = true
  }
  if (node.unknown !== undefined || (typeof key === 'number' && node.contains !== undefined)) isOpen = true
  return isOpen ? 'UNKNOWN' : 'NO'
}

function evaluatesItem(node: SchemaNode, index: number): boolean {
  return node.items !== undefined || index < (node.prefixItems?.length ?? 0)
}

function* appliedInPlace(
  node: SchemaNode,
  value: JsonValue,
  inPlace: InPlace,
): Generator<readonly [SchemaNode, Verdict]> {
  if (node.ref !== undefined) yield [node.ref, 'YES']
  for (const inner of node.allOf ?? []) yield [inner, 'YES']
  for (const inner of [...(node.anyOf ?? []), ...(node.oneOf ?? [])]) yield [inner, inPlace(inner)]
  for (const [name, inner] of node.dependentSchemas ?? [])
    if (Object.hasOwn(value as JsonObject, name)) yield [inner, 'YES']
  if (node.if === undefined) return
  const holds = inPlace(node.if.node)
  yield [node.if.node, holds]
  if (node.if.whenTrue !== undefined && holds !== 'NO') yield [node.if.whenTrue, holds]
  if (node.if.whenFalse !== undefined && holds !== 'YES') yield [node.if.whenFalse, holds === 'NO' ? 'YES' : 'UNKNOWN']
}

/** Judges the keywords of arrays. */
export function* evaluateItems(
  node: SchemaNode,
  value: readonly JsonValue[],
  inPlace: InPlace,
  member: Member,
): Generator<Verdict> {
  if (node.minItems !== undefined) yield verdictOf(value.length >= node.minItems)
  if (node.maxItems !== undefined) yield verdictOf(value.length <= node.maxItems)
  if (node.uniqueItems === true) yield verdictOf(new Set(value.map(canonicalText)).size === value.length)
  for (const [index, item] of value.entries()) {
    const inner = node.prefixItems?.[index] ?? node.items
    if (inner !== undefined) yield member(inner, item)
  }
  if (node.contains !== undefined) {
    const { node: inner, min, max } = node.contains
    yield count(
      value.map((item) => member(inner, item)),
      min,
      max,
    )
  }
  if (node.unevaluatedItems !== undefined)
    for (const [index, item] of value.entries()) {
      const evaluated = evaluates(node, index, value, inPlace, new Set())
      if (evaluated === 'YES') continue
      const contained = node.contains === undefined ? 'NO' : member(node.contains.node, item)
      if (contained === 'YES') continue
      const verdict = member(node.unevaluatedItems, item)
      // Beside `contains`, some validators count all items as evaluated, and others the matching ones.
      yield evaluated === 'NO' || verdict === 'YES' ? verdict : 'UNKNOWN'
    }
}
