/** What users of the client agree on: records, offsets, and the three things a client makes. */

import type { Buffer } from 'node:buffer'
import type { RecordHeaders, StopOptions } from '@waybill/core'

/** One partition of a topic. */
export interface TopicPartition {
  readonly topic: string
  readonly partition: number
}

/** A record as it was fetched. Headers are parsed on first access. */
export interface KafkaRecord extends TopicPartition {
  readonly offset: bigint
  /** Epoch milliseconds: when it was made, or when it was appended if the topic says so. */
  readonly timestamp: number
  /** Assignment under which it was fetched: a record of an old one is never settled. */
  readonly epoch: number
  readonly key: Buffer | null
  readonly value: Buffer | null
  readonly headers: RecordHeaders
  /** Bytes it takes in its batch: key, value and headers. Known of every fetched record. */
  readonly byteLength?: number
}

/** The next offset to read of a partition, with what is to be remembered beside it. */
export interface OffsetCommit extends TopicPartition {
  readonly offset: bigint
  /** Assignment that settled it. A commit of an old one is refused before it is sent (I3). */
  readonly epoch: number
  readonly metadata?: string
}

/** What the group remembers of a partition; offset null when nothing was committed. */
export interface CommittedOffset extends TopicPartition {
  readonly offset: bigint | null
  readonly metadata: string | null
}

/** Proves to a transaction which member commits: a stale one is refused. */
export interface GroupMetadata {
  readonly groupId: string
  readonly generationId: number
  readonly memberId: string
  readonly instanceId: string | null
  /**
   * Why this offset must not be committed any more; undefined when it may. Asked in the turn in which the offset is sent:
   * Kafka fences by generation, not by ownership, and takes an offset of a partition that its sender has given up (I3).
   * Without it, as in metadata that was made by hand, the broker's fence is the only one.
   */
  readonly objection?: (offset: OffsetCommit) => string | undefined
}

/**
 * Where to start when the group has no offset, or one that the log no longer has.
 *
 * - EARLIEST: at the first record there is.
 * - LATEST: behind the last record there is. What is found for a partition without an offset is committed before anything
 *   of it is handed out, so that a restart goes on there and passes over nothing. A partition or topic that was created
 *   after the consumer started begins at its first record: nothing in it is older than the subscription, and it is noticed
 *   only `metadataRefreshMs` later.
 * - ERROR: the partition stands still until a seek.
 */
export type StartFrom = 'EARLIEST' | 'LATEST' | 'ERROR'

/**
 * - OUT_OF_RANGE: the log does not have the offset that was due, any more or yet.
 * - TOPIC_REPLACED: the topic was deleted and created again; its offsets mean other records. So the assignment ends
 *   (`onLost`) and begins anew under another epoch (`onAssigned`), at its first record unless `startFrom` is ERROR.
 * - NO_OFFSET: the group has committed none, and `startFrom` is ERROR.
 */
export type PositionLossCause = 'OUT_OF_RANGE' | 'TOPIC_REPLACED' | 'NO_OFFSET'

/** A partition whose next offset is not what it was, or not known. */
export interface PositionLoss extends TopicPartition {
  readonly cause: PositionLossCause
  /** First offset that was due; null when there was none. */
  readonly expected: bigint | null
  /** Where reading goes on; null when `startFrom` is ERROR: the partition then stands still until a seek. */
  readonly continuesAt: bigint | null
}

