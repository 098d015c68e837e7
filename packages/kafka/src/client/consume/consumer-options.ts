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
import type { ConsumerOptions, StartFrom } from '../cluster/types.ts'

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
