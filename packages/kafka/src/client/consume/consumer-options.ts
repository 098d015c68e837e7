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
import type { TopicPartition } from '../cluster/topic-partition.ts'
import type { PositionLoss } from './position-loss.ts'
import type { StartFrom } from './start-from.ts'

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

/** A consumer's options in which nothing is left to decide. */
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
  readonly maxWaitMs: number
  readonly partitionMaxBytes: number
  readonly companion: ConsumerOptions['companion']
  readonly onOpening: ConsumerOptions['onOpening']
  readonly onAssigned: ConsumerOptions['onAssigned']
  readonly onRevoking: ConsumerOptions['onRevoking']
  readonly onLost: ConsumerOptions['onLost']
  readonly onPositionLost: ConsumerOptions['onPositionLost']
  readonly onPartitionFailed: ConsumerOptions['onPartitionFailed']
  readonly onFatal: ConsumerOptions['onFatal']
}

/** A number of the wire, and the longest wait of a timer. */
const max = 2 ** 31 - 1

/** How long a member may be silent. A binding has the same options. */
export const sessionRules: Readonly<Record<'sessionTimeoutMs' | 'heartbeatIntervalMs', Rule<number>>> = {
  sessionTimeoutMs: durationMs({
    default: 45_000,
    min: 1,
    max,
    because: 'survives a rolling restart of brokers and a long collection',
  }),
  heartbeatIntervalMs: durationMs({
    default: 10_000,
    min: 1,
    max,
    because: 'four beats may fail before the session ends',
  }),
}

/** Every option of a consumer, with its default and the reason for it. */
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
    because: 'half of the rebalance timeout, so that a commit still fits in',
  }),
  requestTimeoutMs: durationMs({
    default: 30_000,
    min: 1,
    max,
    because: 'a broker that elects a leader answers within it',
  }),
  metadataRefreshMs: durationMs({ default: 10_000, min: 1, max, because: 'how late new partitions are noticed' }),
  assignment: oneOf(['COOPERATIVE', 'EAGER'], { default: 'COOPERATIVE', because: 'only what moves is interrupted' }),
  startFrom: oneOf(['EARLIEST', 'LATEST', 'ERROR'], {
    default: 'EARLIEST',
    because: 'a new group must not skip what is there',
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

/** A text as long as brokers take. */
function name(maxBytes: number): Rule<string> {
  const isName = (value: unknown): boolean =>
    typeof value === 'string' && value !== '' && Buffer.byteLength(value) <= maxBytes
  return instance(`a text of 1 to ${maxBytes} bytes`, isName)
}

/** Companion topics by their sources. */
export function companionsOf({ topics, companion }: ResolvedConsumerOptions): ReadonlyMap<string, string> {
  return new Map(
    topics.flatMap((topic) => {
      const beside = companion?.(topic)
      return beside === undefined ? [] : [[topic, beside]]
    }),
  )
}

/** A partition that comes twice into a consumer could be owned and not owned. */
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
