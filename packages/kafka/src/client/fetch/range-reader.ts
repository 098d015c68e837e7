/**
 * Reads given offset ranges once, outside of any group, for tools that inspect a topic. It keeps no state on the
 * broker, so readers never affect each other or a consumer.
 *
 *     OPENING ──first next──▶ READING ──every range read──▶ DONE
 *                                └── a partition cannot be read, no progress for too long, closed ──▶ rejects
 */

import { type Runtime, StateError } from '@waybill/core'
import { instance, list, resolveOptions } from '@waybill/core/option'
import { defaultMaxBatchBytes } from '../../wire/records/compression.ts'
import type { RecordView } from '../../wire/records/record-view.ts'
import type { Cluster } from '../cluster/cluster.ts'
import { isTopicPartition } from '../cluster/is-topic-partition.ts'
import { KafkaError, toKafkaError } from '../cluster/kafka-error.ts'
import type { KafkaRecord } from '../cluster/kafka-record.ts'
import type { Nodes } from '../cluster/nodes.ts'
import { partitionName } from '../cluster/partition-name.ts'
import type { TopicPartition } from '../cluster/topic-partition.ts'
import { Fetcher } from './fetcher.ts'
import { fetchLogEnds } from './log-ends.ts'
import { PartitionFeed } from './partition-feed.ts'

/** A half-open range of offsets of a partition. */
export interface OffsetRange extends TopicPartition {
  readonly from: bigint
  /** Exclusive end. */
  readonly until: bigint
}

/** Reads offset ranges once, outside of any group. Open transactions block it; aborted records are not returned. */
export interface RangeReader extends AsyncDisposable {
  /**
   * Resolves with 1 to `maxRecords` records, in order within each partition; undefined when every range is read.
   * Deleted records are skipped. Rejects when a partition cannot be read, or when no broker makes progress for a
   * minute.
   */
  next(maxRecords: number): Promise<readonly KafkaRecord[] | undefined>
  close(): Promise<void>
}

/** Dependencies of a range reader. */
export interface RangeReaderDeps {
  readonly cluster: Cluster
  readonly openNodes: () => Nodes
  readonly runtime: Runtime
  readonly ended: () => void
}

const bounds = {
  maxRecords: 2_000,
  maxBytes: 16 * 1024 * 1024,
  partitionMaxBytes: 1024 * 1024,
  maxBatchBytes: defaultMaxBatchBytes,
}
const requestTimeoutMs = 30_000
const maxWaitMs = 500
/** Longest time without progress: a leader election takes less. */
const silenceMs = 60_000

/** Creates a {@link RangeReader}. It opens no connection yet. */
export function createRangeReader(deps: RangeReaderDeps, ranges: readonly OffsetRange[]): RangeReader {
  resolveOptions('reader', rules, { ranges })
  return new FeedRangeReader(deps, ranges)
}

const rules = {
  ranges: list(instance<OffsetRange>('an object like { topic, partition, from: 0n, until: 5n }', isRange)),
}

function isRange(value: unknown): boolean {
  if (!isTopicPartition(value)) return false
  const { from, until } = value as Partial<OffsetRange>
  return typeof from === 'bigint' && typeof until === 'bigint'
}

class FeedRangeReader implements RangeReader {
  readonly #deps: RangeReaderDeps
  readonly #untilByName: ReadonlyMap<string, bigint>
  readonly #ranges: readonly OffsetRange[]
  readonly #nodes: Nodes
  readonly #fetcher: Fetcher
  readonly #open = new Set<PartitionFeed>()
  #opening: Promise<void> | undefined
  #failure: Error | undefined
  #isClosed = false

