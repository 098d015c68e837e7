import type { SchemaNode } from '../schema/schema-node.ts'
import { type Place, pathText, withStatic } from './place.ts'

/** Returns a value short enough for a line. */
export function shortText(value: unknown): string {
  const text = JSON.stringify(value) ?? 'nothing'
  return text.length > 80 ? `${text.slice(0, 77)}…` : text
}

/** Returns the words for a keyword that has one value before and another after. */
export function changeText(place: Place, keyword: keyof SchemaNode): string {
  const written = withStatic(place.writers).find((node) => node[keyword] !== undefined)?.[keyword]
  const read = place.reader[keyword]
  const [before, after] = place.direction === 'BACKWARD' ? [written, read] : [read, written]
  return `${keyword} of ${pathText(place)}: ${valueText(before)} -> ${valueText(after)}`
}

function valueText(value: unknown): string {
  if (value === undefined) return 'none'
  return value instanceof Set ? [...value].join('|') : shortText(value)
}

/** Returns which events which readers refuse. */
export function consequence({ direction }: Place): string {
  return direction === 'BACKWARD' ? 'new readers refuse old events' : 'old readers refuse new events'
}
