/** Compiles a filter of dead letters to a predicate over what a dead letter itself says. Pure. */

import type { StoredDeadLetter } from '@waybill/connector'
import type { DeadLetterFilter } from '@waybill/core/internal'
import type { Fingerprint } from '../dead-letters/fingerprint.ts'
import { eventTypeOf, traceIdOf } from '../dead-letters/letter-facts.ts'

/** The part of a filter that a dead letter can answer. States are known to an index only. */
export type LetterFilter = Omit<DeadLetterFilter, 'cluster' | 'binding' | 'states'>

/** Returns the predicate of a filter. */
export function predicateOf(filter: LetterFilter, fingerprint: Fingerprint): (letter: StoredDeadLetter) => boolean {
  const { group } = filter
  return (letter) => isSelected(letter, filter) && (group === undefined || fingerprint(letter) === group)
}

function isSelected(letter: StoredDeadLetter, filter: LetterFilter): boolean {
  const { record, deadAtMs, replayCount, topic } = letter
  const { eventType, exception, reason, traceId, text } = filter
  return (
    (filter.topic ?? topic) === topic &&
    (eventType === undefined || eventTypeOf(letter) === eventType) &&
    (exception ?? record.lastExceptionClass) === record.lastExceptionClass &&
    (reason ?? record.dltReason) === record.dltReason &&
    deadAtMs >= (filter.sinceMs ?? Number.NEGATIVE_INFINITY) &&
    deadAtMs < (filter.untilMs ?? Number.POSITIVE_INFINITY) &&
    record.totalAttempts >= (filter.minAttempts ?? 0) &&
    (filter.replayCount ?? replayCount) === replayCount &&
    (traceId === undefined || traceIdOf(letter) === traceId) &&
    hasKey(record.key, filter.key) &&
    (text === undefined || hasText([record.lastExceptionMessage, String(record.key ?? '')], text))
  )
}

function hasKey(key: StoredDeadLetter['record']['key'], wanted: string | undefined): boolean {
  if (wanted === undefined) return true
  if (key === null) return false
  return wanted.endsWith('*') ? String(key).startsWith(wanted.slice(0, -1)) : String(key) === wanted
}

function hasText(among: readonly string[], text: string): boolean {
  const wanted = text.toLowerCase()
  return among.some((one) => one.toLowerCase().includes(wanted))
}
