/**
 * How far the logs reach and which topics are gone, asked of a cluster now and then: what lag and depth are measured by. What could not be learnt
 * keeps its last value, since a broker that is silent has not lost its records.
 */

import { describeThrown } from '@waybill/core'
import type { Admin, TopicPartition, TopicResult } from '@waybill/kafka'
import type { PartitionResult, TopicView } from '@waybill/kafka/internal'

/** What to ask for. */
export interface ReadingScope {
  /** Partitions that are owned here. */
  readonly owned: readonly TopicPartition[]
  readonly deadLetterTopics: readonly string[]
  /** Topics that are read here, and so have to exist. */
  readonly readTopics: readonly string[]
}

type Offsets = Map<string, Map<number, bigint>>

/** How long one question may take: less than the time between two. */
const deadlineMs = 4_000

/** See the file's comment. */
export class ClusterReader {
  readonly #admin: Pick<Admin, 'describeTopics' | 'listOffsets'>
  readonly #ends: Offsets = new Map()
  readonly #starts: Offsets = new Map()
  #missing: ReadonlySet<string> = new Set()
  #silence: string | undefined

  constructor(admin: Pick<Admin, 'describeTopics' | 'listOffsets'>) {
    this.#admin = admin
  }

  /** Why the cluster did not answer when it was asked last; undefined when it did. */
  get silence(): string | undefined {
    return this.#silence
  }

  /** The next offset that will be written, as far as known. */
  end({ topic, partition }: TopicPartition): bigint | undefined {
    return this.#ends.get(topic)?.get(partition)
  }

  /** Records in all partitions of a topic that was asked for; undefined when nothing is known. */
  depth(topic: string): bigint | undefined {
    const ends = this.#ends.get(topic)
    const starts = this.#starts.get(topic)
    if (ends === undefined || starts === undefined) return undefined
    return [...ends].reduce((sum, [partition, end]) => sum + end - (starts.get(partition) ?? end), 0n)
  }

  /** True for a topic that is read and did not exist when it was asked for last. */
  isMissing(topic: string): boolean {
    return this.#missing.has(topic)
  }

  /** Asks. Never rejects. */
  async read({ owned, deadLetterTopics, readTopics }: ReadingScope): Promise<void> {
    if (owned.length + deadLetterTopics.length + readTopics.length === 0) return
    try {
      const found = await this.#lookAt([...new Set([...deadLetterTopics, ...readTopics])])
      this.#missing = new Set(
        found
          .filter(isUnknown)
          .map(({ topic }) => topic)
          .filter((one) => readTopics.includes(one)),
      )
      const dead = partitionsOf(found.filter(({ topic }) => deadLetterTopics.includes(topic)))
      const [ends, starts] = await Promise.all([
        this.#admin.listOffsets([...owned, ...dead], 'LATEST', { deadlineMs }),
        this.#admin.listOffsets(dead, 'EARLIEST', { deadlineMs }),
      ])
      this.#keep(this.#ends, ends)
      this.#keep(this.#starts, starts)
      // A topic that is not there is an answer.
      this.#silence = silenceOf([...ends, ...starts]) ?? silenceOf(found.filter((one) => !isUnknown(one)))
    } catch (error) {
      this.#silence = describeThrown(error)
    }
  }

  async #lookAt(topics: readonly string[]): Promise<readonly TopicResult<TopicView>[]> {
    return topics.length === 0 ? [] : this.#admin.describeTopics(topics, { deadlineMs })
  }

  #keep(into: Offsets, outcomes: readonly PartitionResult<{ readonly offset: bigint | null }>[]): void {
    for (const one of outcomes) {
      if (one.outcome === 'FAILED' || one.offset === null) continue
      const ofTopic = into.get(one.topic) ?? new Map<number, bigint>()
      into.set(one.topic, ofTopic.set(one.partition, one.offset))
    }
  }
}

/** One partition without a leader is that partition's trouble; silent is a cluster of which nothing could be learnt. */
function silenceOf(outcomes: readonly (PartitionResult | TopicResult)[]): string | undefined {
  const [first] = outcomes
  const isSilent = outcomes.length > 0 && outcomes.every(({ outcome }) => outcome === 'FAILED')
  return isSilent && first?.outcome === 'FAILED' ? first.error.message : undefined
}

function isUnknown(one: TopicResult): boolean {
  return one.outcome === 'FAILED' && one.error.reason === 'UNKNOWN_TOPIC_OR_PARTITION'
}

/** A topic that does not exist has no partitions. */
function partitionsOf(found: readonly TopicResult<TopicView>[]): readonly TopicPartition[] {
  return found.flatMap((one) =>
    one.outcome === 'DONE' ? one.partitions.map(({ partition }) => ({ topic: one.topic, partition })) : [],
  )
}
