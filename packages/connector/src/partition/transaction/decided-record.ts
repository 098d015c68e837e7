/** Decides what a transaction writes for a record with an outcome. Pure. */

import type { OutRecord } from '@waybill/kafka'
import type { ResolvedBinding, ResolvedTier } from '../../binding/resolved-binding.ts'
import type { Outcome } from '../../delivery/outcome.ts'
import type { Work } from '../../delivery/work.ts'
import { bytesOf } from '../../handlers/outputs.ts'
import type { Settlement } from '../../ledger/ledger.ts'
import { deadLetterRecord } from '../../records/dead-letter-record.ts'
import { isTooLarge } from '../../records/derived-publisher.ts'
import type { Failure } from '../../records/failure.ts'
import { exceptionClassOf, exceptionMessageOf } from '../../records/failure-text.ts'
import { RetryTooLargeError } from '../../records/record-errors.ts'
import { retryRecord } from '../../records/retry-record.ts'
import { smallerRecord } from '../../records/shrink-record.ts'

/** An outcome that settles a record. */
export type Settled = Exclude<Outcome, { kind: 'PAUSE' }>

/** A record with an outcome, and what its transaction writes for it. */
export interface DecidedRecord {
  readonly work: Work
  readonly outcome: Settled
  readonly as: Settlement
  /** The outputs of a handler that succeeded, or the retry or dead letter record. */
  readonly records: readonly OutRecord[]
  readonly bytes: number
}

/** Returns what is written for a record. Only a call that succeeded has outputs. */
export function decideRecord(work: Work, outcome: Settled, binding: ResolvedBinding, nowMs: number): DecidedRecord {
  switch (outcome.kind) {
    case 'DONE':
      return decided(work, outcome, 'OK', work.outputs?.take() ?? [])
    case 'SKIP':
      return decided(work, outcome, 'SKIPPED', [])
    case 'RETRY': {
      const { tier, attempt, failure } = outcome
      const { topic } = binding.tiers[tier - 1] as ResolvedTier
      return decided(work, outcome, 'RETRIED', [retryRecord(work.hop(failure, nowMs), { topic, tier, attempt })])
    }
    case 'DEAD_LETTER':
      return decided(work, outcome, 'DEAD', [
        deadLetterRecord(work.hop(outcome.failure, nowMs), outcome.reason, binding.deadLetter),
      ])
  }
}

/**
 * Replaces a retry or dead letter record that its topic refused: by a smaller one, or a retry that cannot shrink by a dead
 * letter. Undefined: the same record is written again later.
 */
export function decideSmallerRecord(
  { work, outcome, as, records }: DecidedRecord,
  refusal: Error,
  binding: ResolvedBinding,
  nowMs: number,
): DecidedRecord | undefined {
  const [record] = records
  if (record === undefined || !isTooLarge(refusal)) return undefined
  const smaller = smallerRecord(record)
  if (smaller !== undefined) return decided(work, outcome, as, [smaller])
  if (outcome.kind !== 'RETRY') return undefined
  const { error, attempts, atMs } = outcome.failure
  const why = `${exceptionClassOf(error)}: ${exceptionMessageOf(error, binding.deadLetter.redact)}`
  const failure: Failure = { error: new RetryTooLargeError(record.topic, why, refusal), attempts, atMs }
  return decideRecord(work, { kind: 'DEAD_LETTER', reason: 'RETRIES_EXHAUSTED', failure }, binding, nowMs)
}

function decided(work: Work, outcome: Settled, as: Settlement, records: readonly OutRecord[]): DecidedRecord {
  return { work, outcome, as, records, bytes: records.reduce((sum, record) => sum + bytesOf(record), 0) }
}
