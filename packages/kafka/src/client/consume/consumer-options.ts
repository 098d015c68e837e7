import { Buffer } from 'node:buffer'
import {
  durationMs,
  func,
  instance,
  integer,
  list,
  oneOf,
  optional,
  type Report,
  type Rule,
  resolveOptions,
} from '@waybill/core/option'
import { defaultMaxBatchBytes } from '../../wire/records/compression.ts'
import type { TopicPartition } from '../cluster/topic-partition.ts'
import type { GroupRebalance } from '../group/group-rebalance.ts'
import type { PositionLoss } from './position-loss.ts'
import type { StartFrom } from './start-from.ts'

/** Options of a consumer. */
export interface ConsumerOptions {
  readonly groupId: string
  readonly topics: readonly string[]
  /** Enables static membership: a restart within the session timeout keeps the partitions. */
  readonly instanceId?: string
  /** @defaultValue 45,000 */
  readonly sessionTimeoutMs?: number
  /** @defaultValue 10,000 */
  readonly heartbeatIntervalMs?: number
  /** Time that members have to release partitions in a rebalance. @defaultValue 60,000 */
  readonly rebalanceTimeoutMs?: number
  /** Time for draining revoked partitions, capped at 0.6 of the rebalance timeout. @defaultValue 30,000 */
  readonly drainDeadlineMs?: number
  /** @defaultValue 30,000 */
  readonly requestTimeoutMs?: number
  /** Interval in which new partitions and re-created topics are noticed. @defaultValue 10,000 */
  readonly metadataRefreshMs?: number
  /** Time that a broker may wait for data before it answers with none. @defaultValue 500 */
  readonly maxWaitMs?: number
  /** Most bytes of one partition in one response; a larger record is still returned. @defaultValue 1 MiB */
  readonly partitionMaxBytes?: number
  /** @defaultValue 'COOPERATIVE' */
  readonly assignment?: 'COOPERATIVE' | 'EAGER'
  /** @defaultValue 'EARLIEST' */
  readonly startFrom?: StartFrom
  /**
   * Returns the metadata to store beside an offset that the consumer commits by itself, because `startFrom` is LATEST.
   * @defaultValue none
   */
  readonly startMetadata?: (offset: bigint) => string
  /** Longest time between two polls before the member releases its partitions. @defaultValue 600,000 */
  readonly maxPollIntervalMs?: number
  /**
   * Most records fetched ahead of poll, over all partitions. A partition with its share of them buffered is not
   * fetched. One response may exceed the limit. @defaultValue 5,000
   */
  readonly prefetchRecords?: number
  /**
   * Most bytes fetched ahead of poll, over all partitions and pending responses. Counts what is decompressed too: a batch
   * above 1 MiB is decompressed in slices of that size, and when there is no room, only the open batch continues.
   * @defaultValue 64 MiB
   */
  readonly prefetchBytes?: number
  /**
   * Most bytes that a batch may decompress to. A larger one stops its partition, and `onPartitionFailed` is called with
   * an OversizedBatchError. @defaultValue 256 MiB
   */
  readonly maxBatchBytes?: number
  /**
   * Returns the companion topic of a subscribed topic, which is not part of the subscription. Its partition p is owned
   * exactly while partition p of its source is, under the same epoch, and appears with it in the callbacks below. It is
   * read uncommitted and, without a committed offset, from its beginning. Called once per topic.
   */
  readonly companion?: (topic: string) => string | undefined
  /**
   * Called before the committed offsets of these partitions are read. A transactional application fences its
   * predecessor here, so that the offsets cannot change afterward. If it rejects, it is retried, and the partitions
   * stay closed.
   */
  onOpening?(partitions: readonly TopicPartition[]): Promise<void>
  /**
   * Called before records of these partitions are handed out. May seek and pause. Partitions of one assignment arrive
   * in one call where possible; one that cannot be prepared yet follows in its own call, under the same epoch.
   */
  onAssigned?(partitions: readonly TopicPartition[], epoch: number): Promise<void>
  /** Called for each generation that the member joined, and for each attempt to join that failed. */
  onRebalance?(rebalance: GroupRebalance): void
  /** Called before partitions are released, which happens once this settles or the deadline passes. May commit. */
  onRevoking?(partitions: readonly TopicPartition[], deadlineMs: number): Promise<void>
  /** Called when partitions belong to another member, or may: their offsets must not be committed any more. */
  onLost?(partitions: readonly TopicPartition[]): void
  /** Called when the next offset of a partition is not the expected one. */
  onPositionLost?(loss: PositionLoss): void
  /**
   * Called once per failure when a partition cannot be read, for example unauthorized, corrupt or oversized. The records
   * before it were returned by earlier polls. Reading is retried while it is owned.
   */
  onPartitionFailed?(partition: TopicPartition, error: Error): void
  /**
   * Called when the consumer has failed permanently and releases everything: fenced, refused, or a callback threw.
   * `poll` rejects with this error.
   */
  onFatal?(error: Error): void
}

