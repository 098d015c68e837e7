import type { ProcessSpan, TopicKind } from '@waybill/core/internal'
import type { KafkaRecord } from '@waybill/kafka'
import type { ContextPlace, DeliveryLogFields } from '../handlers/delivery-context.ts'
import type { Outputs } from '../handlers/outputs.ts'
import type { Failure } from '../records/failure.ts'
import type { HopWithoutFailure } from '../records/hop.ts'
import { readTrail, type Trail } from '../records/trail.ts'

/** The times of records that were handed over together. */
export interface Slice {
  /** Monotonic. */
  readonly handedOverAt: number
  /** Monotonic: the poll interval is measured from here; reset when the safety valve trips. */
  startedAt: number
  /** The ledger they were noted in: a later ledger does not know them. */
  readonly era: number
}

/** Records with consecutive offsets. */
export interface RecordRun {
  readonly records: readonly KafkaRecord[]
  /** Of the first record, from the start of the ledger. */
  readonly distance: number
}

/** The place that the records of a worker are delivered from. */
export interface WorkPlace {
  readonly kind: TopicKind
  /** 0 on the source. */
  readonly tier: number
  /** Of the binding: retries and replays for it are meant here. */
  readonly groupId: string
  /** Host name and index of the member. */
  readonly consumerInstance: string
}

/** The distance of works that are settled by their offsets. */
export const noDistance = -1

/** The last failure of a record that stays or waits, and its history before that failure. */
export interface KeptFailure {
  readonly failure: Failure
  readonly trail: Trail
}

/** One record in a lane, with the state of its deliveries. */
export class Work implements ContextPlace {
  readonly record: KafkaRecord
  readonly slice: Slice
  /** The distance of its offset from the start of the ledger of its slice's era, or {@link noDistance}. */
  readonly distance: number
  readonly #place: WorkPlace
  /** Monotonic; it does not start earlier: the delay of a tier, or the wait of a blocked record. */
  dueAt = 0
  /** Claims to be a replay for another group, and is no copy of the record that it names: delivered like any other. */
  isForged = false
  /** Deliveries with the outcome BLOCKED. */
  blocked = 0
  /** Failed deliveries in a batch. */
  failedInBatch = 0
  /** Monotonic; undefined while it does not run. */
  startedAt: number | undefined
  /** The span of its delivery, if it has one. */
  span: ProcessSpan | undefined
  /** The id of its event, once it was decoded. */
  eventId: string | undefined
  /** The outputs of its handler, if the binding is transactional. */
  outputs: Outputs | undefined
  #kept: KeptFailure | undefined
  #condemned: Failure | undefined
  #trail: Trail | undefined
  #offset: bigint | undefined

  constructor(record: KafkaRecord, place: WorkPlace, slice: Slice, distance: number) {
    this.record = record
    this.slice = slice
    this.#place = place
    this.distance = distance
  }

  /** Created on first use: a big integer costs more than a call of the handler, and few are needed. */
  get offset(): bigint {
    return (this.#offset ??= this.record.offset)
  }

  get kind(): TopicKind {
    return this.#place.kind
  }

  get tier(): number {
    return this.#place.tier
  }

  get groupId(): string {
    return this.#place.groupId
  }

  get consumerInstance(): string {
    return this.#place.consumerInstance
  }

  get handedOverAt(): number {
    return this.slice.handedOverAt
  }

  /** The fields that tie log lines to its event and its span. */
  get logFields(): DeliveryLogFields {
    const { eventId, span } = this
    return { ...(eventId === undefined ? {} : { eventId }), ...span?.logFields }
  }

  get bytes(): number {
    return this.record.byteLength ?? 0
  }

  /** The history of the record. Read on first use: a record that succeeds on its source never needs it. */
  get trail(): Trail {
    return (this.#trail ??= readTrail(this.record, this.kind, this.groupId))
  }

  /** Adds a failed delivery to the history: a retry or dead letter record that follows counts those attempts too. */
  failed(failure: Failure): void {
    const { attempts, atMs } = failure
    if (attempts === 0) return // The handler was not called: the circuit is open.
    this.#kept = { failure, trail: this.trail }
    const { totalAttempts, firstFailureMs = atMs, attemptTraceparent } = this.trail
    this.#trail = {
      ...this.trail,
      totalAttempts: totalAttempts + attempts,
      firstFailureMs,
      attemptTraceparent: failure.traceparent ?? attemptTraceparent,
    }
  }

  /** The failure to record when an operator sent it to the dead letter topic; undefined otherwise. */
  get condemned(): Failure | undefined {
    return this.#condemned
  }

  /** The failure for which it stays in its lane. */
  get kept(): KeptFailure | undefined {
    return this.#kept
  }

  /** Makes its next delivery a dead letter without a call. Returns false for a record that has not failed here. */
  condemn(kept: KeptFailure | undefined = this.#kept): boolean {
    if (kept === undefined) return false
    // The dead letter counts that failure itself.
    this.#trail = kept.trail
    this.#condemned = kept.failure
    this.dueAt = 0
    return true
  }

  /** Describes the record as it moves to another topic, and why. */
  hop<F extends Failure | undefined>(failure: F, nowMs: number): HopWithoutFailure & { readonly failure: F } {
    const { record, trail, kind, groupId, consumerInstance } = this
    return { record, trail, kind, groupId, consumerInstance, failure, nowMs }
  }
}
