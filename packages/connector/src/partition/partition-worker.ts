/** The port between a container's member and the worker of one partition. */

import type { Buffer } from 'node:buffer'
import type { Runtime } from '@waybill/core'
import type { Consumer, KafkaClient, KafkaRecord, OutRecord } from '@waybill/kafka'
import type { OffsetCommit, OversizedBatchError } from '@waybill/kafka/internal'
import type { KeyState, PartitionStatus } from '../api/binding-view.ts'
import type { ContainerPlace } from '../api/container-place.ts'
import type { PauseReason } from '../api/pause-reason.ts'
import type { BindingTelemetry } from '../binding/binding-telemetry.ts'
import type { ResolvedBinding } from '../binding/resolved-binding.ts'
import type { BatchDelivery } from '../delivery/batch-delivery.ts'
import type { Delivery } from '../delivery/delivery.ts'
import type { Outcome } from '../delivery/outcome.ts'
import type { Work } from '../delivery/work.ts'
import type { DerivedPublisher } from '../records/derived-publisher.ts'
import type { Slots } from './slots.ts'

/** The part of its member's consumer that a worker needs. */
export type WorkerConsumer = Pick<
  Consumer,
  'pause' | 'resume' | 'seek' | 'position' | 'committed' | 'confirmMembership' | 'groupMetadata'
>

/** The collaborators of a worker. */
export interface WorkerDeps {
  readonly binding: ResolvedBinding
  readonly place: ContainerPlace
  readonly partition: number
  readonly epoch: number
  readonly consumer: WorkerConsumer
  readonly client: KafkaClient
  readonly delivery: Delivery
  /** Of a binding with a batch handler. */
  readonly batchDelivery?: BatchDelivery | undefined
  readonly publisher: DerivedPublisher
  readonly slots: Slots
  readonly telemetry: BindingTelemetry
  /** Host name and index of the member. */
  readonly consumerInstance: string
  readonly runtime: Runtime
  /** Called for each confirmed dead letter; sends alerts. */
  readonly deadLettered: (letter: ConfirmedDeadLetter) => void
  /** Called when there is something to commit; the member decides when. Urgent: records wait for the commit. */
  readonly changed: (isUrgent: boolean) => void
  /** Called when a commit cannot be accounted for: the group was reset, or used by another program. */
  readonly unaccounted: (problem: string) => void
  /** Pauses the whole binding until an operator resumes it, as a classifier asked for. */
  readonly pauseBinding: () => void
  /** Reports a bug or an unusable partition: the member releases its partitions and starts again. */
  readonly fail: (error: unknown) => void
}

/** A confirmed dead letter. */
export interface ConfirmedDeadLetter {
  readonly work: Work
  readonly written: OutRecord
  readonly outcome: Extract<Outcome, { kind: 'DEAD_LETTER' }>
}

/**
 * Runs the records of one partition while one assignment lasts.
 *
 *     OPENING ──open──▶ RUNNING ──drain──▶ DRAINING ──▶ ENDED
 *        └───────────────┴────── lose ──────────────────▲
 */
export interface PartitionWorker {
  readonly partition: number
  readonly epoch: number
  /** Reads the commit. No record is handed over before it resolves. */
  open(): Promise<void>
  /** Accepts records in the order of their offsets, of the source or of its waiting topic. */
  accept(records: readonly KafkaRecord[]): void
  /** Called from time to time between polls: the position may have moved without a record (gaps at the end of the log). */
  polled(): void
  /**
   * Starts no more records and cancels waits between attempts. Resolves when running records are settled, or after the
   * deadline, which aborts the handlers.
   */
  drain(deadlineMs: number): Promise<void>
  /** Aborts handlers and settles nothing more: another member owns the partition. */
  lose(): void
  pause(reason: PauseReason): void
  resume(reason: PauseReason): void
  /**
   * Makes a record that failed and stays here a dead letter, when it is delivered next. Returns false if there is no such
   * record. A pause of the partition stays.
   */
  condemn(offset: bigint): boolean
  /** Returns the state to commit; undefined when the coordinator has acknowledged all of it. */
  pendingCommit(): readonly OffsetCommit[] | undefined
  /** Called when the coordinator acknowledged the last pending commit. */
  committed(offsets: readonly OffsetCommit[]): void
  /** Makes the state pending again, although it is acknowledged: an earlier commit may arrive late and overwrite it. */
  repeatCommit(): void
  /** Called when the next batch is too large to decompress, after all records before it were accepted. */
  oversized(error: OversizedBatchError): void
  /** Called when reading continues elsewhere because the log lacks the next offset, of the source or its waiting topic. */
  positionLost(continuesAt: bigint, topic: string): void
  status(): PartitionStatus
  /** Returns the state of a key; undefined while the waiting topic was not read. Absent without `orderingMode: KEY`. */
  keyState?(key: Buffer): KeyState | undefined
}
