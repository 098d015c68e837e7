/** Keeps an index of dead letters filled: in memory by reading on request, in a database by following. */

import type { Connector } from '@waybill/connector'
import { ArgumentError, applicationOperator, type Runtime } from '@waybill/core'
import type { DeadLetterIndex, IndexPosition, LogRange } from '@waybill/core/internal'
import type { KafkaClient } from '@waybill/kafka'
import { fingerprintRule } from './fingerprint.ts'
import { foreignTopicsOf } from './foreign-topics.ts'
import { GroupFollower } from './group-follower.ts'
import { IndexReading } from './index-reading.ts'
import type { IndexingRule } from './indexed-letter.ts'
import { type IndexedBinding, type LetterTopic, topicsOf } from './letter-topics.ts'
import { forgetDeleted, readIntoIndex } from './range-follower.ts'

/** The dependencies of an indexing. */
export interface LetterIndexingDeps {
  readonly index: DeadLetterIndex
  readonly connector: Connector | undefined
  readonly clusters: Readonly<Record<string, KafkaClient>>
  /** Names of topics of other programs, by cluster. */
  readonly foreignTopics: Readonly<Record<string, readonly string[]>>
  readonly rule: IndexingRule
  readonly runtime: Runtime
  /** Returns the name of a binding in permissions and answers. */
  readonly keyOf: (binding: { readonly name: string; readonly cluster: string }) => string
}

/** How far an index has read. */
export interface IndexSource {
  readonly mode: DeadLetterIndex['mode']
  readonly upTo: readonly IndexPosition[]
  /** Offsets that dead letter topics hold and the index has not read. */
  readonly lagRecords: bigint
  /** Dead letters beyond the bound of an index in memory. */
  readonly leftOut: number
  /** Clusters of bindings for which there is no client. */
  readonly unreadClusters: readonly string[]
}

/** An index in memory reads again after this. */
const freshMs = 2_000
/** Topics of new bindings are found after this. */
const findEveryMs = 10_000
/** The longest time that a request waits for an index in memory to be filled. */
const fillWaitMs = 10_000
const forgetEveryMs = 60_000
const operator = applicationOperator('index of dead letters')

/** See the file's comment. */
export class LetterIndexing {
  readonly index: DeadLetterIndex
  readonly #deps: LetterIndexingDeps
  readonly #ruleVersion: string
  readonly #closing = new AbortController()
  readonly #followers = new Map<string, GroupFollower>()
  #following: Promise<void> | undefined
  #filling: Promise<void> | undefined
  #filledAt: number | undefined
  #forgottenAt: number | undefined
  #topics: { readonly at: number; readonly found: Promise<readonly LetterTopic[]> } | undefined