  constructor(deps: RangeReaderDeps, ranges: readonly OffsetRange[]) {
    this.#deps = deps
    this.#ranges = ranges.filter(({ from, until }) => from < until)
    this.#untilByName = new Map(this.#ranges.map((range) => [partitionName(range), range.until]))
    this.#nodes = deps.openNodes()
    this.#fetcher = new Fetcher(
      deps.openNodes,
      deps.cluster,
      deps.runtime,
      { ...bounds, maxWaitMs, requestTimeoutMs },
      {
        mayHand: () => true,
        outOfRange: (feed) => void this.#continueAtLogStart(feed),
        replaced: (feed) => this.#fail(new KafkaError(`Topic ${feed.topic} was deleted and created again.`, 'FATAL')),
        partitionFailed: (_, error) => this.#fail(error),
      },
    )
  }

  async next(maxRecords: number): Promise<readonly RecordView[] | undefined> {
    await (this.#opening ??= this.#openFeeds())
    const { clock } = this.#deps.runtime
    for (let silentSince = clock.monotonic(); ; ) {
      if (this.#failure !== undefined) throw this.#failure
      if (this.#isClosed) throw new StateError('The reader is closed.')
      if (this.#open.size === 0) return undefined
      const before = this.#positions()
      const records = (await this.#fetcher.poll(maxRecords, maxWaitMs)).filter((record) => this.#isWanted(record))
      this.#closeRead()
      if (records.length > 0) return records
      // Transaction markers and compacted records are progress too.
      if (this.#positions() !== before) silentSince = clock.monotonic()
      else if (clock.monotonic() - silentSince >= silenceMs) throw silent(this.#open)
    }
  }

  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#fetcher.close()
    this.#nodes.close()
    this.#deps.ended()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #openFeeds(): Promise<void> {
    if (this.#ranges.length === 0) return
    const names = [...new Set(this.#ranges.map(({ topic }) => topic))]
    const topics = await this.#deps.cluster.topics(names, requestTimeoutMs)
    for (const { topic, partition, from } of this.#ranges) {
      const known = topics.get(topic)
      if (known === undefined || partition >= known.leaders.length)
        throw new KafkaError(`${partitionName({ topic, partition })} does not exist.`, 'RETRIABLE', {
          reason: 'UNKNOWN_TOPIC_OR_PARTITION',
        })
      const feed = new PartitionFeed({ topic, partition, epoch: 0 }, 'READ_COMMITTED', known.topicId, from)
      feed.isHeld = false
      this.#open.add(feed)
      this.#fetcher.add(feed)
    }
  }

  #isWanted(record: RecordView): boolean {
    return record.offset < this.#untilOf(record)
  }

  #untilOf(partition: { readonly topic: string; readonly partition: number }): bigint {
    return this.#untilByName.get(partitionName(partition)) ?? 0n
  }

  #closeRead(): void {
    for (const feed of this.#open) {
      if (feed.position < this.#untilOf(feed)) continue
      this.#open.delete(feed)
      this.#fetcher.remove(feed)
    }
  }

  #positions(): bigint {
    let sum = BigInt(this.#open.size)
    for (const { position } of this.#open) sum += position
    return sum
  }

  /** Continues at the start of the log after earlier records were deleted. Never rejects. */
  async #continueAtLogStart(feed: PartitionFeed): Promise<void> {
    const { topic, partition } = feed
    try {
      const query = { topic, partition, end: 'EARLIEST' } as const
      const start = (await fetchLogEnds(this.#deps.cluster, this.#nodes, [query], requestTimeoutMs)).get(feed.name)
      if (typeof start !== 'bigint') throw start ?? new KafkaError('The leader did not return its offset.', 'RETRIABLE')
      const until = this.#untilOf(feed)
      // A start below the position means that the end of the log was truncated: nothing is left to read.
      feed.seek(start <= feed.position || start > until ? until : start)
    } catch (error) {
      this.#fail(toKafkaError(`Finding the start of ${feed.name}`, error))
    }
    this.#closeRead()
    this.#fetcher.endPolls()
  }

  #fail(error: Error): void {
    this.#failure ??= error
    this.#fetcher.endPolls()
  }
}

function silent(feeds: Iterable<PartitionFeed>): KafkaError {
  const names = Array.from(feeds, ({ name }) => name).join(', ')
  return new KafkaError(`No progress on ${names} within ${silenceMs} ms.`, 'RETRIABLE')
}
