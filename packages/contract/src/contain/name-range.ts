import type { TextSets } from '../pattern/text-set.ts'
import type { SchemaNode } from '../schema/schema-node.ts'
import { invertRange, lengthSet, patternRange, singleText, type TextRange } from './find-text-value.ts'

/** Returns the names of members that a schema accepts. */
export function nameRange(sets: TextSets, node: SchemaNode, depth = 0): TextRange {
  const nothing: TextRange = { surely: sets.nothing, perhaps: sets.nothing }
  if (node.isNever || (node.types !== undefined && !node.types.has('string'))) return nothing
  const open: TextRange = { surely: sets.nothing, perhaps: sets.any }
  if (depth > 20) return open
  const inner = (each: SchemaNode): TextRange => nameRange(sets, each, depth + 1)
  const parts: TextRange[] = []
  if (node.pattern !== undefined) parts.push(patternRange(sets, node.pattern))
  if (node.minLength !== undefined || node.maxLength !== undefined)
    parts.push(exactly(lengthSet(sets, node.minLength ?? 0, node.maxLength ?? Number.POSITIVE_INFINITY)))
  if (node.enum !== undefined)
    parts.push(
      exactly(sets.or(node.enum.flatMap((value) => (typeof value === 'string' ? singleText(sets, value) : [])))),
    )
  if (node.ref !== undefined) parts.push(inner(node.ref))
  parts.push(...(node.allOf ?? []).map(inner))
  if (node.anyOf !== undefined) parts.push(join(sets, 'or', node.anyOf.map(inner)))
  if (node.not !== undefined) parts.push(invertRange(sets, inner(node.not)))
  if (node.format !== undefined || node.oneOf !== undefined || node.if !== undefined || node.unknown !== undefined)
    parts.push(open)
  return join(sets, 'and', parts)
}

function exactly(set: TextRange['surely']): TextRange {
  return { surely: set, perhaps: set }
}

function join(sets: TextSets, how: 'and' | 'or', ranges: readonly TextRange[]): TextRange {
  return {
    surely: sets[how](ranges.map(({ surely }) => surely)),
    perhaps: sets[how](ranges.map(({ perhaps }) => perhaps)),
  }
}
