/**
 * A member of a consumer group, classic protocol. One loop, and nothing else ever joins:
 *
 *            ┌───────────── place lost: lost, then as a new member ────────────────┐
 *            ▼                                                                     │
 *        ENTERING ── JoinGroup, SyncGroup ──▶ revoke what is gone ──▶ assign ──▶ STABLE
 *            ▲                                        │ (cooperative: again)       │
 *            └────────────────────────────────────────┴── REBALANCE, REJOIN ───────┤
 *                                                         (eager: revoke all first) │
 *        stop: revoke, leave      SUSPENDED: lost, leave, wait for resume ◀────────┘
 *        fenced or refused: lost, failed
 *
 * Partitions are given back only after `revoking` has settled, its deadline has passed, or the place is lost anyway;
 * heartbeats go on meanwhile, so the drain costs no session. What a heartbeat says while ENTERING is not looked at: the
 * JoinGroup under way settles the same question better. What it says at any other time waits until the loop asks.
 * A JoinGroup or SyncGroup whose answer is lost is simply sent again: both may be repeated.
 *
 * A static member that comes back gets what its former self had, without a round of the others. If that had other topics,
 * it takes nothing of it and joins once more, as one that has changed: then there is a round.
 *
 * A stop that comes while ENTERING with partitions in hand lets that finish, within half of its time: between two
 * generations no commit is taken, and what was handled would be handled again.
 */

import type { Runtime } from '@waybill/core'
import { ConsumerProtocolError, decodeAssignment, encodeSubscription } from '../../wire/consumer-protocol.ts'
import { errorCode } from '../../wire/error-codes.ts'
import type { JoinGroupResponse } from '../../wire/kafka-apis.ts'
import { eachPartition } from '../by-topic.ts'
import type { Cluster } from '../cluster.ts'
import { kafkaError, mayPass } from '../kafka-error.ts'
import { partitionName } from '../partition-name.ts'
import { retryWaitMs } from '../retry-backoff.ts'
import type { TopicPartition } from '../types.ts'
import { Bell } from './bell.ts'
import type { CoordinatorLink } from './coordinator-link.ts'
import { fencedError } from './fenced-error.ts'
import { formerTopics } from './former-topics.ts'
import { GroupLeader } from './group-leader.ts'
import { Heartbeat, type HeartbeatOwner, type Verdict } from './heartbeat.ts'
import { type Membership, noMembership } from './membership.ts'
import type { MembershipListener } from './membership-listener.ts'
import { groupByTopic } from './sticky-assignment.ts'

/** Resolved options of a member. */
export interface GroupMemberOptions {
  readonly topics: readonly string[]
  readonly instanceId: string | null
  readonly assignment: 'COOPERATIVE' | 'EAGER'
  readonly sessionTimeoutMs: number
  readonly heartbeatIntervalMs: number
  readonly rebalanceTimeoutMs: number
  /** Longest drain; never more than 0.6 of the rebalance timeout, so that the others need not wait for nothing. */
  readonly drainDeadlineMs: number
  readonly requestTimeoutMs: number
}

/** Protocol names of the Java client, so that both can share a group. */
const protocolNames = { COOPERATIVE: 'cooperative-sticky', EAGER: 'range' } as const

/** What a JoinGroup or SyncGroup may take beyond the rebalance: both rightly wait for the slowest member. */
const joinGraceMs = 5_000

/** Of the time a stop has: the leaving must still fit in when a handler has used up the rest. */
const leaveShare = 0.1
const leaveMostMs = 1_000

type Deps = Pick<Runtime, 'clock' | 'timers' | 'random' | 'logger'>

/** What ends a generation. */
type Turn = Verdict | 'SUSPENDED' | 'STOPPED'

