import { matchesText } from '../pattern/matches-text.ts'
import type { SchemaNode } from '../schema/schema-node.ts'

/** Tells whether a pattern matches the name of a member; undefined where that is not known. */
export function isMemberOf(pattern: string, name: string): boolean | undefined {
  return matchesText(pattern, name)
}

/** Returns the schemas that one node applies to a member; undefined where a pattern cannot be read. */
export function memberNodesOf(node: SchemaNode, name: string): readonly SchemaNode[] | undefined {
  const found: SchemaNode[] = []
  const declared = node.properties?.get(name)
  if (declared !== undefined) found.push(declared)
  for (const [pattern, inner] of node.patternProperties ?? []) {
    const applies = isMemberOf(pattern, name)
    if (applies === undefined) return undefined
    if (applies) found.push(inner)
  }
  if (found.length === 0 && node.additionalProperties !== undefined) found.push(node.additionalProperties)
  return found
}
