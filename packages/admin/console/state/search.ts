/** Where a search leads. Pure. */

import type { Place } from './place.ts'

const words: Readonly<Record<string, string>> = {
  binding: 'binding',
  event: 'event',
  error: 'exception',
  exception: 'exception',
  reason: 'reason',
  state: 'state',
  key: 'key',
  since: 'since',
  trace: 'traceId',
  topic: 'topic',
}

/**
 * Reads a search: the name of a binding, an id, or a filter of failures such as `error:HttpError key:o-* since:24h`.
 * @param bindings - the names that are known
 */
export function placeOfSearch(text: string, bindings: readonly string[]): Place {
  const given = text.trim()
  if (bindings.includes(given)) return { segments: ['bindings', given], query: {} }
  if (/^op_[0-9A-Z]{26}$/.test(given)) return { segments: ['operations', given], query: {} }
  if (/^(?:[^:\s]+:)?[\w.-]+:\d+:\d+$/.test(given)) return { segments: ['dead-letters', given], query: {} }
  const query: Record<string, string> = {}
  const rest: string[] = []
  for (const word of given.split(/\s+/)) {
    const [, name = '', value = ''] = /^(\w+):(.+)$/.exec(word) ?? []
    const field = Object.hasOwn(words, name) ? words[name] : undefined
    if (field === undefined) rest.push(word)
    else query[field] = field === 'since' ? ageOf(value) : value
  }
  if (rest.join(' ') !== '') query['q'] = rest.join(' ')
  return { segments: ['failures'], query }
}

/** `24h` is `PT24H`, `7d` is `P7D`; instants stay. */
function ageOf(value: string): string {
  const [, count, unit = ''] = /^(\d+)([smhd])$/.exec(value) ?? []
  if (count === undefined) return value
  return unit === 'd' ? `P${count}D` : `PT${count}${unit.toUpperCase()}`
}
