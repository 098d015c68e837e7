/**
 * Joins a member to a generation. One attempt is one JoinGroup and, if that is accepted, one SyncGroup:
 *
 *     look back ──▶ JoinGroup ──▶ assign, if it leads ──▶ SyncGroup ──▶ ENTERED
 *                      │                                      ├──▶ AGAIN   the place was given for other topics
 *                      └───────────────── refused ────────────┴──▶ AGAIN, LATER, LOST, or an error: never
 *
 * and GIVEN_UP when a stop no longer waits. Nothing here waits between attempts or releases a partition: the member
 * does. A request whose response is lost is an error. The next attempt sends it again, which is safe for both requests.
 *
 * A static member that restarts gets the partitions of its previous instance, without a rebalance. If that instance had
 * other topics, the member takes none of them and joins once more with a changed subscription, which forces a
 * rebalance.
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

/** The settings that a member joins with. */
export interface GroupEntryOptions {
  readonly topics: readonly string[]
  readonly instanceId: string | null
  readonly assignment: 'COOPERATIVE' | 'EAGER'
  readonly sessionTimeoutMs: number
  readonly rebalanceTimeoutMs: number
  readonly requestTimeoutMs: number
}

/** The member on whose behalf an attempt runs. */
export interface GroupEntrant {
  readonly membership: Membership
  /** The partitions that it owns and has not released. */
  readonly owned: readonly TopicPartition[]
  /** True when it is stopping and no longer waits for the attempt. */
  readonly hasGivenUp: boolean
  /** Takes the membership that the coordinator assigned; it may be a member id without a generation. */
  placed(membership: Membership): void
  /** Records that the coordinator accepted a request of a live member. `at` is when the request was sent. */
  proveAlive(at: number): void
  /** Resolves with the result of the work; undefined once the member gives up. */
  orGiveUp<T>(work: Promise<T>): Promise<T | undefined>
}

/**
 * The outcome of an attempt.
 * - ENTERED: the member owns these partitions in the new generation.
 * - AGAIN: refused as the protocol expects; the next attempt may follow at once.
 * - LATER: the coordinator has moved or is not ready, or repeats a refusal.
 * - LOST: the group rebalanced without this member, and its partitions may have new owners.
 * - GIVEN_UP: a stop no longer waits.
 */
export type Entry =
  | { readonly outcome: 'ENTERED'; readonly partitions: readonly TopicPartition[] }
  | { readonly outcome: 'AGAIN' | 'LATER' | 'LOST' | 'GIVEN_UP' }

/** Protocol names of the Java client, so that both can share a group. */
const protocolNames = { COOPERATIVE: 'cooperative-sticky', EAGER: 'range' } as const

/** Time beyond the rebalance timeout that a JoinGroup or SyncGroup may take: both wait for the slowest member. */
const joinGraceMs = 5_000

type Deps = Pick<Runtime, 'clock' | 'logger'>

/** Runs the attempts of one member. */
export class GroupEntry {
  readonly #link: CoordinatorLink
  readonly #leader: GroupLeader
  readonly #runtime: Deps
  readonly #options: GroupEntryOptions
  readonly #entrant: GroupEntrant
  readonly #topics: ReadonlySet<string>
  /**
   * Topics of its previous instance, until the first generation; its own topics when there was none or they are
   * unknown.
   */
  #former: ReadonlySet<string> | undefined
  /** True when the coordinator keeps a place for it that was given for other topics. */
  #isPlaceOutdated = false
  #unanswered: Promise<unknown> | undefined
  /** The member id of its last generation. */
  #enteredAs = ''
  /** True when it gave up a member id that no generation had, until the next generation. */
  #hasBegunAnew = false
  /** Expected refusals since the last generation, by code. */
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

