/** Compiles a filter of dead letters to a predicate over what a dead letter itself says. Pure. */

import type { StoredDeadLetter } from '@waybill/connector'
import { ArgumentError } from '@waybill/core'
import type { DeadLetterFilter } from '@waybill/core/internal'

/** The part of a filter that a dead letter can answer. States are known to an index only. */
export type LetterFilter = Omit<DeadLetterFilter, 'cluster' | 'binding' | 'states'>

/** Returns the fingerprint of the failure of a dead letter. */
export type Fingerprint = (letter: StoredDeadLetter) => string

/**
 * Returns the predicate of a filter.
 * @throws ArgumentError if the filter names a failure group and there is no fingerprint
 */
export function predicateOf(
  filter: LetterFilter,
  fingerprint: Fingerprint | undefined,
): (letter: StoredDeadLetter) => boolean {
  const { group } = filter
  if (group !== undefined && fingerprint === undefined)
    throw new ArgumentError('Cannot select by failure group: this process computes no fingerprints.', {
      hint: 'Select by exception, event type or time, or pass a fingerprint.',
    })
  return (letter) => isSelected(letter, filter) && (group === undefined || fingerprint?.(letter) === group)
}

function isSelected(letter: StoredDeadLetter, filter: LetterFilter): boolean {
  const { record, deadAtMs, replayCount, topic } = letter
  const { eventType, exception, reason, traceId, text } = filter
  return (
    (filter.topic ?? topic) === topic &&
    (eventType === undefined || record.headers.text('eventType') === eventType) &&
    (exception ?? record.lastExceptionClass) === record.lastExceptionClass &&
    (reason ?? record.dltReason) === record.dltReason &&
    deadAtMs >= (filter.sinceMs ?? Number.NEGATIVE_INFINITY) &&
    deadAtMs < (filter.untilMs ?? Number.POSITIVE_INFINITY) &&
    record.totalAttempts >= (filter.minAttempts ?? 0) &&
    (filter.replayCount ?? replayCount) === replayCount &&
    (traceId === undefined || record.headers.text('traceparent')?.split('-')[1] === traceId) &&
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
