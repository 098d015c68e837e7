/**
 * How a member enters a generation. One attempt is one JoinGroup and, when that gave a place, one SyncGroup:
 *
 *     look back ──▶ JoinGroup ──▶ share out, if it leads ──▶ SyncGroup ──▶ ENTERED
 *                      │                                         ├──▶ AGAIN   the place was given for other topics
 *                      └───────────────── refused ───────────────┴──▶ AGAIN, LATER, LOST, or an error: never
 *
 * and GIVEN_UP wherever a stop waits no longer. Nothing here waits between attempts or gives a partition back: that is the
 * member's. A request whose answer is lost is an error, and the next attempt sends it again: both may be repeated.
 *
 * A static member that comes back gets what its former self had, without a round of the others. If that had other topics,
 * it takes nothing of it and joins once more, as one that has changed: then there is a round.
 */

import type { Runtime } from '@waybill/core'
import { decodeAssignment, encodeSubscription } from '../../wire/api/consumer-protocol.ts'
import { errorCode } from '../../wire/api/error-codes.ts'
import type { JoinGroupResponse } from '../../wire/api/kafka-apis.ts'
import { eachPartition } from '../cluster/by-topic.ts'
import { kafkaError } from '../cluster/kafka-error.ts'
import type { TopicPartition } from '../cluster/topic-partition.ts'
import type { CoordinatorLink } from './coordinator-link.ts'
import { fencedError } from './fenced-error.ts'
import { formerTopics } from './former-topics.ts'
import type { GroupLeader } from './group-leader.ts'
import type { Membership } from './membership.ts'
import { groupByTopic } from './sticky-assignment.ts'

/** What a member says of itself when it joins. */
export interface GroupEntryOptions {
  readonly topics: readonly string[]
  readonly instanceId: string | null
  readonly assignment: 'COOPERATIVE' | 'EAGER'
  readonly sessionTimeoutMs: number
  readonly rebalanceTimeoutMs: number
  readonly requestTimeoutMs: number
}

/** Who enters. */
export interface GroupEntrant {
  readonly membership: Membership
  /** What it has and has not given back. */
  readonly owned: readonly TopicPartition[]
  /** It stops, and waits for this no longer. */
  readonly hasGivenUp: boolean
  /** The coordinator gave it a place, or only an id so far. */
  placed(membership: Membership): void
  /** The coordinator answered as it answers members only. `at` is when that was asked. */
  proveAlive(at: number): void
  /** What the work answers; undefined once it has given up. */
  orGiveUp<T>(work: Promise<T>): Promise<T | undefined>
}

/**
 * How an attempt ended.
 * - ENTERED: these partitions are ours in the new generation.
 * - AGAIN: it was refused as the protocol has it; the next attempt may follow at once.
 * - LATER: the coordinator is elsewhere or not ready, or repeats itself.
 * - LOST: the group has gone on without us, and what we owned may have been given away.
 * - GIVEN_UP: a stop waits no longer.
 */
export type Entry =
  | { readonly outcome: 'ENTERED'; readonly partitions: readonly TopicPartition[] }
  | { readonly outcome: 'AGAIN' | 'LATER' | 'LOST' | 'GIVEN_UP' }

/** Protocol names of the Java client, so that both can share a group. */
const protocolNames = { COOPERATIVE: 'cooperative-sticky', EAGER: 'range' } as const

/** What a JoinGroup or SyncGroup may take beyond the rebalance: both rightly wait for the slowest member. */
const joinGraceMs = 5_000

type Deps = Pick<Runtime, 'clock' | 'logger'>

/** One member's way into its generations. */
export class GroupEntry {
  readonly #link: CoordinatorLink
  readonly #leader: GroupLeader
  readonly #runtime: Deps
  readonly #options: GroupEntryOptions
  readonly #entrant: GroupEntrant
  readonly #topics: ReadonlySet<string>
  /** Topics of its former self, until the first generation; its own when there was none or they are not known. */
  #former: ReadonlySet<string> | undefined
  /** Its place was given to it for other topics than it has. */
  #isPlaceOutdated = false
  /** Refusals since the last generation that are part of the protocol, once each. */
  readonly #expected = new Set<number>()

  constructor(
    link: CoordinatorLink,
    leader: GroupLeader,
    runtime: Deps,
    options: GroupEntryOptions,
    entrant: GroupEntrant,
  ) {
    this.#link = link
    this.#leader = leader
    this.#runtime = runtime
    this.#options = options
    this.#entrant = entrant
    this.#topics = new Set(options.topics)
  }

