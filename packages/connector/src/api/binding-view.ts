import type { CircuitState } from '@waybill/core/internal'
import type { TopicPartition } from '@waybill/kafka'
import type { ContainerPlace } from './container-place.ts'
import type { ContainerState } from './container-state.ts'
import type { PauseReason } from './pause-reason.ts'

/** A binding as operators see it. */
export interface BindingView {
  readonly name: string
  readonly cluster: string
  /** As it was written: a topic, `[a, b]` for several, `/^a/` for an expression. */
  readonly topic: string
  /** Those it reads. */
  readonly topics: readonly string[]
  readonly groupId: string
  readonly state: ContainerState
  readonly pausedBy: readonly PauseReason[]
  readonly breaker: CircuitState
  /** Of the source and of each tier; empty while it does not run. */
  readonly containers: readonly ContainerStatus[]
}

/** What operators and health see of a container. */
export interface ContainerStatus {
  readonly place: ContainerPlace
  readonly pausedBy: readonly PauseReason[]
  readonly members: readonly MemberStatus[]
}

/** What operators and health see of a member. */
export interface MemberStatus {
  readonly index: number
  readonly instanceId: string | undefined
  readonly state: MemberState
  /** Why it does not run; it is tried again unless the state is STOPPED. */
  readonly failure: string | undefined
  /** Whether the group's coordinator has given it a place. */
  readonly hasPlace: boolean
  readonly partitions: readonly PartitionStatus[]
  /** Owned, and not even begun to be read. */
  readonly unread: readonly UnreadPartition[]
}

/** A partition that is owned and not read. */
export interface UnreadPartition extends TopicPartition {
  readonly why: string
}

/** Where a group member is in its life. */
export type MemberState = 'CREATED' | 'STARTING' | 'RUNNING' | 'FAILED' | 'STOPPED'

/** What operators and health see of a partition. */
export interface PartitionStatus {
  readonly topic: string
  readonly partition: number
  readonly epoch: number
  /** Next offset to commit. */
  readonly watermark: bigint
  /** Next offset acknowledged by the coordinator. */
  readonly committed: bigint
  readonly buffered: number
  readonly running: number
  /** Retry and dead letter records that are not confirmed. */
  readonly unconfirmed: number
  /** Held back by `orderingMode: KEY`. */
  readonly waiting: number
  /** Monotonic time since which the oldest running handler runs; undefined when none does. */
  readonly runningSince: number | undefined
  readonly pausedBy: readonly PauseReason[]
  /** What could not be written, and why, while it lasts; or why nothing may run at all. */
  readonly trouble: string | undefined
}
