import type { TopicKind } from '@waybill/core/internal'
import type { KafkaRecord } from '@waybill/kafka'
import type { ContextPlace } from '../handlers/delivery-context.ts'
import type { Outputs } from '../handlers/outputs.ts'
import type { Failure } from '../records/failure.ts'
import type { HopWithoutFailure } from '../records/hop.ts'
import { readTrail, type Trail } from '../records/trail.ts'

/** Records that were handed over together. */
export interface Slice {
  /** Monotonic. */
  readonly handedOverAt: number
  /** Monotonic: the poll interval is measured from here (C-77); set anew when the safety valve trips. */
  startedAt: number
  /** Which ledger they were noted in: one that was begun anew does not know them. */
  readonly era: number
}

/** Records that follow each other without a hole. */
export interface RecordRun {
  readonly records: readonly KafkaRecord[]
  /** Of the first one, from where the ledger began. */
  readonly distance: number
}

/** What the records of a worker are delivered as. */
export interface WorkPlace {
  readonly kind: TopicKind
  /** 0 on the source. */
  readonly tier: number
  /** Of the binding: whose retries and replays are meant here. */
  readonly groupId: string
  /** Host name and index of the member (S0-162). */
  readonly consumerInstance: string
}

/** Of works whose worker settles them by their offsets. */
export const noDistance = -1

/** One record on its way through a lane. */
export class Work implements ContextPlace {
  readonly record: KafkaRecord
  readonly slice: Slice
  /** How far its offset lies from where the ledger of its slice's era began, or {@link noDistance}. */
  readonly distance: number
  readonly #place: WorkPlace
  /** Not started before, by the monotonic clock: the delay of a tier, or the wait of a blocked record. */
  dueAt = 0
  /** Deliveries that ended with BLOCKED. */
  blocked = 0
  /** Deliveries in a batch that failed. */
  failedInBatch = 0
  /** Monotonic; undefined while it does not run. */
  startedAt: number | undefined
  /** What its handler sends, where the binding is transactional. */
  outputs: Outputs | undefined
  #trail: Trail | undefined
  #offset: bigint | undefined

  constructor(record: KafkaRecord, place: WorkPlace, slice: Slice, distance: number) {
    this.record = record
    this.slice = slice
    this.#place = place
    this.distance = distance
  }

  /** Made when first asked for: a large integer costs more than a call of the handler, and few are needed. */
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

  get bytes(): number {
    return this.record.byteLength ?? 0
  }

  /** Where the record comes from. Read when first asked for: a record that succeeds on its source never needs it. */
  get trail(): Trail {
    return (this.#trail ??= readTrail(this.record, this.kind, this.groupId))
  }

  /** A delivery of it failed and it stays in memory: whatever is made of it later tells of those calls too (C-04). */
  failed({ attempts, atMs }: Failure): void {
    if (attempts === 0) return // Its handler was not even called: the circuit is open.
    const { totalAttempts, firstFailureMs = atMs } = this.trail
    this.#trail = { ...this.trail, totalAttempts: totalAttempts + attempts, firstFailureMs }
  }

  /** The record about to move to another topic, and why. */
  hop<F extends Failure | undefined>(failure: F, nowMs: number): HopWithoutFailure & { readonly failure: F } {
    const { record, trail, kind, groupId, consumerInstance } = this
    return { record, trail, kind, groupId, consumerInstance, failure, nowMs }
  }
}
