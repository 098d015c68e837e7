import { createNode, type SchemaNode } from './schema-node.ts'

/**
 * Replaces `unevaluatedProperties` and `unevaluatedItems` by what they mean where no branch decides it: then the members that
 * schemas of the same place evaluate are those that they mention. Elsewhere they stay.
 */
export function settleUnevaluated(nodes: Iterable<SchemaNode>): void {
  // All are looked at before any is changed: they may evaluate for each other.
  const settled = [...nodes].flatMap((node) => {
    if (node.unevaluatedProperties === undefined && node.unevaluatedItems === undefined) return []
    const beside = staticNodes(node)
    return beside === undefined ? [] : [{ node, rests: [...propertyRest(node, beside), ...itemRest(node, beside)] }]
  })
  for (const { node, rests } of settled) {
    if (rests.length > 0) node.allOf = [...(node.allOf ?? []), ...rests]
    delete node.unevaluatedProperties
    delete node.unevaluatedItems
    delete node.text
  }
}

/** Returns the schemas that always hold in the same place; undefined if some hold for some values only. */
function staticNodes(node: SchemaNode, seen: Set<SchemaNode> = new Set()): ReadonlySet<SchemaNode> | undefined {
  if (seen.has(node)) return seen
  seen.add(node)
  const { anyOf, oneOf, if: branch, dependentSchemas, contains, unknown } = node
  if ([anyOf, oneOf, branch, dependentSchemas, contains, unknown].some((each) => each !== undefined)) return undefined
  for (const inner of [...(node.ref === undefined ? [] : [node.ref]), ...(node.allOf ?? [])])
    if (staticNodes(inner, seen) === undefined) return undefined
  return seen
}

function propertyRest(node: SchemaNode, beside: ReadonlySet<SchemaNode>): SchemaNode[] {
  const rest = node.unevaluatedProperties
  const evaluatesAll = [...beside].some(
    (each) => each.additionalProperties !== undefined || (each !== node && each.unevaluatedProperties !== undefined),
  )
  if (rest === undefined || evaluatesAll) return []
  const all = createNode(node.pointer)
  const names = [...beside].flatMap(({ properties }) => [...(properties?.keys() ?? [])])
  const patterns = [...beside].flatMap(({ patternProperties = [] }) => patternProperties.map(([pattern]) => pattern))
  return [
    createNode(node.pointer, {
      properties: new Map(names.map((name) => [name, all])),
      ...(patterns.length === 0 ? {} : { patternProperties: patterns.map((pattern) => [pattern, all] as const) }),
      additionalProperties: rest,
    }),
  ]
}

function itemRest(node: SchemaNode, beside: ReadonlySet<SchemaNode>): SchemaNode[] {
  const rest = node.unevaluatedItems
  const evaluatesAll = [...beside].some(
    (each) => each.items !== undefined || (each !== node && each.unevaluatedItems !== undefined),
  )
  if (rest === undefined || evaluatesAll) return []
  const length = Math.max(0, ...[...beside].map(({ prefixItems }) => prefixItems?.length ?? 0))
  const all = createNode(node.pointer)
  return [createNode(node.pointer, { prefixItems: Array.from({ length }, () => all), items: rest })]
}
