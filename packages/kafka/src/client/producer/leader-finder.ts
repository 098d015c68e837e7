import type { Runtime } from '@waybill/core'
import type { Cluster, TopicDescription } from '../cluster/cluster.ts'
import { KafkaError, toKafkaError } from '../cluster/kafka-error.ts'
import { retryWaitMs } from '../cluster/retry-backoff.ts'
import type { PartitionSender } from './partition-sender.ts'
import type { ResolvedProducerOptions } from './producer-options.ts'
import type { TopicRoute } from './topic-route.ts'

/** Observes the results of a {@link LeaderFinder}. */
export interface LeaderNews {
  /** Called when the metadata of this topic may have changed. */
  answered(route: TopicRoute): void
  /** Called when these partitions, and records without one, have no leader and a wait cannot help. */
  refused(route: TopicRoute, senders: readonly PartitionSender[], error: KafkaError): void
}

/** Looks up the partitions and leaders of topics with waiting records: one request for all, then a pause. */
export class LeaderFinder {
  readonly #cluster: Cluster
  readonly #runtime: Pick<Runtime, 'clock' | 'random' | 'timers'>
  readonly #options: ResolvedProducerOptions
  readonly #news: LeaderNews
  readonly #signal: AbortSignal
  readonly #wanted: Set<TopicRoute> = new Set()
  #isAsking = false
  /** Consecutive responses that left a partition without a leader. */
  #failures = 0

  constructor(
    cluster: Cluster,
    runtime: Pick<Runtime, 'clock' | 'random' | 'timers'>,
    options: ResolvedProducerOptions,
    news: LeaderNews,
    signal: AbortSignal,
  ) {
    this.#cluster = cluster
    this.#runtime = runtime
    this.#options = options
    this.#news = news
    this.#signal = signal
  }

  /** Schedules the lookup of a topic. */
  want(route: TopicRoute): void {
    this.#wanted.add(route)
    if (this.#isAsking || this.#signal.aborted) return
    this.#isAsking = true
    void this.#askAll()
  }

  /** Refreshes the partition count of a topic. Its cached metadata stays valid meanwhile. */
  refresh(route: TopicRoute): void {
    void this.#refresh(route)
  }

  async #refresh(route: TopicRoute): Promise<void> {
    try {
      const found = await this.#cluster.refresh([route.name], this.#options.requestTimeoutMs)
      const description = found.get(route.name)
      if (description !== undefined) route.describe(description)
    } catch {
      // No record waits for this: a missing leader is looked up on demand.
    }
  }

  /** Looks up wanted topics until none is left. Never rejects: a failure is kept as the topic's `trouble`. */
  async #askAll(): Promise<void> {
    while (this.#wanted.size > 0) {
      if (this.#failures > 0) {
        const waitMs = retryWaitMs(this.#failures, this.#runtime.random, this.#options.retryBackoffMs)
        // Aborted by the end of the producer alone.
        await this.#runtime.timers.sleep(waitMs, this.#signal).catch(() => {})
        if (this.#signal.aborted) break
      }
      const routes = [...this.#wanted]
      this.#wanted.clear()
      this.#failures = (await this.#ask(routes)) ? 0 : this.#failures + 1
      for (const route of routes) this.#news.answered(route)
    }
    this.#isAsking = false
  }

  /** True when everybody has a leader. */
  async #ask(routes: readonly TopicRoute[]): Promise<boolean> {
    // A partition without a leader counts as known, and has to be asked for all the same.
    for (const route of routes)
      if (!isServed(route, this.#cluster.known(route.name))) this.#cluster.invalidateTopic(route.name)
    try {
      const names = routes.map((route) => route.name)
      const found = await this.#cluster.topics(names, this.#options.requestTimeoutMs)
      for (const route of routes) this.#answered(route, found.get(route.name))
    } catch (error) {
      const trouble = toKafkaError('Cannot look up the leaders', error)
      for (const route of routes) {
        route.trouble = trouble
        if (trouble.kind === 'FATAL') this.#news.refused(route, route.senders, trouble)
      }
    }
    return routes.every((route) => isServed(route, this.#cluster.known(route.name)))
  }

  #answered(route: TopicRoute, description: TopicDescription | undefined): void {
    if (description !== undefined) route.describe(description)
    const refusal = description === undefined ? this.#cluster.refusal(route.name) : undefined
    if (refusal?.reason !== undefined && finalReasons.has(refusal.reason)) {
      this.#news.refused(route, route.senders, refusal)
      return
    }
    if (refusal?.reason === 'LEADER_NOT_AVAILABLE') {
      // The topic exists, so its records wait for their own timeout.
      route.trouble = refusal
      route.missingSince = undefined
      return
    }
    const count = description?.leaders.length ?? 0
    const absent = route.senders.filter((sender) => sender.partition >= count)
    if (description !== undefined && absent.length === 0) {
      route.missingSince = undefined
      return
    }
    const now = this.#runtime.clock.monotonic()
    route.missingSince ??= now
    if (now - route.missingSince < this.#options.unknownTopicWaitMs) return
    route.missingSince = undefined
    this.#news.refused(route, absent, missingError(route.name, description))
  }
}

/** Errors that a wait cannot fix: access is denied, or the name is illegal. */
const finalReasons: ReadonlySet<string> = new Set(['TOPIC_AUTHORIZATION_FAILED', 'INVALID_TOPIC_EXCEPTION'])

/** Returns true when every partition with waiting records has a leader. */
function isServed(route: TopicRoute, description: TopicDescription | undefined): boolean {
  if (description === undefined || description.leaders.length === 0) return false
  return route.senders.every((sender) => sender.isEmpty || (description.leaders[sender.partition] ?? null) !== null)
}

function missingError(topic: string, description: TopicDescription | undefined): KafkaError {
  const what =
    description === undefined
      ? `Topic ${topic} does not exist, or this client may not access it.`
      : `Topic ${topic} has only ${description.leaders.length} partitions.`
  return new KafkaError(what, 'RETRIABLE', {
    reason: 'UNKNOWN_TOPIC_OR_PARTITION',
    scope: description === undefined ? 'TOPIC' : 'PARTITION',
    impact: 'The record was not written.',
    hint:
      description === undefined
        ? 'Create the topic or grant access to it, then send again.'
        : 'Send to an existing partition.',
  })
}
