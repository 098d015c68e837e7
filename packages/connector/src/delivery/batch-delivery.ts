/**
 * Delivers a batch through one call of its handler, and through further calls when it fails. The stages are those of a
 * single record: deduplicate and decode for each record, then guard ▸ invoke ▸ decide for each call. Returns an outcome
 * per record, or one word if the first call handled all records: nothing is allocated per record then.
 *
 * | the handler | records |
 * |---|---|
 * | returns | all are DONE |
 * | throws BatchProcessingError, index n | those before n are DONE; n and those behind it go to the next attempt |
 * | throws the same n until tier 0 is exhausted | n gets an outcome; those behind it get another call, unless n stays |
 * | throws anything else, or names no record | the same applies to all of them at once |
 */

import type { Clock } from '@waybill/core'
import type { FailedAttempt } from '@waybill/core/internal'
import type { KafkaRecord } from '@waybill/kafka'
import type { BatchHandler, RecordFilter } from '../api/handler-types.ts'
import type { ResolvedBinding } from '../binding/resolved-binding.ts'
import { batchFailureOf } from '../handlers/batch-processing-error.ts'
import type { RecordContext } from '../handlers/delivery-context.ts'
import { answerOf } from '../handlers/record-filter.ts'
import { hasEngineHeaders } from '../records/trail.ts'
import type { Batch } from './batch.ts'
import { isForeign } from './decode.ts'
import type { BatchDecoding } from './decode-batch.ts'
import type { BatchRepeats, Repeat } from './deduplicate-batch.ts'
import type { Delivery } from './delivery.ts'
import type { DeliveryScope } from './delivery-scope.ts'
import { cancelled, done, filtered, type Outcome } from './outcome.ts'
import type { HandlerCall } from './stage-values.ts'
import type { Work } from './work.ts'

/** The outcomes of a batch, in the order of its records. DONE: every record is. */
export type BatchCallOutcome = 'DONE' | readonly Outcome[]

/** The steps before the call that a binding asks for. */
export interface BatchPreparation {
  readonly repeats?: BatchRepeats | undefined
  readonly decoding?: BatchDecoding | undefined
}

/** The records of a batch before `end` that are not passed over share a call. */
interface Selection {
  /** The outcomes of records that need no call. */
  readonly passedOver: ReadonlyMap<Work, Outcome>
  /** The index of the first record that is delivered alone or in a later batch. */
  readonly end: number
}

const nothing: Selection['passedOver'] = new Map()

/** Delivers the batches of a binding with a batch handler. */
export class BatchDelivery {
  readonly #delivery: Delivery
  readonly #handler: BatchHandler
  readonly #filter: RecordFilter | undefined
  readonly #isStrict: boolean
  readonly #clock: Clock
  readonly #repeats: BatchRepeats | undefined
  readonly #decoding: BatchDecoding | undefined

  constructor(
    delivery: Delivery,
    handler: BatchHandler,
    { filter, orderingMode }: Pick<ResolvedBinding, 'filter' | 'orderingMode'>,
    clock: Clock,
    { repeats, decoding }: BatchPreparation = {},
  ) {
    this.#delivery = delivery
    this.#handler = handler
    this.#filter = filter
    this.#isStrict = orderingMode === 'STRICT'
    this.#clock = clock
    this.#repeats = repeats
    this.#decoding = decoding
  }

  /**
   * Delivers the records of one batch. Never rejects because of them or their handler. A call after a lookup, or another
   * call, is a start: none is made while the partition is paused (I15).
   */
  async deliver(batch: Batch, scope: DeliveryScope): Promise<BatchCallOutcome> {
    const repeats = this.#repeats && (await this.#repeats.look(batch.records, scope.retrying))
    // The lookup took time and its records have not started: a pause and a revocation keep them too.
    if (repeats !== undefined && !scope.mayStart()) return fill([], batch.size, cancelled)
    const isPlain =
      repeats === undefined &&
      this.#filter === undefined &&
      !batch.records.some(hasEngineHeaders) &&
      !batch.hasCondemned
    const passed = isPlain ? { passedOver: nothing, end: batch.size } : this.#select(batch, repeats)
    const decodable = this.#decoding && (await this.#decode(batch, passed, this.#decoding, scope))
    if (decodable === 'OVER') return fill([], batch.size, cancelled)
    return this.#deliverSelected(batch, decodable ?? passed, scope)
  }