/** The options of a consumer with all defaults applied. */
export interface ResolvedConsumerOptions {
  readonly groupId: string
  readonly topics: readonly string[]
  readonly instanceId: string | undefined
  readonly sessionTimeoutMs: number
  readonly heartbeatIntervalMs: number
  readonly rebalanceTimeoutMs: number
  readonly drainDeadlineMs: number
  readonly requestTimeoutMs: number
  readonly metadataRefreshMs: number
  readonly assignment: 'COOPERATIVE' | 'EAGER'
  readonly startFrom: StartFrom
  readonly startMetadata: ConsumerOptions['startMetadata']
  readonly maxPollIntervalMs: number
  readonly prefetchRecords: number
  readonly prefetchBytes: number
  readonly maxBatchBytes: number
  readonly maxWaitMs: number
  readonly partitionMaxBytes: number
  readonly companion: ConsumerOptions['companion']
  readonly onOpening: ConsumerOptions['onOpening']
  readonly onAssigned: ConsumerOptions['onAssigned']
  readonly onRebalance: ConsumerOptions['onRebalance']
  readonly onRevoking: ConsumerOptions['onRevoking']
  readonly onLost: ConsumerOptions['onLost']
  readonly onPositionLost: ConsumerOptions['onPositionLost']
  readonly onPartitionFailed: ConsumerOptions['onPartitionFailed']
  readonly onFatal: ConsumerOptions['onFatal']
}

/** The largest int32, and the longest wait of a timer. */
const max = 2 ** 31 - 1

/** The rules of the session options. A binding has the same options. */
export const sessionRules: Readonly<Record<'sessionTimeoutMs' | 'heartbeatIntervalMs', Rule<number>>> = {
  sessionTimeoutMs: durationMs({
    default: 45_000,
    min: 1,
    max,
    because: 'survives a rolling restart of brokers and a long garbage collection',
  }),
  heartbeatIntervalMs: durationMs({
    default: 10_000,
    min: 1,
    max,
    because: 'four heartbeats may fail before the session expires',
  }),
}

/** The rule of `maxBatchBytes`. A binding has the same option. */
export const batchBytesRule: Rule<number> = integer({
  default: defaultMaxBatchBytes,
  min: 1,
  max: 2 ** 32,
  because: 'a few kilobytes can stand for gigabytes; brokers accept one compressed megabyte, and this is 256 of them',
})