/** Options of a consumer. */
export interface ConsumerOptions {
  readonly groupId: string
  readonly topics: readonly string[]
  /** Static membership: a restart within the session keeps the partitions. */
  readonly instanceId?: string
  /** @defaultValue 45,000 */
  readonly sessionTimeoutMs?: number
  /** @defaultValue 10,000 */
  readonly heartbeatIntervalMs?: number
  /** How long members may take to give partitions back. @defaultValue 60,000 */
  readonly rebalanceTimeoutMs?: number
  /** How long giving partitions back may take; never more than 0.6 of the rebalance timeout. @defaultValue 30,000 */
  readonly drainDeadlineMs?: number
  /** @defaultValue 30,000 */
  readonly requestTimeoutMs?: number
  /** How late new partitions and re-created topics are noticed. @defaultValue 10,000 */
  readonly metadataRefreshMs?: number
  /** How long a broker may wait for data before it answers with none. @defaultValue 500 */
  readonly maxWaitMs?: number
  /** Most bytes of one partition in one answer; a larger record comes all the same. @defaultValue 1 MiB */
  readonly partitionMaxBytes?: number
  /** @defaultValue 'COOPERATIVE' */
  readonly assignment?: 'COOPERATIVE' | 'EAGER'
  /** @defaultValue 'EARLIEST' */
  readonly startFrom?: StartFrom
  /**
   * What is to be remembered beside an offset that the consumer commits by itself, because `startFrom` is LATEST.
   * @defaultValue nothing
   */
  readonly startMetadata?: (offset: bigint) => string
  /** Longest time between two polls before the member gives its partitions back. @defaultValue 600,000 */
  readonly maxPollIntervalMs?: number
  /**
   * Records fetched ahead of poll, over all partitions: with its share of them buffered, a partition is not asked for
   * more. One answer may bring more than that. @defaultValue 5,000
   */
  readonly prefetchRecords?: number
  /**
   * Bytes fetched ahead of poll, over all partitions and answers on their way. Of packed batches also what they are
   * unpacked to: only the one that is next is unpacked when there is no room for more. @defaultValue 64 MiB
   */
  readonly prefetchBytes?: number
  /**
   * A topic beside a subscribed one, not part of the group's subscription: its partition p is owned exactly while
   * partition p of its source is, under the same epoch, and comes and goes with it in the callbacks below. It is read
   * uncommitted and, without a committed offset, from its beginning. Asked once for each topic.
   */
  readonly companion?: (topic: string) => string | undefined
  /**
   * Called before it is asked what the group has committed of these partitions. Whoever writes in transactions fences
   * those before him here: what is read after that cannot change. Rejects: tried again, and nothing of them is opened.
   */
  onOpening?(partitions: readonly TopicPartition[]): Promise<void>
  /**
   * Called before a record of these partitions is handed out. May seek and pause. Partitions of one assignment come
   * together where they can: one that cannot be prepared yet follows in a call of its own, under the same epoch.
   */
  onAssigned?(partitions: readonly TopicPartition[], epoch: number): Promise<void>
  /** The partitions are held until this settles or the deadline passes. May commit. */
  onRevoking?(partitions: readonly TopicPartition[], deadlineMs: number): Promise<void>
  /** They already belong to somebody else, or may: nothing of them may be committed any more. */
  onLost?(partitions: readonly TopicPartition[]): void
  /** A partition's next offset is another one than was due. */
  onPositionLost?(loss: PositionLoss): void
  /** A partition cannot be read: not authorised, damaged. It is tried again while it is owned; told once each time. */
  onPartitionFailed?(partition: TopicPartition, error: Error): void
  /** The consumer cannot go on and gives everything back: fenced, refused, a callback threw. `poll` rejects with it. */
  onFatal?(error: Error): void
}

