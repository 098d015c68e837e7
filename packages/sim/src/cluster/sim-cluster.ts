import type { Buffer } from 'node:buffer'
import type { CoordinatorKind, KafkaApi, KafkaTransport } from '@waybill/kafka/wire'
import type { ChildChannel } from '../process/serve-transport.ts'
import type { FaultName, FaultProfile, RequestMatch } from './faults.ts'
import type { CommittedOffset } from './group-offsets.ts'

/** How a topic is made by {@link SimCluster.createTopic}. */
export interface SimTopicOptions {
  /** @defaultValue 1 */
  readonly partitions?: number
  /** @defaultValue 3, or the number of nodes where that is less */
  readonly replicationFactor?: number
  /** Kafka's topic settings by their names. */
  readonly configs?: Readonly<Record<string, string>>
  /**
   * Offset of the first record of each partition.
   * @defaultValue 0n
   */
  readonly firstOffset?: bigint
}

/** A partition as it is now. */
export interface PartitionSnapshot {
  /** -1 while no replica is up. */
  readonly leader: number
  readonly leaderEpoch: number
  readonly logStartOffset: bigint
  readonly highWatermark: bigint
  readonly lastStableOffset: bigint
  /** Every batch there is, one after another, markers and aborted ones among them. */
  readonly records: Buffer
}

/** A group as it is now. */
export interface GroupSnapshot {
  readonly state: 'Empty' | 'PreparingRebalance' | 'CompletingRebalance' | 'Stable'
  readonly generation: number
  readonly members: readonly {
    readonly memberId: string
    readonly groupInstanceId: string | null
    readonly clientId: string
    readonly assignment: Buffer
  }[]
  /** Its committed offsets, without those of open transactions. */
  readonly offsets: readonly CommittedOffset[]
}

/**
 * A Kafka cluster in this process, behind the transport that a real one stands behind too.
 *
 * It answers as Apache Kafka 4.3 does, also where that is lenient: a commit is accepted for a partition that its member
 * does not own, because a simulation that is stricter than the broker hides the bug. Everything that is not a request is a
 * verb for tests. A verb that names what does not exist throws StateError.
 */
export interface SimCluster {
  /** Addresses of all nodes, as a client takes them: `sim:1`. */
  readonly brokers: readonly string[]
  /** A way in for one process. Verbs and commits know it by the name given here. */
  transport(client: string): KafkaTransport
  /** A way in for a forked child, which takes it with `parentTransport()`: the cluster survives the child's `kill -9`. */
  serve(child: ChildChannel): void

  /** Makes a topic and answers its id. */
  createTopic(name: string, options?: SimTopicOptions): string
  /** Deletes a topic with its records, and the offsets that groups committed for it. */
  deleteTopic(name: string): void
  partition(topic: string, partition: number): PartitionSnapshot
  /** The batches of a partition from the one that holds `offset` on, one after another. */
  recordsFrom(topic: string, partition: number, offset: bigint): Buffer
  group(groupId: string): GroupSnapshot

  /** Ends the node's connections and refuses new ones. Others take over what it led and coordinated, at once or later. */
  killBroker(node: number, options?: { readonly electAfterMs?: number }): void
  restartBroker(node: number): void
  moveLeader(topic: string, partition: number, node: number): void
  /**
   * Elects a leader that lacks everything from an offset on, down to the beginning of a batch: an unclean election, or the
   * return of a lone replica that lost what it had not flushed. Confirmed records are gone, and others will take their
   * offsets. Returns the new end of the log.
   */
  electUnclean(topic: string, partition: number, offset: bigint): bigint
  /** Another node coordinates that group or transactional id from now on. */
  moveCoordinator(kind: CoordinatorKind, key: string, node: number): void
  /** Makes a group's members join again. */
  rebalance(groupId: string): void
  /** Ends a member's session now. */
  expireMember(groupId: string, memberId: string): void

  /** Deletes the records below an offset, as retention does. */
  deleteRecords(topic: string, partition: number, beforeOffset: bigint): void
  /** Deletes what is older than its topic's `retention.ms`, in all topics whose cleanup.policy deletes. */
  applyRetention(): void
  /** Compacts a partition: offsets stay, records go, and holes are left. */
  compact(topic: string, partition: number): void

  /** Ends matching connections. Requests that have not arrived are lost; the one being served is done. */
  cut(match: Omit<RequestMatch, 'api'>): void
  /** Holds matching requests up until the result is disposed. */
  stall(match: RequestMatch): Disposable
  /**
   * Loses the answers of matching requests, and their connections with them, until the result is disposed.
   * @defaultValue rate 1
   */
  dropResponses(match: RequestMatch, rate?: number): Disposable
  /** Refuses the next request of that kind with an error. Calls add up. */
  failNext(api: KafkaApi, errorCode: number): void
  /** Draws faults for every request from now on; false ends that. */
  setFaults(profile: FaultProfile | false): void
  /** How often each fault happened, by request and kind: `Produce LOST_RESPONSE`. */
  readonly faultCounts: ReadonlyMap<FaultName, number>
}