/** The rules of all consumer options, each with its default and reason. */
export const consumerRules: { readonly [K in keyof ResolvedConsumerOptions]: Rule<ResolvedConsumerOptions[K]> } = {
  groupId: name(32_767),
  topics: list(name(249), { min: 1 }),
  instanceId: optional(name(249)),
  ...sessionRules,
  rebalanceTimeoutMs: durationMs({
    default: 60_000,
    min: 1,
    max,
    because: 'handlers drain within it; the whole group waits meanwhile',
  }),
  drainDeadlineMs: durationMs({
    default: 30_000,
    min: 0,
    max,
    because: 'half of the rebalance timeout, which leaves time for a commit',
  }),
  requestTimeoutMs: durationMs({
    default: 30_000,
    min: 1,
    max,
    because: 'a broker that elects a leader answers within it',
  }),
  metadataRefreshMs: durationMs({ default: 10_000, min: 1, max, because: 'new partitions are noticed within it' }),
  assignment: oneOf(['COOPERATIVE', 'EAGER'], {
    default: 'COOPERATIVE',
    because: 'only partitions that move are interrupted',
  }),
  startFrom: oneOf(['EARLIEST', 'LATEST', 'ERROR'], {
    default: 'EARLIEST',
    because: 'a new group must not skip existing records',
  }),
  startMetadata: optional(func<NonNullable<ConsumerOptions['startMetadata']>>()),
  maxPollIntervalMs: durationMs({
    default: 600_000,
    min: 1,
    max,
    because: 'longer than any sane handler; a stuck one frees its partitions',
  }),
  prefetchRecords: integer({ default: 5_000, min: 1, max: 1_000_000, because: 'a hundred polls of the default size' }),
  prefetchBytes: integer({ default: 64 * 1024 * 1024, min: 1, because: 'bounds the heap whatever the record size' }),
  maxBatchBytes: batchBytesRule,
  maxWaitMs: durationMs({
    default: 500,
    min: 1,
    max,
    because: 'an idle consumer costs two requests a second; data answers at once',
  }),
  partitionMaxBytes: integer({ default: 1024 * 1024, min: 1, max, because: 'Kafka’s own default limit of a batch' }),
  companion: optional(func<NonNullable<ConsumerOptions['companion']>>()),
  onOpening: optional(func<NonNullable<ConsumerOptions['onOpening']>>()),
  onAssigned: optional(func<NonNullable<ConsumerOptions['onAssigned']>>()),
  onRebalance: optional(func<NonNullable<ConsumerOptions['onRebalance']>>()),
  onRevoking: optional(func<NonNullable<ConsumerOptions['onRevoking']>>()),
  onLost: optional(func<NonNullable<ConsumerOptions['onLost']>>()),
  onPositionLost: optional(func<NonNullable<ConsumerOptions['onPositionLost']>>()),
  onPartitionFailed: optional(func<NonNullable<ConsumerOptions['onPartitionFailed']>>()),
  onFatal: optional(func<NonNullable<ConsumerOptions['onFatal']>>()),
}

/** @throws OptionsError with every violation. */
export function resolveConsumerOptions(options: ConsumerOptions): ResolvedConsumerOptions {
  return resolveOptions('Consumer', consumerRules, options, (resolved, report) => {
    if (resolved.sessionTimeoutMs < 3 * resolved.heartbeatIntervalMs) {
      report(
        'sessionTimeoutMs',
        `must be at least 3 × heartbeatIntervalMs (3 × ${resolved.heartbeatIntervalMs} = ${3 * resolved.heartbeatIntervalMs}), got ${resolved.sessionTimeoutMs}`,
      )
    }
    const { companion, topics } = resolved
    if (companion !== undefined) reportClashes(topics, companion, report)
  })
}

/** Creates the rule of a non-empty string with a byte limit. */
function name(maxBytes: number): Rule<string> {
  const isName = (value: unknown): boolean =>
    typeof value === 'string' && value !== '' && Buffer.byteLength(value) <= maxBytes
  return instance(`a text of 1 to ${maxBytes} bytes`, isName)
}

/** Returns companion topics by source topic. */
export function companionsOf({ topics, companion }: ResolvedConsumerOptions): ReadonlyMap<string, string> {
  return new Map(
    topics.flatMap((topic) => {
      const beside = companion?.(topic)
      return beside === undefined ? [] : [[topic, beside]]
    }),
  )
}

/** Reports companion topics that the consumer already reads: such a partition could be owned and not owned at once. */
function reportClashes(
  topics: readonly string[],
  companion: NonNullable<ConsumerOptions['companion']>,
  report: Report,
): void {
  const taken = new Set(topics)
  for (const topic of topics) {
    const beside = companion(topic)
    if (beside === undefined) continue
    if (taken.has(beside)) report('companion', `answers ${beside} for ${topic}, which this consumer already reads`)
    taken.add(beside)
  }
}