/** A member of a consumer group: pulls, never pushes. */
export interface Consumer extends AsyncDisposable {
  /** Resolves when the cluster has answered; partitions are assigned after that. */
  start(): Promise<void>
  /** Drains and gives everything back, by the deadline. Never rejects. `leave: false` keeps a static member's place for its restart; it is the default for one. */
  stop(options?: StopOptions & { readonly leave?: boolean }): Promise<void>
  /**
   * At most `maxRecords` records of owned partitions that are not paused; an empty list after `timeoutMs`, and at once
   * when the consumer stops. Records of one partition come in order. Never returns a partition that is not owned at this
   * moment, and nothing while the session may have ended. Rejects with ArgumentError unless `maxRecords` is at least 1.
   */
  poll(maxRecords: number, timeoutMs: number): Promise<KafkaRecord[]>
  pause(partitions: readonly TopicPartition[]): void
  resume(partitions: readonly TopicPartition[]): void
  /**
   * The next record handed out of this partition is the first at or after `offset`. What was fetched ahead is dropped.
   * @throws ArgumentError for an offset below 0 or above 2^63 - 1. @throws StateError when it is not owned.
   */
  seek(partition: TopicPartition, offset: bigint): void
  /** Offset of the next record that `poll` hands out; undefined for a partition that is not owned. */
  position(partition: TopicPartition): bigint | undefined
  /**
   * Resolves when the coordinator has acknowledged every offset, else rejects with CommitError, which says what became of
   * each. REBALANCING is no reason to give up a partition that is still owned: commit again, under what is then the
   * generation. Calls are sent in their order; of several that wait, the last one's offset of a partition is sent. Rejects
   * with ArgumentError, and nothing is sent, when an offset is below 0 or above 2^63 - 1.
   */
  commit(offsets: readonly OffsetCommit[]): Promise<void>
  /** What the group remembers, in the order asked for. Rejects with KafkaError when no answer comes in time. */
  committed(partitions: readonly TopicPartition[]): Promise<CommittedOffset[]>
  /** Owned partitions with the epoch of their assignment; companions included. */
  assignment(): readonly (TopicPartition & { readonly epoch: number })[]
  /** @throws KafkaError REBALANCING while there is no place in the group: without one a transaction is not fenced. */
  groupMetadata(): GroupMetadata
  /** True once the coordinator acknowledged a heartbeat sent after this call: we are still its member (D21). */
  confirmMembership(): Promise<boolean>
}

/** Offsets of a partition, from the first to the one before the last. */
export interface OffsetRange extends TopicPartition {
  readonly from: bigint
  /** Not read. */
  readonly until: bigint
}

/** Reads stretches of partitions once, beside every group. Open transactions hold it up; aborted ones are not shown. */
export interface RangeReader extends AsyncDisposable {
  /**
   * At least one record and at most `maxRecords`, those of one partition in order; undefined when all is read. What was
   * deleted is passed over. Rejects when a partition cannot be read, or a broker is silent for a minute.
   */
  next(maxRecords: number): Promise<readonly KafkaRecord[] | undefined>
  close(): Promise<void>
}

/** A record to write. */
export interface OutRecord {
  readonly topic: string
  /** Left out: the partition contract over the key; without a key, partitions in turn. */
  readonly partition?: number
  readonly key: Buffer | null
  readonly value: Buffer | null
  readonly headers?: Iterable<readonly [string, Buffer | null]>
  /** Epoch milliseconds. @defaultValue now */
  readonly timestamp?: number
}

/** How one record is sent. */
export interface SendOptions {
  /**
   * Gives the send up when it aborts. What no request carries yet is taken back and never sent (kind RETRIABLE); of a record
   * that is on its way nobody can say more than that it may be in the log, or be there shortly (kind UNKNOWN): it is not
   * success, and a repeat may be a second copy. Looked at from 100 ms after the call on: nearly every record has its result
   * before, and listening to a signal costs more than sending.
   */
  readonly signal?: AbortSignal
}

/** Where a record was written. */
export interface SendResult {
  readonly partition: number
  readonly offset: bigint
}

/** Writes records. */
export interface Producer extends AsyncDisposable {
  /** Resolves when all in-sync replicas have it. Rejects with KafkaError; kind UNKNOWN means that it may be in the log. */
  send(record: OutRecord, options?: SendOptions): Promise<SendResult>
  /** Resolves when nothing sent so far is without its result. */
  flush(): Promise<void>
  /** Flushes, then ends. */
  close(): Promise<void>
}

/** Writes and commits offsets atomically. One transaction at a time. */
export interface TransactionalProducer extends Producer {
  begin(): Promise<void>
  sendOffsets(offsets: readonly OffsetCommit[], group: GroupMetadata): Promise<void>
  /** Rejects with kind UNKNOWN when the answer is lost: discard the producer, the next incarnation decides. */
  commit(): Promise<void>
  abort(): Promise<void>
}

/**
 * Plain idempotent appends under the producer id and epoch of a transactional id: once a newer owner has written, a late
 * append of this one is refused (D21).
 */
export interface FencedAppender extends AsyncDisposable {
  /** The epoch given to this owner. */
  readonly epoch: number
  append(record: OutRecord): Promise<SendResult>
  /** Takes the next epoch with the own id: what was sent before and is unknown cannot appear after the next append. */
  renew(): Promise<void>
  close(): Promise<void>
}