  constructor(deps: LetterIndexingDeps) {
    this.#deps = deps
    this.index = deps.index
    const { fingerprint, fingerprintVersion = '1' } = deps.rule
    this.#ruleVersion = fingerprint === undefined ? fingerprintRule : `host-${fingerprintVersion}`
    if (deps.index.mode === 'INDEX' && this.#hasTopics) this.#following = this.#follow()
  }

  /** Waits until an index in memory is filled, at most ten seconds: see the source for how far it is. */
  async current(): Promise<void> {
    if (this.index.mode === 'INDEX' || !this.#hasTopics) return
    const { runtime } = this.#deps
    const isFresh = this.#filledAt !== undefined && runtime.clock.monotonic() - this.#filledAt < freshMs
    if (isFresh) return
    this.#filling ??= this.#fill().finally(() => {
      this.#filling = undefined
    })
    const late = Promise.withResolvers<void>()
    const timer = runtime.timers.schedule(fillWaitMs, () => late.resolve())
    try {
      await Promise.race([this.#filling, late.promise])
    } finally {
      timer[Symbol.dispose]()
    }
  }

  /** Returns how far the index has read. */
  async source(): Promise<IndexSource> {
    const topics = await this.topics()
    const upTo: IndexPosition[] = []
    let lagRecords = 0n
    for (const { cluster, topic, ranges } of topics) {
      const positions = await this.index.positions(cluster, topic)
      upTo.push(...positions)
      for (const { partition, from, until } of ranges) {
        const next =
          positions.find((one) => one.partition === partition && one.rule === this.#ruleVersion)?.next ?? from
        const begin = next > from ? next : from
        lagRecords += begin < until ? until - begin : 0n
      }
    }
    const { clusters, foreignTopics } = this.#deps
    const named = [...this.#bindings().map(({ cluster }) => cluster), ...Object.keys(foreignTopics)]
    const unreadClusters = [...new Set(named.filter((cluster) => !Object.hasOwn(clusters, cluster)))]
    return { mode: this.index.mode, upTo, lagRecords, leftOut: this.index.leftOut ?? 0, unreadClusters }
  }

  /** Returns the dead letter topics with the offsets that they hold, read at most two seconds ago. */
  topics(): Promise<readonly LetterTopic[]> {
    const now = this.#deps.runtime.clock.monotonic()
    if (this.#topics === undefined || now - this.#topics.at >= freshMs) {
      const found = this.#findTopics()
      this.#topics = { at: now, found }
      // Those who wait learn of the failure; the next request reads again.
      found.catch(() => {
        this.#topics = undefined
      })
    }
    return this.#topics.found
  }

  /** Reads ranges of the topics of a binding again. `binding` is `{cluster}:{name}`. */
  async reread(binding: string, ranges: readonly LogRange[]): Promise<IndexReading> {
    const topics = (await this.topics()).filter(({ bindings }) => bindings.some(({ label }) => label === binding))
    const { index, rule, clusters } = this.#deps
    const [first] = topics
    const client = first === undefined ? undefined : clusters[first.cluster]
    if (client === undefined) throw new ArgumentError(`The dead letters of binding '${binding}' are not indexed here.`)
    return new IndexReading(ranges, { index, rule, topics, client })
  }

  /** Stops reading. Never rejects. */
  async close(): Promise<void> {
    this.#closing.abort()
    await this.#following
    await this.#filling?.catch(() => {})
    await Promise.all([...this.#followers.values()].map((follower) => follower.stop()))
  }

  #bindings(): readonly IndexedBinding[] {
    const { connector, keyOf } = this.#deps
    return (connector?.listBindings() ?? []).map((view) => ({
      key: keyOf(view),
      label: `${view.cluster}:${view.name}`,
      cluster: view.cluster,
      groupId: view.groupId,
      topics: view.topics,
    }))
  }

  get #hasTopics(): boolean {
    const { connector, foreignTopics } = this.#deps
    return connector !== undefined || Object.keys(foreignTopics).length > 0
  }

  async #findTopics(): Promise<readonly LetterTopic[]> {
    const bound = await this.#boundTopics()
    const { clusters, foreignTopics } = this.#deps
    const foreign = await Promise.all(
      Object.entries(foreignTopics).map(async ([cluster, names]) => {
        const client = Object.hasOwn(clusters, cluster) ? clusters[cluster] : undefined
        return client === undefined ? [] : foreignTopicsOf(cluster, client, names)
      }),
    )
    return [...bound, ...foreign.flat().filter((one) => !bound.some((other) => isSame(one, other)))]
  }

  async #boundTopics(): Promise<readonly LetterTopic[]> {
    const { connector, clusters } = this.#deps
    if (connector === undefined) return []
    const readable = this.#bindings().filter(({ cluster }) => Object.hasOwn(clusters, cluster))
    const found = await Promise.all(
      readable.map(async (binding) => ({
        binding,
        ranges: await connector.admin.deadLetterRanges(binding.label, operator),
      })),
    )
    return topicsOf(found)
  }

  async #fill(): Promise<void> {
    const { rule, runtime } = this.#deps
    for (const topic of await this.topics()) {
      await readIntoIndex(topic, {
        index: this.index,
        client: this.#clientOf(topic),
        rule,
        ruleVersion: this.#ruleVersion,
        refresh: () => this.#refreshed(topic),
        signal: this.#closing.signal,
      })
      await forgetDeleted(this.index, topic)
    }
    this.#filledAt = runtime.clock.monotonic()
  }

  /** Never rejects. */
  async #follow(): Promise<void> {
    const { runtime } = this.#deps
    const { signal } = this.#closing
    while (!signal.aborted) {
      try {
        await this.#followTopics()
      } catch (err) {
        runtime.logger.warn({ err }, 'Dead letter topics not found, retrying')
      }
      await runtime.timers.sleep(findEveryMs, signal).catch(() => {})
    }
  }

  async #followTopics(): Promise<void> {
    const { rule, runtime } = this.#deps
    const topics = await this.topics()
    const now = runtime.clock.monotonic()
    const isForgetting = this.#forgottenAt === undefined || now - this.#forgottenAt >= forgetEveryMs
    if (isForgetting) this.#forgottenAt = now
    for (const topic of topics) {
      const id = JSON.stringify([topic.cluster, topic.topic])
      if (!this.#followers.has(id) && !this.#closing.signal.aborted)
        this.#followers.set(
          id,
          new GroupFollower(topic, {
            index: this.index,
            client: this.#clientOf(topic),
            rule,
            ruleVersion: this.#ruleVersion,
            runtime,
            refresh: () => this.#refreshed(topic),
          }),
        )
      if (isForgetting) await forgetDeleted(this.index, topic)
    }
  }

  async #refreshed(topic: LetterTopic): Promise<LetterTopic> {
    this.#topics = undefined
    return (await this.topics()).find((one) => isSame(one, topic)) ?? topic
  }

  #clientOf({ cluster }: LetterTopic): KafkaClient {
    return this.#deps.clusters[cluster] as KafkaClient
  }
}

function isSame(one: LetterTopic, other: LetterTopic): boolean {
  return one.cluster === other.cluster && one.topic === other.topic
}