/** One member. `start` once, `stop` once. */
export class GroupMember implements HeartbeatOwner {
  readonly #link: CoordinatorLink
  readonly #runtime: Deps
  readonly #options: GroupMemberOptions
  readonly #listener: MembershipListener
  readonly #heartbeat: Heartbeat
  readonly #topics: ReadonlySet<string>
  readonly #owned = new Map<string, TopicPartition>()
  readonly #bell = new Bell()
  /** What this member does when it leads. */
  readonly leader: GroupLeader
  #membership: Membership = noMembership
  #isEntering = false
  #verdict: Verdict | undefined
  #isRejoinDue = false
  #isSuspended = false
  #isStopping = false
  /** Topics of its former self, until the first generation; its own when there was none or they are not known. */
  #former: ReadonlySet<string> | undefined
  /** Its place was given to it for other topics than it has. */
  #isPlaceOutdated = false
  /** A stop waits no longer for the generation that is being entered. */
  #isEnteringCut = false
  /** A stop waits no longer for a drain. */
  #isDrainCut = false
  #failures = 0
  /** Refusals since the last generation that are part of the protocol, once each. */
  readonly #expected = new Set<number>()
  #running: Promise<void> = Promise.resolve()

  constructor(
    link: CoordinatorLink,
    cluster: Cluster,
    runtime: Deps,
    options: GroupMemberOptions,
    listener: MembershipListener,
  ) {
    this.#link = link
    this.#runtime = runtime
    this.#options = options
    this.#topics = new Set(options.topics)
    this.#listener = listener
    this.#heartbeat = new Heartbeat(link, runtime, options, this)
    this.leader = new GroupLeader(link, cluster, runtime.logger, options)
  }

  /** What a commit or a transaction must carry at this moment. */
  get membership(): Membership {
    return this.#membership
  }

  /** False while the session may have ended: hand out nothing, commit nothing. */
  get isSessionAlive(): boolean {
    return this.#membership.generationId >= 0 && this.#heartbeat.isSessionAlive
  }

  start(): void {
    this.#running = this.#run()
  }

