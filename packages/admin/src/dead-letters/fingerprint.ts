/** Fingerprints: dead letters with the same cause share one. Pure. */

import { createHash } from 'node:crypto'
import type { StoredDeadLetter } from '@waybill/connector'
import { eventTypeOf, stackOf } from './letter-facts.ts'
import { normalizeMessage } from './normalize-message.ts'
import { ownFrameOf } from './own-frame.ts'

/** Returns the fingerprint of the failure of a dead letter. */
export type Fingerprint = (letter: StoredDeadLetter) => string

/** The version of the rule below. An index that was filled by another rule is filled again. */
export const fingerprintRule = '1'

/** The parts of a failure that identify its cause. */
export interface FailureCause {
  readonly exception: string
  /** Normalized. */
  readonly message: string
  readonly frame: string | undefined
  readonly eventType: string | undefined
}

/** Returns the cause of a dead letter. */
export function causeOf(letter: StoredDeadLetter): FailureCause {
  const { lastExceptionClass, lastExceptionMessage } = letter.record
  const stack = stackOf(letter)
  return {
    exception: lastExceptionClass,
    message: normalizeMessage(lastExceptionMessage),
    frame: stack === undefined ? undefined : ownFrameOf(stack),
    eventType: eventTypeOf(letter),
  }
}

/** Returns the 12 hex digits that identify a cause. */
export function fingerprintOf({ exception, message, frame, eventType }: FailureCause): string {
  const parts = [exception, message, frame ?? null, eventType ?? null]
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 12)
}

/** The fingerprint of the standard rule. */
export const standardFingerprint: Fingerprint = (letter) => fingerprintOf(causeOf(letter))
