/**
 * Reads log offsets and missing topics of a cluster periodically, for lag and depth metrics. A value that cannot be
 * read keeps its last state: an unreachable broker has not lost its records.
 */

import { describeThrown } from '@waybill/core'
import type { Admin, TopicPartition, TopicResult } from '@waybill/kafka'
import type { PartitionResult, TopicView } from '@waybill/kafka/internal'

/** The partitions and topics to read. */
export interface ReadingScope {
  /** The partitions assigned to this process. */
  readonly owned: readonly TopicPartition[]
  readonly deadLetterTopics: readonly string[]
  /** The topics this process reads, which must exist. */
  readonly readTopics: readonly string[]
}

type Offsets = Map<string, Map<number, bigint>>

/** The deadline of one request, shorter than the interval between two reads. */
const deadlineMs = 4_000

/** The offsets of a cluster's logs, as of the last successful read. */
export class ClusterReader {
  readonly #admin: Pick<Admin, 'describeTopics' | 'listOffsets'>
  readonly #ends: Offsets = new Map()
  readonly #starts: Offsets = new Map()
  #missing: ReadonlySet<string> = new Set()
  readonly #underReplicated = new Map<string, number>()
  #silence: string | undefined

  constructor(admin: Pick<Admin, 'describeTopics' | 'listOffsets'>) {
    this.#admin = admin
  }

  /** The reason why the last read failed; undefined when it succeeded. */
  get silence(): string | undefined {
    return this.#silence
  }

  /** Returns the end offset of a partition; undefined before the first read. */
  end({ topic, partition }: TopicPartition): bigint | undefined {
    return this.#ends.get(topic)?.get(partition)
  }

  /** Returns the number of records in a dead letter topic; undefined before the first read. */
  depth(topic: string): bigint | undefined {
    const ends = this.#ends.get(topic)
    const starts = this.#starts.get(topic)
    if (ends === undefined || starts === undefined) return undefined
    return [...ends].reduce((sum, [partition, end]) => sum + end - (starts.get(partition) ?? end), 0n)
  }

  /** Returns true for a topic that must exist and did not at the last read. */
  isMissing(topic: string): boolean {
    return this.#missing.has(topic)
  }

  /** The partitions of each topic that lack an in-sync replica, as of the last read. A topic that is gone has none. */
  get underReplicated(): ReadonlyMap<string, number> {
    return this.#underReplicated
  }

  /** Reads the offsets. Never rejects. */
  async read({ owned, deadLetterTopics, readTopics }: ReadingScope): Promise<void> {
    if (owned.length + deadLetterTopics.length + readTopics.length === 0) return
    try {
      const found = await this.#describe([...new Set([...deadLetterTopics, ...readTopics])])
      this.#missing = new Set(
        found
          .filter(isUnknown)
          .map(({ topic }) => topic)
          .filter((one) => readTopics.includes(one)),
      )
      for (const one of found) this.#keepReplicas(one)
      const dead = partitionsOf(found.filter(({ topic }) => deadLetterTopics.includes(topic)))
      const [ends, starts] = await Promise.all([
        this.#admin.listOffsets([...owned, ...dead], 'LATEST', { deadlineMs }),
        this.#admin.listOffsets(dead, 'EARLIEST', { deadlineMs }),
      ])
      this.#keep(this.#ends, ends)
      this.#keep(this.#starts, starts)
      // A missing topic is an answer, not silence.
      this.#silence = silenceOf([...ends, ...starts]) ?? silenceOf(found.filter((one) => !isUnknown(one)))
    } catch (error) {
      this.#silence = describeThrown(error)
    }
  }

  async #describe(topics: readonly string[]): Promise<readonly TopicResult<TopicView>[]> {
    return topics.length === 0 ? [] : this.#admin.describeTopics(topics, { deadlineMs })
  }

  #keepReplicas(one: TopicResult<TopicView>): void {
    if (one.outcome === 'DONE') {
      const lagging = one.partitions.filter(({ replicas, inSyncReplicas }) => inSyncReplicas.length < replicas.length)
      this.#underReplicated.set(one.topic, lagging.length)
    } else if (isUnknown(one) && this.#underReplicated.has(one.topic)) this.#underReplicated.set(one.topic, 0)
  }

  #keep(into: Offsets, outcomes: readonly PartitionResult<{ readonly offset: bigint | null }>[]): void {
    for (const one of outcomes) {
      if (one.outcome === 'FAILED' || one.offset === null) continue
      const ofTopic = into.get(one.topic) ?? new Map<number, bigint>()
      into.set(one.topic, ofTopic.set(one.partition, one.offset))
    }
  }
}

/** Returns an error only when every result failed: a single partition without a leader is no silent cluster. */
function silenceOf(outcomes: readonly (PartitionResult | TopicResult)[]): string | undefined {
  const [first] = outcomes
  const isSilent = outcomes.length > 0 && outcomes.every(({ outcome }) => outcome === 'FAILED')
  return isSilent && first?.outcome === 'FAILED' ? first.error.message : undefined
}

function isUnknown(one: TopicResult): boolean {
  return one.outcome === 'FAILED' && one.error.reason === 'UNKNOWN_TOPIC_OR_PARTITION'
}

/** Returns the partitions of the topics that exist. */
function partitionsOf(found: readonly TopicResult<TopicView>[]): readonly TopicPartition[] {
  return found.flatMap((one) =>
    one.outcome === 'DONE' ? one.partitions.map(({ partition }) => ({ topic: one.topic, partition })) : [],
  )
}