  /** Joins again: there are partitions that nobody has. Whoever is joining anyway shares them out by that. */
  rejoin(): void {
    if (this.#isEntering) return
    this.#isRejoinDue = true
    this.#bell.ring()
  }

  /** Gives its place up without a drain, and joins again after `resume`: nobody has asked for records for too long. */
  suspend(): void {
    this.#isSuspended = true
    this.#bell.ring()
  }

  resume(): void {
    this.#isSuspended = false
    this.#bell.ring()
  }

  /**
   * Drains, gives everything back, and leaves if told to, all by the deadline. Never rejects: what cannot be said to the
   * coordinator any more, the session timeout says.
   */
  async stop(leave: boolean, deadlineMs: number): Promise<void> {
    const { clock } = this.#runtime
    const startedAt = clock.monotonic()
    const leaveMs = leave ? Math.min(leaveMostMs, leaveShare * deadlineMs) : 0
    const drainMs = deadlineMs - leaveMs
    const stopped = new AbortController()
    this.#after(drainMs / 2, stopped.signal, () => (this.#isEnteringCut = true))
    this.#after(drainMs, stopped.signal, () => (this.#isDrainCut = true))
    this.#isStopping = true
    this.#bell.ring()
    await this.#running
    await this.#revoke(startedAt + drainMs - clock.monotonic())
    stopped.abort()
    this.#heartbeat.stop()
    if (leave) await this.#leave(startedAt + deadlineMs - clock.monotonic())
    this.#membership = noMembership
    this.#link.close()
  }

  /**
   * True once a heartbeat that is sent from now on was acknowledged. False when the place is lost, or when no answer came
   * for as long as a session lasts.
   */
  async confirm(): Promise<boolean> {
    const { clock, timers, random } = this.#runtime
    const endAt = clock.monotonic() + this.#options.sessionTimeoutMs
    for (let failures = 1; !this.#isStopping && clock.monotonic() < endAt; failures++) {
      const wasEntering = this.#isEntering
      const answer = await this.#heartbeat.beat()
      if (answer === 'ALIVE' || answer === 'REBALANCE') return true
      // While entering, the old generation is over and the new one not known yet: that is no loss.
      if (answer === 'FENCED' || (answer === 'LOST' && !wasEntering && !this.#isEntering)) return false
      await timers.sleep(retryWaitMs(failures, random))
    }
    return false
  }

  verdict(verdict: Verdict): void {
    if (this.#isEntering) return
    this.#verdict = verdict
    this.#bell.ring()
  }

  revived(): void {
    this.#listener.revived()
  }

  async #run(): Promise<void> {
    try {
      while (!this.#isStopping) await this.#oneGeneration()
    } catch (error) {
      this.#heartbeat.stop()
      this.#lose()
      this.#listener.failed(error as Error)
    }
  }

  async #oneGeneration(): Promise<void> {
    await this.#bell.until(() => !this.#isSuspended || this.#isStopping)
    if (this.#isStopping) return
    const wanted = await this.#enter()
    if (wanted === undefined || this.#isStopping) return
    const hasGivenBack = await this.#carryOut(wanted)
    // Somebody waits for what was given back, and gets it when all have joined again.
    await this.#endGeneration(hasGivenBack ? (this.#due() ?? 'REBALANCE') : await this.#turn())
  }

  async #endGeneration(turn: Turn): Promise<void> {
    switch (turn) {
      case 'REBALANCE':
        if (this.#options.assignment === 'EAGER') await this.#revoke(this.#drainMs)
        return
      case 'LOST':
        this.#lose()
        return
      case 'FENCED':
        throw fencedError(this.#link.groupId, this.#options.instanceId)
      case 'SUSPENDED': {
        const { memberId } = this.#membership
        this.#lose()
        await this.#bell.unless(() => this.#isStopping, this.#leave(this.#options.requestTimeoutMs, memberId))
        // Whoever has the instance id by then is newer than this member, and must not be fenced by it: under its old id
        // it is told so, or that it is unknown.
        if (this.#options.instanceId !== null) this.#membership = { memberId, generationId: -1 }
        return
      }
      case 'STOPPED':
        return
    }
  }

  /** What the loop has to see to, the gravest first. */
  #due(): Turn | undefined {
    if (this.#isPlaceLost) return this.#verdict
    if (this.#isStopping) return 'STOPPED'
    if (this.#isSuspended) return 'SUSPENDED'
    return this.#isRejoinDue ? 'REBALANCE' : this.#verdict
  }

  async #turn(): Promise<Turn> {
    let turn: Turn | undefined
    await this.#bell.until(() => (turn = this.#due()) !== undefined)
    return turn as Turn
  }

  get #isPlaceLost(): boolean {
    return this.#verdict === 'LOST' || this.#verdict === 'FENCED'
  }

  /** Joins and syncs. Answers what is ours now; undefined when it has to be tried again, or not at all. */
  async #enter(): Promise<readonly TopicPartition[] | undefined> {
    this.#isEntering = true
    this.#verdict = undefined
    this.#isRejoinDue = false
    try {
      const wanted = await this.#joinAndSync()
      if (wanted === undefined) return undefined
      this.#failures = 0
      this.#expected.clear()
      this.#heartbeat.start()
      return wanted
    } catch (error) {
      if (this.#isStopping) return undefined
      // Bytes of a leader that make no sense are made anew in the next round.
      if (!mayPass(error) && !(error instanceof ConsumerProtocolError)) throw error
      this.#runtime.logger.warn({ err: error }, 'Joining the group failed; trying again')
      await this.#backOff()
      return undefined
    } finally {
      this.#isEntering = false
    }
  }

  async #joinAndSync(): Promise<readonly TopicPartition[] | undefined> {
    await this.#lookBack()
    if (this.#isStopping && this.#owned.size === 0) return undefined
    const joined = await this.#joinGroup()
    const given = joined === undefined ? undefined : await this.#syncGroup(joined)
    if (given === undefined) return undefined
    const strange = given.filter(({ topic }) => !this.#topics.has(topic))
    const former = this.#former
    this.#former = undefined
    this.#isPlaceOutdated =
      former !== undefined && (strange.length > 0 || former.symmetricDifference(this.#topics).size > 0)
    if (this.#isPlaceOutdated) return undefined
    if (strange.length > 0)
      this.#runtime.logger.error({ strange }, 'The leader gives partitions of topics that nobody here has asked for')
    return given.filter(({ topic }) => this.#topics.has(topic))
  }

  /** A static member without an id may be one that comes back: for which topics was its place given to it? */
  async #lookBack(): Promise<void> {
    const { instanceId, requestTimeoutMs } = this.#options
    if (instanceId === null || this.#membership.memberId !== '') return
    const former = await this.#orGiveUp(formerTopics(this.#link, instanceId, requestTimeoutMs))
    this.#former = former ?? this.#topics
  }

  async #joinGroup(): Promise<JoinGroupResponse | undefined> {
    const { topics, instanceId, sessionTimeoutMs, rebalanceTimeoutMs, assignment } = this.#options
    const sentAt = this.#runtime.clock.monotonic()
    const { memberId, generationId } = this.#membership
    const owned = [...this.#owned.values()]
    // A coordinator takes a member that says something else than before for one that has changed.
    const isNews = owned.length > 0 || this.#isPlaceOutdated
    const subscription = { topics, owned: groupByTopic(owned), generationId: isNews ? generationId : -1 }
    const joining = this.#link.send(
      'JOIN',
      'JoinGroup',
      {
        groupId: this.#link.groupId,
        sessionTimeoutMs,
        rebalanceTimeoutMs,
        memberId,
        groupInstanceId: instanceId,
        protocolType: 'consumer',
        protocols: [{ name: protocolNames[assignment], metadata: encodeSubscription(subscription) }],
        reason: '',
      },
      rebalanceTimeoutMs + joinGraceMs,
    )
    const joined = await this.#orGiveUp(joining)
    if (joined === undefined) return undefined
    if (joined.errorCode === errorCode.MEMBER_ID_REQUIRED) {
      this.#membership = { memberId: joined.memberId, generationId: -1 }
      await this.#backOffUnlessExpected(joined.errorCode)
      return undefined
    }
    if (joined.errorCode !== errorCode.NONE) {
      await this.#refused('JoinGroup', joined.errorCode)
      return undefined
    }
    this.#membership = { memberId: joined.memberId, generationId: joined.generationId }
    this.#heartbeat.proveAlive(sentAt)
    return joined
  }

  async #syncGroup(joined: JoinGroupResponse): Promise<readonly TopicPartition[] | undefined> {
    const isLeader = joined.leader === joined.memberId
    if (!isLeader) this.leader.resign()
    const assignments = isLeader ? await this.#orGiveUp(this.leader.assign(joined)) : []
    if (assignments === undefined) return undefined
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
    const synced = await this.#orGiveUp(syncing)
    if (synced === undefined) return undefined
    if (synced.errorCode !== errorCode.NONE) {
      await this.#refused('SyncGroup', synced.errorCode)
      return undefined
    }
    this.#heartbeat.proveAlive(sentAt)
    return eachPartition(decodeAssignment(synced.assignment))
  }

  async #refused(api: 'JoinGroup' | 'SyncGroup', code: number): Promise<void> {
    switch (code) {
      case errorCode.REBALANCE_IN_PROGRESS:
        // The next round has begun without waiting for this one.
        return this.#backOffUnlessExpected(code)
      case errorCode.UNKNOWN_MEMBER_ID:
      case errorCode.ILLEGAL_GENERATION:
        // The group has gone on without us, and what we owned may have been given away.
        this.#lose()
        return this.#backOff()
      case errorCode.FENCED_INSTANCE_ID:
        throw fencedError(this.#link.groupId, this.#options.instanceId)
      default:
        if (!this.#link.hasMoved(code)) throw kafkaError(`${api} for group ${this.#link.groupId}`, code)
        return this.#backOff()
    }
  }

  /** Gives back what is gone, then takes what is new. True when something was given back. */
  async #carryOut(wanted: readonly TopicPartition[]): Promise<boolean> {
    const wantedNames = new Set(wanted.map(partitionName))
    const gone = [...this.#owned.values()].filter((partition) => !wantedNames.has(partitionName(partition)))
    await this.#revoke(this.#drainMs, gone)
    const added = wanted.filter((partition) => !this.#owned.has(partitionName(partition)))
    if (added.length > 0) {
      for (const partition of added) this.#owned.set(partitionName(partition), partition)
      this.#listener.assigned(added)
    }
    return gone.length > 0
  }

  async #revoke(deadlineMs: number, partitions: readonly TopicPartition[] = [...this.#owned.values()]): Promise<void> {
    if (partitions.length === 0) return
    const leftMs = Math.max(0, deadlineMs)
    let isLate = false
    using _ = this.#runtime.timers.schedule(leftMs, () => {
      isLate = true
      this.#bell.ring()
    })
    const isDone = await this.#bell.unless(
      () => isLate || this.#isDrainCut || this.#isPlaceLost,
      this.#drain(partitions, leftMs),
    )
    for (const partition of partitions) this.#owned.delete(partitionName(partition))
    if (isDone !== true) this.#tellLost(partitions)
  }

  /** True when it is over, however: the partitions go either way. */
  async #drain(partitions: readonly TopicPartition[], deadlineMs: number): Promise<true> {
    try {
      await this.#listener.revoking(partitions, deadlineMs)
    } catch (error) {
      this.#runtime.logger.error({ err: error }, 'Giving partitions back failed; they go unsettled')
    }
    return true
  }

  /** The place is gone, and all it owned with it. */
  #lose(): void {
    const partitions = [...this.#owned.values()]
    this.#owned.clear()
    this.#membership = noMembership
    if (partitions.length > 0) this.#tellLost(partitions)
  }

  #tellLost(partitions: readonly TopicPartition[]): void {
    try {
      this.#listener.lost(partitions)
    } catch (error) {
      this.#runtime.logger.error({ err: error }, 'Being told of lost partitions failed; they are lost all the same')
    }
  }

  async #leave(timeoutMs: number, memberId: string = this.#membership.memberId): Promise<void> {
    if (memberId === '' || timeoutMs <= 0) return
    const { groupId } = this.#link
    const members = [{ memberId, groupInstanceId: this.#options.instanceId, reason: 'the member stops' }]
    try {
      await this.#link.send('BEAT', 'LeaveGroup', { groupId, members }, timeoutMs)
    } catch (error) {
      this.#runtime.logger.warn({ err: error }, 'Leaving the group failed; the session will end by itself')
    }
  }

  get #drainMs(): number {
    return Math.min(this.#options.drainDeadlineMs, 0.6 * this.#options.rebalanceTimeoutMs)
  }

  /** The first answer of its kind is part of the protocol. A coordinator that goes on with it is not to be stormed. */
  async #backOffUnlessExpected(code: number): Promise<void> {
    if (this.#expected.has(code)) return this.#backOff()
    this.#expected.add(code)
  }

  /** Long enough not to storm a coordinator that has just moved. */
  async #backOff(): Promise<void> {
    const { timers, random } = this.#runtime
    const stopped = new AbortController()
    await this.#bell.unless(() => this.#isStopping, timers.sleep(retryWaitMs(++this.#failures, random), stopped.signal))
    stopped.abort()
  }

  #after(ms: number, signal: AbortSignal, change: () => void): void {
    const changeAndWake = (): void => {
      change()
      this.#bell.ring()
    }
    this.#runtime.timers.sleep(ms, signal).then(changeAndWake, () => {})
  }

  #orGiveUp<T>(work: Promise<T>): Promise<T | undefined> {
    return this.#bell.unless(() => this.#isStopping && (this.#owned.size === 0 || this.#isEnteringCut), work)
  }
}