  /**
   * Runs one attempt. Rejects with KafkaError, or with ConsumerProtocolError when the leader's bytes cannot be decoded.
   */
  async attempt(): Promise<Entry> {
    await this.#lookBack()
    if (this.#entrant.hasGivenUp) return { outcome: 'GIVEN_UP' }
    const joined = await this.#joinGroup()
    if ('outcome' in joined) return joined
    const entry = await this.#syncGroup(joined)
    return entry.outcome === 'ENTERED' ? this.#accept(entry.partitions) : entry
  }

  /**
   * The JoinGroup of a static member without a member id, until it is answered. The coordinator may have given the member a
   * place, which it cannot name.
   */
  get unanswered(): Promise<unknown> | undefined {
    return this.#unanswered
  }

  #accept(given: readonly TopicPartition[]): Entry {
    const strange = given.filter(({ topic }) => !this.#topics.has(topic))
    const former = this.#former
    this.#former = undefined
    this.#isPlaceOutdated =
      former !== undefined && (strange.length > 0 || former.symmetricDifference(this.#topics).size > 0)
    if (this.#isPlaceOutdated) return { outcome: 'AGAIN' }
    if (strange.length > 0) this.#runtime.logger.error({ strange }, 'Partitions of unsubscribed topics ignored')
    this.#expected.clear()
    this.#enteredAs = this.#entrant.membership.memberId
    this.#hasBegunAnew = false
    return { outcome: 'ENTERED', partitions: given.filter(({ topic }) => this.#topics.has(topic)) }
  }

  /** Finds the topics of the previous instance, because a static member without a member id may be a restart. */
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
    if (instanceId !== null && this.#entrant.membership.memberId === '') this.#unanswered = joining
    const joined = await this.#entrant.orGiveUp(joining)
    if (joined === undefined) return { outcome: 'GIVEN_UP' }
    this.#unanswered = undefined
    const { memberId, generationId } = joined
    if (joined.errorCode === errorCode.MEMBER_ID_REQUIRED) this.#entrant.placed({ memberId, generationId: -1 })
    if (joined.errorCode !== errorCode.NONE) return this.#refused('JoinGroup', joined.errorCode)
    this.#entrant.placed({ memberId, generationId })
    this.#entrant.proveAlive(sentAt)
    return joined
  }

  #subscription(): Parameters<typeof encodeSubscription>[0] {
    const { owned, membership } = this.#entrant
    // A coordinator treats a member whose subscription bytes differ as changed.
    const isChanged = owned.length > 0 || this.#isPlaceOutdated
    return {
      topics: this.#options.topics,
      owned: groupByTopic(owned),
      generationId: isChanged ? membership.generationId : -1,
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

  /**
   * A coordinator that fails over forgets the member ids that it gave in a rebalance which did not end, and takes the
   * previous instance for the holder: it fences a member that nothing has replaced. Such a member joins once more without
   * an id. Two processes that share an instance id do so in turn, and then the earlier one is fenced for good.
   *
   * @throws the fenced error for a member of a generation, and for a member that is fenced again
   */
  #beginAnew(): Entry {
    const isMember = this.#entrant.membership.memberId === this.#enteredAs
    if (isMember || this.#hasBegunAnew) throw fencedError(this.#link.groupId, this.#options.instanceId)
    this.#hasBegunAnew = true
    this.#entrant.placed({ memberId: '', generationId: -1 })
    return { outcome: 'LATER' }
  }

  #refused(api: 'JoinGroup' | 'SyncGroup', code: number): Entry {
    const { groupId } = this.#link
    switch (code) {
      case errorCode.MEMBER_ID_REQUIRED:
      // The next rebalance began before this one completed.
      case errorCode.REBALANCE_IN_PROGRESS: {
        // Expected once. Back off from a coordinator that repeats it.
        const isExpected = !this.#expected.has(code)
        this.#expected.add(code)
        return { outcome: isExpected ? 'AGAIN' : 'LATER' }
      }
      case errorCode.UNKNOWN_MEMBER_ID:
      case errorCode.ILLEGAL_GENERATION:
        return { outcome: 'LOST' }
      case errorCode.FENCED_INSTANCE_ID:
        return this.#beginAnew()
      default:
        if (!this.#link.hasMoved(code)) throw kafkaError(`${api} for group ${groupId}`, code)
        return { outcome: 'LATER' }
    }
  }
}