  /** One attempt. Rejects with KafkaError, or with ConsumerProtocolError when a leader's bytes make no sense. */
  async attempt(): Promise<Entry> {
    await this.#lookBack()
    if (this.#entrant.hasGivenUp) return { outcome: 'GIVEN_UP' }
    const joined = await this.#joinGroup()
    if ('outcome' in joined) return joined
    const entry = await this.#syncGroup(joined)
    return entry.outcome === 'ENTERED' ? this.#accept(entry.partitions) : entry
  }

  #accept(given: readonly TopicPartition[]): Entry {
    const strange = given.filter(({ topic }) => !this.#topics.has(topic))
    const former = this.#former
    this.#former = undefined
    this.#isPlaceOutdated =
      former !== undefined && (strange.length > 0 || former.symmetricDifference(this.#topics).size > 0)
    if (this.#isPlaceOutdated) return { outcome: 'AGAIN' }
    if (strange.length > 0)
      this.#runtime.logger.error({ strange }, 'The leader gives partitions of topics that nobody here has asked for')
    this.#expected.clear()
    return { outcome: 'ENTERED', partitions: given.filter(({ topic }) => this.#topics.has(topic)) }
  }

  /** A static member without an id may be one that comes back: for which topics was its place given to it? */
  async #lookBack(): Promise<void> {
    const { instanceId, requestTimeoutMs } = this.#options
    if (instanceId === null || this.#entrant.membership.memberId !== '') return
    const former = await this.#entrant.orGiveUp(formerTopics(this.#link, instanceId, requestTimeoutMs))
    this.#former = former ?? this.#topics
  }

  async #joinGroup(): Promise<JoinGroupResponse | Entry> {
    const { instanceId, sessionTimeoutMs, rebalanceTimeoutMs, assignment } = this.#options
    const sentAt = this.#runtime.clock.monotonic()
    const joining = this.#link.send(
      'JOIN',
      'JoinGroup',
      {
        groupId: this.#link.groupId,
        sessionTimeoutMs,
        rebalanceTimeoutMs,
        memberId: this.#entrant.membership.memberId,
        groupInstanceId: instanceId,
        protocolType: 'consumer',
        protocols: [{ name: protocolNames[assignment], metadata: encodeSubscription(this.#subscription()) }],
        reason: '',
      },
      rebalanceTimeoutMs + joinGraceMs,
    )
    const joined = await this.#entrant.orGiveUp(joining)
    if (joined === undefined) return { outcome: 'GIVEN_UP' }
    const { memberId, generationId } = joined
    if (joined.errorCode === errorCode.MEMBER_ID_REQUIRED) this.#entrant.placed({ memberId, generationId: -1 })
    if (joined.errorCode !== errorCode.NONE) return this.#refused('JoinGroup', joined.errorCode)
    this.#entrant.placed({ memberId, generationId })
    this.#entrant.proveAlive(sentAt)
    return joined
  }

  #subscription(): Parameters<typeof encodeSubscription>[0] {
    const { owned, membership } = this.#entrant
    // A coordinator takes a member that says something else than before for one that has changed.
    const isNews = owned.length > 0 || this.#isPlaceOutdated
    return {
      topics: this.#options.topics,
      owned: groupByTopic(owned),
      generationId: isNews ? membership.generationId : -1,
    }
  }

  async #syncGroup(joined: JoinGroupResponse): Promise<Entry> {
    const isLeader = joined.leader === joined.memberId
    if (!isLeader) this.#leader.resign()
    const assignments = isLeader ? await this.#entrant.orGiveUp(this.#leader.assign(joined)) : []
    if (assignments === undefined) return { outcome: 'GIVEN_UP' }
    const sentAt = this.#runtime.clock.monotonic()
    const syncing = this.#link.send(
      'JOIN',
      'SyncGroup',
      {
        groupId: this.#link.groupId,
        generationId: joined.generationId,
        memberId: joined.memberId,
        groupInstanceId: this.#options.instanceId,
        protocolType: 'consumer',
        protocolName: protocolNames[this.#options.assignment],
        assignments,
      },
      this.#options.rebalanceTimeoutMs + joinGraceMs,
    )
    const synced = await this.#entrant.orGiveUp(syncing)
    if (synced === undefined) return { outcome: 'GIVEN_UP' }
    if (synced.errorCode !== errorCode.NONE) return this.#refused('SyncGroup', synced.errorCode)
    this.#entrant.proveAlive(sentAt)
    return { outcome: 'ENTERED', partitions: eachPartition(decodeAssignment(synced.assignment)) }
  }

  #refused(api: 'JoinGroup' | 'SyncGroup', code: number): Entry {
    const { groupId } = this.#link
    switch (code) {
      case errorCode.MEMBER_ID_REQUIRED:
      // The next round has begun without waiting for this one.
      case errorCode.REBALANCE_IN_PROGRESS: {
        // Expected once. A coordinator that goes on with it is not to be stormed.
        const isExpected = !this.#expected.has(code)
        this.#expected.add(code)
        return { outcome: isExpected ? 'AGAIN' : 'LATER' }
      }
      case errorCode.UNKNOWN_MEMBER_ID:
      case errorCode.ILLEGAL_GENERATION:
        return { outcome: 'LOST' }
      case errorCode.FENCED_INSTANCE_ID:
        throw fencedError(groupId, this.#options.instanceId)
      default:
        if (!this.#link.hasMoved(code)) throw kafkaError(`${api} for group ${groupId}`, code)
        return { outcome: 'LATER' }
    }
  }
}
