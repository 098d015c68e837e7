/**
 * Follows a dead letter topic for an index that several instances share, as a member of the group `{groupId}-dlt-index`: each
 * partition is read by one instance. The group commits nothing; positions are in the index, with the rows.
 *
 *     poll ─▶ partitions that are newly owned: seek to the position of the index ─▶ put rows and positions ─▶ poll
 *
 * | event | consequence |
 * |---|---|
 * | crash between a poll and a put | the next owner reads the same records |
 * | an earlier owner still writes | its position does not fit: one of the two reads the positions again |
 * | the index is rebuilt, or its rule changes | the positions do not fit: the topic is read from its start |
 * | the database is away | the batch is repeated with backoff; the group keeps its members |
 */

import type { Runtime } from '@waybill/core'
import { backoffMs, type DeadLetterIndex } from '@waybill/core/internal'
import type { Consumer, KafkaClient, KafkaRecord } from '@waybill/kafka'
import { lettersOf, maxIndexed, nextOffsets, ReaderPositions } from './index-batch.ts'
import type { IndexingRule } from './indexed-letter.ts'
import { indexGroupOf, type LetterTopic } from './letter-topics.ts'

/** The dependencies of a follower. */
export interface GroupFollowerDeps {
  readonly index: DeadLetterIndex
  readonly client: Pick<KafkaClient, 'consumer'>
  readonly rule: IndexingRule
  readonly ruleVersion: string
  readonly runtime: Runtime
  /** Returns the topic with the offsets that it holds now. */
  readonly refresh: () => Promise<LetterTopic>
}

const pollMs = 1_000
const retryPolicy = { initialMs: 500, multiplier: 2, maxMs: 30_000, jitterExceedsMax: false }

/** See the file's comment. */
export class GroupFollower {
  readonly #deps: GroupFollowerDeps
  readonly #consumer: Consumer
  readonly #closing = new AbortController()
  readonly #running: Promise<void>
  /** The epochs of the partitions whose positions are known. */
  readonly #epochs = new Map<number, number>()
  #topic: LetterTopic
  #positions: ReaderPositions

  constructor(topic: LetterTopic, deps: GroupFollowerDeps) {
    this.#deps = deps
    this.#topic = topic
    this.#positions = new ReaderPositions(topic, deps.ruleVersion)
    this.#consumer = deps.client.consumer({
      groupId: indexGroupOf(topic),
      topics: [topic.topic],
      startFrom: 'EARLIEST',
    })
    this.#running = this.#run()
  }

  /** Leaves the group. Never rejects. */
  async stop(): Promise<void> {
    this.#closing.abort()
    await this.#running
    await this.#consumer.stop({ leave: true })
  }

  async #run(): Promise<void> {
    const { runtime } = this.#deps
    const { signal } = this.#closing
    let isStarted = false
    for (let failures = 0; !signal.aborted; ) {
      try {
        if (!isStarted) await this.#consumer.start()
        isStarted = true
        await this.#step()
        failures = 0
      } catch (err) {
        if (signal.aborted) return
        failures++
        this.#epochs.clear()
        runtime.logger.warn({ err, topic: this.#topic.topic }, 'Dead letters not indexed, retrying')
        await runtime.timers.sleep(backoffMs(retryPolicy, failures, runtime.random), signal).catch(() => {})
      }
    }
  }

  async #step(): Promise<void> {
    await this.#seekNew()
    const records = await this.#consumer.poll(maxIndexed, pollMs)
    await this.#seekNew()
    const fresh = records.filter((record) => this.#isNext(record))
    if (fresh.length === 0) return
    const moves = this.#positions.movesTo(nextOffsets(fresh))
    const { index, rule } = this.#deps
    const isStored = await index.put(lettersOf(fresh, this.#topic, rule), moves)
    if (isStored) this.#positions.moved(moves)
    else this.#epochs.clear()
  }

  /** Continues partitions that are owned anew where the index has them. */
  async #seekNew(): Promise<void> {
    const owned = this.#consumer.assignment()
    const added = owned.filter(({ partition, epoch }) => this.#epochs.get(partition) !== epoch)
    if (added.length === 0) return
    this.#topic = await this.#deps.refresh()
    this.#positions = new ReaderPositions(this.#topic, this.#deps.ruleVersion)
    await this.#positions.read(this.#deps.index, this.#deps.refresh)
    const still = new Map(this.#consumer.assignment().map(({ partition, epoch }) => [partition, epoch]))
    this.#epochs.clear()
    for (const { topic, partition, epoch } of owned) {
      const next = this.#positions.nextOf(partition)
      if (still.get(partition) !== epoch || next === undefined) continue
      this.#consumer.seek({ topic, partition }, next)
      this.#epochs.set(partition, epoch)
    }
  }

  /** Records that were fetched before a seek are not the next ones. */
  #isNext({ partition, offset }: KafkaRecord): boolean {
    const next = this.#positions.nextOf(partition)
    return this.#epochs.has(partition) && next !== undefined && offset >= next
  }
}
