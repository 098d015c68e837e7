/** What a container's member and the worker of one partition agree on. */

import type { Runtime } from '@waybill/core'
import type { Consumer, KafkaClient, KafkaRecord, OutRecord } from '@waybill/kafka'
import type { OffsetCommit } from '@waybill/kafka/internal'
import type { PartitionStatus } from '../api/binding-view.ts'
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

/** What a worker needs of its member's consumer. */
export type WorkerConsumer = Pick<
  Consumer,
  'pause' | 'resume' | 'seek' | 'position' | 'committed' | 'confirmMembership' | 'groupMetadata'
>

/** What a worker stands on. */
export interface WorkerDeps {
  readonly binding: ResolvedBinding
  readonly place: ContainerPlace
  readonly partition: number
  readonly epoch: number
  readonly consumer: WorkerConsumer
  readonly client: KafkaClient
  readonly delivery: Delivery
  /** Where the handler takes many records. */
  readonly batchDelivery?: BatchDelivery | undefined
  readonly publisher: DerivedPublisher
  readonly slots: Slots
  readonly telemetry: BindingTelemetry
  /** Host name and index of the member. */
  readonly consumerInstance: string
  readonly runtime: Runtime
  /** Is told of each dead letter once it is confirmed; alerts are sent from there. */
  readonly deadLettered: (letter: ConfirmedDeadLetter) => void
  /** Something settled that could be committed: the member decides when. Urgent: work waits for the commit. */
  readonly changed: (isUrgent: boolean) => void
  /** What was committed does not say how it came about: somebody reset the group, or used it before (D22). */
  readonly unaccounted: (problem: string) => void
  /** A classifier said that the whole binding must stand still until somebody looks. */
  readonly pauseBinding: () => void
  /** A bug, or a partition that nobody could go on with: the member gives everything back and begins anew. */
  readonly fail: (error: unknown) => void
}

/** A dead letter that is confirmed. */
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
  /** Reads what was committed and prepares. No record is handed over before it resolves. */
  open(): Promise<void>
  /** Takes records in the order of their offsets; of the source, or of its companion. */
  accept(records: readonly KafkaRecord[]): void
  /** Called now and then, between polls: the position may have moved without a record (holes at the end of the log). */
  polled(): void
  /**
   * Starts nothing more and cancels waits between attempts. Resolves when what runs has settled, or when the deadline
   * has passed, which aborts the handlers.
   */
  drain(deadlineMs: number): Promise<void>
  /** The partition belongs to somebody else: aborts, settles nothing more. */
  lose(): void
  pause(reason: PauseReason): void
  resume(reason: PauseReason): void
  /** The state to commit; undefined when the coordinator has acknowledged all of it. */
  pendingCommit(): readonly OffsetCommit[] | undefined
  /** The coordinator acknowledged what `pendingCommit` answered. */
  committed(offsets: readonly OffsetCommit[]): void
  /** `pendingCommit` answers once more, though all is acknowledged: an earlier commit may land late and set it back. */
  repeatCommit(): void
  /** Reading goes on elsewhere than at the next offset: the log does not have it (C-72). Of the source, or a companion. */
  positionLost(continuesAt: bigint, topic: string): void
  status(): PartitionStatus
}
