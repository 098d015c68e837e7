/**
 * Moves records of one partition to a tier or to the dead letter topic.
 *
 *     RETRY ──▶ tier, confirmed ──▶ RETRIED
 *       └─ larger than the tier takes ──┐
 *     DEAD_LETTER ──────────────────────┴──▶ dead letter topic, confirmed ──▶ DEAD
 */

import type { OutRecord } from '@waybill/kafka'
import type { ResolvedTier } from '../../binding/resolved-binding.ts'
import type { Outcome } from '../../delivery/outcome.ts'
import type { Work } from '../../delivery/work.ts'
import type { Settlement } from '../../ledger/ledger.ts'
import { deadLetterRecord } from '../../records/dead-letter-record.ts'
import { isTooLarge } from '../../records/derived-publisher.ts'
import type { Failure } from '../../records/failure.ts'
import { exceptionClassOf, exceptionMessageOf } from '../../records/failure-text.ts'
import { RetryTooLargeError } from '../../records/record-errors.ts'
import { retryRecord } from '../../records/retry-record.ts'
import type { DerivedWrites } from '../derived-writes.ts'
import type { WorkerDeps } from '../partition-worker.ts'
import type { WorkerScope } from '../worker-scope.ts'

type DeadLetter = Extract<Outcome, { kind: 'DEAD_LETTER' }>

/** An outcome that is settled once another topic has the record. */
export type Moved = Extract<Outcome, { kind: 'RETRY' }> | DeadLetter

/** The settlement of a record that another topic has. */
export type MovedAs = Extract<Settlement, 'RETRIED' | 'DEAD'>

/** The part of a failure that is kept while its retry is written. */
type FailedBefore = Pick<Failure, 'attempts' | 'atMs'> & { readonly why: string }

/** See the file's comment. */
export class RecordMover {
  readonly #deps: Pick<WorkerDeps, 'binding' | 'runtime' | 'deadLettered'>
  readonly #writes: DerivedWrites
  readonly #scope: WorkerScope
  #unconfirmed = 0

  constructor(
    deps: Pick<WorkerDeps, 'binding' | 'runtime' | 'deadLettered'>,
    writes: DerivedWrites,
    scope: WorkerScope,
  ) {
    this.#deps = deps
    this.#writes = writes
    this.#scope = scope
  }

  /** Records that another topic may or may not have. */
  get unconfirmed(): number {
    return this.#unconfirmed
  }

  /** Resolves with the settlement once another topic has the record. Undefined: the partition ended first. */
  move(work: Work, outcome: Moved): Promise<MovedAs | undefined> {
    if (outcome.kind === 'DEAD_LETTER') return this.#counted(this.#bury(work, outcome))
    const { binding, runtime } = this.#deps
    const { tier, attempt, failure } = outcome
    const { topic } = binding.tiers[tier - 1] as ResolvedTier
    const hop = work.hop(failure, runtime.clock.now())
    const { error, attempts, atMs } = failure
    const why = `${exceptionClassOf(error)}: ${exceptionMessageOf(error, binding.deadLetter.redact)}`
    return this.#counted(this.#retry(work, retryRecord(hop, { topic, tier, attempt }), { attempts, atMs, why }))
  }

  async #counted(moving: Promise<MovedAs | undefined>): Promise<MovedAs | undefined> {
    this.#unconfirmed++
    try {
      return await moving
    } finally {
      this.#unconfirmed--
      this.#scope.look()
    }
  }

  /** If every record fails, thousands wait here: only the written record and one line of the error are kept. */
  async #retry(work: Work, record: OutRecord, failed: FailedBefore): Promise<MovedAs | undefined> {
    try {
      return (await this.#writes.confirm(record, 'retry')) ? 'RETRIED' : undefined
    } catch (error) {
      if (!isTooLarge(error)) throw error
      const { attempts, atMs, why } = failed
      const failure: Failure = { error: new RetryTooLargeError(record.topic, why, error), attempts, atMs }
      this.#deps.runtime.logger.warn({ topic: record.topic, reason: error.message }, 'Record too large to retry')
      return this.#bury(work, { kind: 'DEAD_LETTER', reason: 'RETRIES_EXHAUSTED', failure })
    }
  }

  async #bury(work: Work, outcome: DeadLetter): Promise<MovedAs | undefined> {
    const { binding, runtime, deadLettered } = this.#deps
    const hop = work.hop(outcome.failure, runtime.clock.now())
    const written = deadLetterRecord(hop, outcome.reason, binding.deadLetter)
    if (!(await this.#writes.confirm(written, 'dlt'))) return undefined
    deadLettered({ work, written, outcome })
    return 'DEAD'
  }
}
