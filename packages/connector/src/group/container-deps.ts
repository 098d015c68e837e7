/** The dependencies of a container, and the events it emits. */

import type { Runtime } from '@waybill/core'
import type { KafkaClient, TopicPartition } from '@waybill/kafka'
import type { PositionLoss } from '@waybill/kafka/internal'
import type { ContainerPlace } from '../api/container-place.ts'
import type { BindingTelemetry } from '../binding/binding-telemetry.ts'
import type { ResolvedBinding } from '../binding/resolved-binding.ts'
import type { BatchDelivery } from '../delivery/batch-delivery.ts'
import type { Delivery } from '../delivery/delivery.ts'
import type { ConfirmedDeadLetter, PartitionWorker, WorkerDeps } from '../partition/partition-worker.ts'
import type { Slots } from '../partition/slots.ts'
import type { DerivedPublisher } from '../records/derived-publisher.ts'

/** An event that a container reports to its owner. */
export type ContainerEvent =
  | { readonly type: 'POSITION_LOST'; readonly loss: PositionLoss }
  | { readonly type: 'UNACCOUNTED'; readonly partition: TopicPartition; readonly problem: string }
  | { readonly type: 'PAUSE_BINDING' }
  | { readonly type: 'DEAD_LETTERED'; readonly letter: ConfirmedDeadLetter }
  | { readonly type: 'ASSIGNED'; readonly partitions: readonly number[]; readonly epoch: number }
  | { readonly type: 'RELEASED'; readonly partitions: readonly number[]; readonly isLost: boolean }

/** The dependencies of a container. */
export interface ContainerDeps {
  readonly binding: ResolvedBinding
  readonly place: ContainerPlace
  readonly client: KafkaClient
  readonly delivery: Delivery
  /** Set for a batch handler. */
  readonly batchDelivery?: BatchDelivery | undefined
  readonly publisher: DerivedPublisher
  readonly slots: Slots
  readonly telemetry: BindingTelemetry
  readonly runtime: Runtime
  /** The name of this process in static member ids, headers and logs, without the member's index. */
  readonly host: string
  readonly createWorker: (deps: WorkerDeps) => PartitionWorker
  readonly onEvent: (event: ContainerEvent) => void
}
