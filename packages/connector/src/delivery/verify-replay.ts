/**
 * Compares a replay for another group with its original before the group skips it.
 *
 *     replay headers for another group ──▶ read the original ──▶ the same: SKIP
 *                                            │      └── it is gone or differs: FORGED, delivered like any record
 *                                            └── fails ──▶ read again ──▶ no answer in time: FORGED
 *
 * Delivery is the safe side: the handler may see what another group replays, and no record is hidden. A read that fails
 * for good, such as of a batch that is too large, therefore never blocks the partition.
 */

import { describeThrown, type Timers } from '@waybill/core'
import type { KafkaRecord } from '@waybill/kafka'
import { claimedOriginal, compareWithOriginal } from '../records/foreign-replay.ts'
import { isForeign } from './decode.ts'
import type { DeliveryDeps } from './delivery-deps.ts'
import type { DeliveryScope } from './delivery-scope.ts'
import { cancelled, foreign, type Outcome } from './outcome.ts'
import { resolveInTime } from './resolve-in-time.ts'
import type { Work } from './work.ts'

/** Longer than the election of a leader takes. */
const limitMs = 30_000
const firstPauseMs = 100
const longestPauseMs = 5_000

/** Returns whether {@link verifyReplay} must decide about a record before it is skipped. */
export function isUnverified(work: Work): boolean {
  return work.kind === 'SOURCE' && isForeign(work)
}

/** Returns the outcome of a replay for another group; FORGED if the record must be delivered. Never rejects. */
export async function verifyReplay(
  work: Work,
  { retrying }: DeliveryScope,
  { readOriginal, runtime }: Pick<DeliveryDeps, 'readOriginal' | 'runtime'>,
): Promise<Outcome | 'FORGED'> {
  const { record } = work
  const at = claimedOriginal(record)
  let reason = 'its headers name no earlier record of its partition'
  if (at !== undefined) {
    const reading = new Reading((signal) => readOriginal(at, record.offset, signal), runtime.timers)
    await resolveInTime(
      (signal) => reading.read(signal),
      { handlerTimeoutMs: limitMs, timers: runtime.timers },
      retrying,
    )
    if (reading.isRead && compareWithOriginal(record, reading.found) === 'COPY') return foreign
    if (retrying.aborted) return cancelled
    reason = reading.result
  }
  work.isForged = true
  const { topic, partition, offset } = record
  const fields = { topic, partition, offset: String(offset), reason }
  runtime.logger.warn(fields, 'Replay for another group not verified, delivered')
  return 'FORGED'
}

/** The read of an original, which is repeated while it fails. */
class Reading {
  readonly #readOriginal: (signal: AbortSignal) => Promise<KafkaRecord | undefined>
  readonly #timers: Timers
  #failure: unknown
  isRead = false
  found: KafkaRecord | undefined

  constructor(readOriginal: (signal: AbortSignal) => Promise<KafkaRecord | undefined>, timers: Timers) {
    this.#readOriginal = readOriginal
    this.#timers = timers
  }

  /** Describes why the record is no copy. */
  get result(): string {
    if (this.isRead) return this.found === undefined ? 'its original is gone' : 'it differs from its original'
    return `its original was not read: ${this.#failure === undefined ? 'no answer' : describeThrown(this.#failure)}`
  }

  /** Resolves when the original is read, or the signal aborts. */
  async read(signal: AbortSignal): Promise<void> {
    for (let pauseMs = firstPauseMs; !signal.aborted; pauseMs = Math.min(longestPauseMs, 2 * pauseMs)) {
      try {
        this.found = await this.#readOriginal(signal)
        this.isRead = true
        return
      } catch (error) {
        if (!signal.aborted) this.#failure = error
      }
      await this.#timers.sleep(pauseMs, signal).catch(() => {}) // Aborted.
    }
  }
}
