import type { CircuitState } from '@waybill/core/internal'
import type { TopicPartition } from '@waybill/kafka'
import type { ContainerPlace } from './container-place.ts'
import type { ContainerState } from './container-state.ts'
import type { PauseReason } from './pause-reason.ts'

/** A binding as operators see it. */
export interface BindingView {
  readonly name: string
  readonly cluster: string
  /** The configured selection: a topic, `[a, b]` for several, `/^a/` for an expression. */
  readonly topic: string
  /** The topics it reads. */
  readonly topics: readonly string[]
  readonly groupId: string
  readonly state: ContainerState
  readonly pausedBy: readonly PauseReason[]
  readonly breaker: CircuitState
  /** The containers of the source and of each tier; empty unless it runs. */
  readonly containers: readonly ContainerStatus[]
}

/** A binding with the options in effect, and its lag. */
export interface BindingDetail extends BindingView {
  /** The options with defaults applied, as JSON can hold them. Functions, schemas and stores are shown by name. */
  readonly options: Readonly<Record<string, unknown>>
  /** The lag of each partition assigned to this process, of the source and of the tiers. */
  readonly lag: readonly PartitionLag[]
}

/** A key in the order of its partition, with `orderingMode: KEY`. */
export interface KeyState {
  /** BLOCKED: behind a dead letter. PARKED: a record of it waits for its next attempt. FREE: the next record is delivered. */
  readonly state: 'BLOCKED' | 'PARKED' | 'FREE'
  /** The records of the key in the waiting topic. */
  readonly waiting: number
}

/** The records of a partition that are not settled yet. */
export interface PartitionLag extends TopicPartition {
  /** 0 on the source, n on the n-th retry tier. */
  readonly tier: number
  /** The next offset to commit. */
  readonly position: bigint
  /** The end of the log at the last read; undefined before the first. */
  readonly end: bigint | undefined
  /** The offsets from the position to the end. Undefined if the end is; 0 if the end was read before the position moved. */
  readonly records: bigint | undefined
}

/** The status of a container, for operators and health. */
export interface ContainerStatus {
  readonly place: ContainerPlace
  readonly pausedBy: readonly PauseReason[]
  readonly members: readonly MemberStatus[]
}

/** The status of a group member, for operators and health. */
export interface MemberStatus {
  readonly index: number
  readonly instanceId: string | undefined
  readonly state: MemberState
  /** The reason it does not run. Its start is retried unless the state is STOPPED. */
  readonly failure: string | undefined
  /** Whether it has joined the group. */
  readonly hasPlace: boolean
  readonly partitions: readonly PartitionStatus[]
  /** Partitions that are assigned but not read yet. */
  readonly unread: readonly UnreadPartition[]
  /** Batches that stop their partitions. */
  readonly unreadable: readonly UnreadableBatch[]
}

/** A batch that cannot be read, because it is damaged or larger than `maxBatchBytes`. */
export interface UnreadableBatch extends TopicPartition {
  /** The first offset that is not delivered. */
  readonly offset: bigint
  readonly why: string
  readonly hint: string
}

/** A partition that is assigned but not read, with the reason. */
export interface UnreadPartition extends TopicPartition {
  readonly why: string
}

/** The lifecycle state of a group member. */
export type MemberState = 'CREATED' | 'STARTING' | 'RUNNING' | 'FAILED' | 'STOPPED'

/** The status of a partition, for operators and health. */
export interface PartitionStatus {
  readonly topic: string
  readonly partition: number
  readonly epoch: number
  /** The next offset to commit. */
  readonly watermark: bigint
  /** The offset last acknowledged by the coordinator. */
  readonly committed: bigint
  readonly buffered: number
  readonly running: number
  /** Retry and dead letter records that the broker has not confirmed. */
  readonly unconfirmed: number
  /** Records held back by `orderingMode: KEY`. */
  readonly waiting: number
  /**
   * The timestamp of the lowest unsettled record, or of one shortly before it; undefined if it has none or was not fetched.
   */
  readonly unsettledTimestamp: number | undefined
  /** The monotonic start time of the oldest running handler call; undefined if none runs. */
  readonly runningSince: number | undefined
  readonly pausedBy: readonly PauseReason[]
  /** The write that currently fails and its error, or the reason the partition must not run. */
  readonly trouble: string | undefined
}