  /** Selects the records of the call, up to the first that is delivered alone. */
  #select({ works, size }: Batch, repeats: ReadonlyMap<KafkaRecord, Repeat> | undefined): Selection {
    const passedOver = new Map<Work, Outcome>()
    for (const [at, work] of works.entries()) {
      const outcome = this.#passOver(work) ?? this.#repeat(work, repeats?.get(work.record))
      if (outcome === 'FAILED') return { passedOver, end: at }
      if (outcome !== undefined) passedOver.set(work, outcome)
    }
    return { passedOver, end: size }
  }

  /** Takes records that cannot be decoded out of the call. OVER: a pause or a revocation keeps all of them. */
  async #decode(
    batch: Batch,
    passed: Selection,
    decoding: BatchDecoding,
    scope: DeliveryScope,
  ): Promise<Selection | 'OVER'> {
    const failed = await decoding.decode(recordsIn(batch, passed), scope.retrying)
    if (!scope.mayStart()) return 'OVER'
    if (failed.size === 0) return passed
    const passedOver = new Map<Work, Outcome>()
    for (const [at, work] of batch.works.slice(0, passed.end).entries()) {
      const failure = failed.get(work.record)
      // With STRICT nothing starts before a dead letter is confirmed: it ends the batch too.
      if (failure === 'UNKNOWN' || (failure !== undefined && this.#isStrict)) return { passedOver, end: at }
      const outcome = failure === undefined ? passed.passedOver.get(work) : this.#delivery.failPoison(work, failure)
      if (outcome !== undefined) passedOver.set(work, outcome)
    }
    return { passedOver, end: passed.end }
  }

  async #deliverSelected(
    batch: Batch,
    { passedOver, end }: Selection,
    scope: DeliveryScope,
  ): Promise<BatchCallOutcome> {
    if (end === batch.size && passedOver.size === 0) return this.#deliverAll(batch, scope)
    const { works } = batch
    if (end === 0) return fill([await this.#delivery.deliver(works[0] as Work, scope)], works.length, cancelled)
    const called = works.slice(0, end).filter((work) => !passedOver.has(work))
    const delivered = await this.#deliverAll(batch.of(called), scope)
    const outcomes = (delivered === 'DONE' ? fill([], called.length, done) : delivered).values()
    return works.map((work) => passedOver.get(work) ?? outcomes.next().value ?? cancelled)
  }

  /** A record whose filter throws ends the batch before it and is delivered alone: no other record shares its failure. */
  #passOver(work: Work): Outcome | 'FAILED' | undefined {
    if (work.condemned !== undefined) return 'FAILED' // Delivered alone, it becomes a dead letter.
    if (isForeign(work)) return 'FAILED' // Delivered alone, it is compared with its original first.
    if (this.#filter === undefined) return undefined
    try {
      return answerOf(this.#filter, work.record) ? undefined : filtered
    } catch {
      return 'FAILED' // The filter runs again when the record is delivered, and what it throws is that record's failure.
    }
  }

  /** A record that may or may not be a duplicate ends the batch before it too. */
  #repeat(work: Work, repeat: Repeat | undefined): Outcome | 'FAILED' | undefined {
    return repeat === 'DUPLICATE' ? this.#delivery.skipDuplicate(work) : repeat && 'FAILED'
  }

  async #deliverAll(batch: Batch, scope: DeliveryScope): Promise<BatchCallOutcome> {
    const outcomes: Outcome[] = []
    let failed: FailedAttempt | undefined
    let isOver = false
    while (outcomes.length < batch.size) {
      const first = outcomes.length === 0 ? batch.first : (batch.works[outcomes.length] as Work)
      // Between two calls, as between two records of a batch, the rest may be left to the next batch. A record whose
      // first attempt was made has started: it is decided first, and its attempt counts.
      isOver ||= outcomes.length > 0 && (this.#delivery.isOverdue(first.slice) || !scope.mayStart())
      if (isOver && failed === undefined) return fill(outcomes, batch.size, cancelled)
      const call = new BatchCall(
        this.#handler,
        batch.records.slice(outcomes.length),
        failed,
        this.#clock,
        this.#repeats,
      )
      const outcome = await this.#delivery.attempt(first, call, scope)
      if (outcome.kind === 'DONE' && call.succeeded === batch.size) return 'DONE'
      failed = undefined
      if (outcome.kind === 'DONE') {
        failed = call.failed
        fill(outcomes, outcomes.length + call.succeeded, done)
      } else this.#spread(outcomes, batch.works, outcome, call)
    }
    return outcomes
  }

  /** Applies the outcome of the first record that was not handled to the records that failed with it. */
  #spread(outcomes: Outcome[], works: readonly Work[], outcome: Outcome, { failsAll, given }: BatchCall): void {
    const end = outcomes.length + given
    outcomes.push(outcome)
    const isWait = outcome.kind === 'PAUSE' && outcome.cause !== 'REDELIVERED'
    if (failsAll && !isWait)
      for (const work of works.slice(outcomes.length, end)) outcomes.push(this.#delivery.failAlike(work, outcome))
    // Nothing overtakes a record that stays, and with STRICT nothing starts before a dead letter is confirmed.
    if (this.#isStrict || outcomes.some(({ kind }) => kind === 'PAUSE')) fill(outcomes, works.length, cancelled)
  }
}

/** One call of the handler, which may be repeated, and its effect on the records it was given. */
class BatchCall implements HandlerCall {
  readonly kind = 'RUN'
  readonly firstFailure: FailedAttempt | undefined
  readonly #handler: BatchHandler
  readonly #records: readonly KafkaRecord[]
  readonly #clock: Clock
  readonly #repeats: BatchRepeats | undefined
  #given: number
  /** A cancelled call may return later; its result is ignored then. */
  #calls = 0
  #failsAll: boolean
  #succeeded = 0
  #failed: FailedAttempt | undefined

  /** @param firstFailure - the first attempt, which named the first of these records */
  constructor(
    handler: BatchHandler,
    records: readonly KafkaRecord[],
    firstFailure: FailedAttempt | undefined,
    clock: Clock,
    repeats: BatchRepeats | undefined,
  ) {
    this.#handler = handler
    this.#records = records
    this.firstFailure = firstFailure
    this.#failsAll = firstFailure === undefined
    this.#clock = clock
    this.#repeats = repeats
    this.#given = this.#alike().length
  }

  get records(): readonly KafkaRecord[] {
    return this.#records
  }

  /** The number of records in the last attempt: no other record shares its failure. */
  get given(): number {
    return this.#given
  }

  /** False when the handler named the first record as the failed one. */
  get failsAll(): boolean {
    return this.#failsAll
  }

  /** The number of handled records, from the first on. */
  get succeeded(): number {
    return this.#succeeded
  }

  /** The first attempt of the record behind those that succeeded. */
  get failed(): FailedAttempt | undefined {
    return this.#failed
  }

  async run(context: RecordContext): Promise<void> {
    const call = ++this.#calls
    const startedAt = this.#clock.monotonic()
    const records = this.#alike()
    this.#given = records.length
    this.#failsAll = true
    try {
      await this.#handler.handleBatch(records.slice(), context) // A handler that removes records removes them from its own list.
      if (call === this.#calls) this.#succeeded = records.length
    } catch (thrown) {
      const { index, error } = batchFailureOf(thrown, records.length)
      if (call !== this.#calls) return
      this.#failsAll = index === undefined
      if (index === undefined || index === 0) throw error
      // For the first record the call succeeded. Another one failed, and has attempts of its own.
      this.#succeeded = index
      this.#failed = { error, handlerMs: this.#clock.monotonic() - startedAt }
    }
  }

  #alike(): readonly KafkaRecord[] {
    return this.#repeats?.alike(this.#records) ?? this.#records
  }
}

function recordsIn(batch: Batch, { passedOver, end }: Selection): readonly KafkaRecord[] {
  if (passedOver.size === 0) return batch.records.slice(0, end)
  return batch.works.slice(0, end).flatMap((work) => (passedOver.has(work) ? [] : [work.record]))
}

function fill(outcomes: Outcome[], size: number, outcome: Outcome): Outcome[] {
  while (outcomes.length < size) outcomes.push(outcome)
  return outcomes
}
