import type { JsonValue } from '../schema/json.ts'

/** The outcome of a search: a value, the proof that there is none, or neither. */
export type Answer =
  | { readonly kind: 'FOUND'; readonly value: JsonValue }
  | { readonly kind: 'NONE' }
  | { readonly kind: 'UNKNOWN' }

export const none: Answer = { kind: 'NONE' }
export const unknown: Answer = { kind: 'UNKNOWN' }

/** The answer of a value. */
export function found(value: JsonValue): Answer {
  return { kind: 'FOUND', value }
}

/** Returns the first value of several searches; NONE only if all of them prove it. */
export function firstOf(answers: Iterable<Answer>): Answer {
  let last: Answer = none
  for (const answer of answers) {
    if (answer.kind === 'FOUND') return answer
    if (answer.kind === 'UNKNOWN') last = answer
  }
  return last
}
