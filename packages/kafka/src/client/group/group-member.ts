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
 *
 * A stop that comes while ENTERING with partitions in hand lets that finish, within half of its time: between two
 * generations no commit is taken, and what was handled would be handled again.
 */

import { type Runtime, UnreachableError } from '@waybill/core'
import { ConsumerProtocolError } from '../../wire/api/consumer-protocol.ts'
import type { Cluster } from '../cluster/cluster.ts'
import { mayPass } from '../cluster/kafka-error.ts'
import { partitionName } from '../cluster/partition-name.ts'
import { retryWaitMs } from '../cluster/retry-backoff.ts'
import type { TopicPartition } from '../cluster/topic-partition.ts'
import { ChangeSignal } from './change-signal.ts'
import type { CoordinatorLink } from './coordinator-link.ts'
import { fencedError } from './fenced-error.ts'
import { type GroupEntrant, GroupEntry, type GroupEntryOptions } from './group-entry.ts'
import { GroupLeader } from './group-leader.ts'
import { Heartbeat, type HeartbeatOwner, type Verdict } from './heartbeat.ts'
import { type Membership, noMembership } from './membership.ts'
import type { MembershipListener } from './membership-listener.ts'

/** Resolved options of a member. */
export interface GroupMemberOptions extends GroupEntryOptions {
  readonly heartbeatIntervalMs: number
  /** Longest drain; never more than 0.6 of the rebalance timeout, so that the others need not wait for nothing. */
  readonly drainDeadlineMs: number
}

/** Of the time a stop has: the leaving must still fit in when a handler has used up the rest. */
const leaveShare = 0.1
const leaveMostMs = 1_000

type Deps = Pick<Runtime, 'clock' | 'timers' | 'random' | 'logger'>

/** What ends a generation. */
type Turn = Verdict | 'SUSPENDED' | 'STOPPED'

/** One member. `start` once, `stop` once. */
export class GroupMember implements HeartbeatOwner, GroupEntrant {
  readonly #link: CoordinatorLink
  readonly #runtime: Deps
  readonly #options: GroupMemberOptions
  readonly #listener: MembershipListener
  readonly #heartbeat: Heartbeat
  readonly #entry: GroupEntry
  readonly #owned = new Map<string, TopicPartition>()
  readonly #changes = new ChangeSignal()
  /** What this member does when it leads. */
  readonly leader: GroupLeader
  #membership: Membership = noMembership
  #isEntering = false
  #verdict: Verdict | undefined
  #isRejoinDue = false
  #isSuspended = false
  #isStopping = false
  /** A stop waits no longer for the generation that is being entered. */
  #isEnteringCut = false
  /** A stop waits no longer for a drain. */
  #isDrainCut = false
  #failures = 0
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
    this.#listener = listener
    this.#heartbeat = new Heartbeat(link, runtime, options, this)
    this.leader = new GroupLeader(link, cluster, runtime.logger, options)
    this.#entry = new GroupEntry(link, this.leader, runtime, options, this)
  }

  /** What a commit or a transaction must carry at this moment. */
  get membership(): Membership {
    return this.#membership
  }

  /** False while the session may have ended: hand out nothing, commit nothing. */
  get isSessionAlive(): boolean {
    return this.#membership.generationId >= 0 && this.#heartbeat.isSessionAlive
  }

  get owned(): readonly TopicPartition[] {
    return [...this.#owned.values()]
  }

  /** Who stops with nothing in hand enters nothing any more. */
  get hasGivenUp(): boolean {
    return this.#isStopping && (this.#owned.size === 0 || this.#isEnteringCut)
  }

  start(): void {
    this.#running = this.#run()
  }

  /** Joins again: there are partitions that nobody has. Whoever is joining anyway shares them out by that. */
  rejoin(): void {
    if (this.#isEntering) return
    this.#isRejoinDue = true
    this.#changes.notify()
  }

  /** Gives its place up without a drain, and joins again after `resume`: nobody has asked for records for too long. */
  suspend(): void {
    this.#isSuspended = true
    this.#changes.notify()
  }

  resume(): void {
    this.#isSuspended = false
    this.#changes.notify()
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
    this.#changes.notify()
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
    this.#changes.notify()
  }

  revived(): void {
    this.#listener.revived()
  }

  placed(membership: Membership): void {
    this.#membership = membership
  }

  proveAlive(at: number): void {
    this.#heartbeat.proveAlive(at)
  }

  orGiveUp<T>(work: Promise<T>): Promise<T | undefined> {
    return this.#changes.unless(() => this.hasGivenUp, work)
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
    await this.#changes.until(() => !this.#isSuspended || this.#isStopping)
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
        await this.#changes.unless(() => this.#isStopping, this.#leave(this.#options.requestTimeoutMs, memberId))
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
    await this.#changes.until(() => (turn = this.#due()) !== undefined)
    return turn as Turn
  }

  get #isPlaceLost(): boolean {
    return this.#verdict === 'LOST' || this.#verdict === 'FENCED'
  }

  /** Enters the next generation. Answers what is ours in it; undefined when it has to be tried again, or not at all. */
  async #enter(): Promise<readonly TopicPartition[] | undefined> {
    this.#isEntering = true
    this.#verdict = undefined
    this.#isRejoinDue = false
    try {
      return await this.#attempt()
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

  async #attempt(): Promise<readonly TopicPartition[] | undefined> {
    const entry = await this.#entry.attempt()
    switch (entry.outcome) {
      case 'ENTERED':
        this.#failures = 0
        this.#heartbeat.start()
        return entry.partitions
      case 'LOST':
        this.#lose()
        await this.#backOff()
        return undefined
      case 'LATER':
        await this.#backOff()
        return undefined
      case 'AGAIN':
      case 'GIVEN_UP':
        return undefined
      default:
        throw new UnreachableError(entry)
    }
  }

  /** Gives back what is gone, then takes what is new. True when something was given back. */
  async #carryOut(wanted: readonly TopicPartition[]): Promise<boolean> {
    const wantedNames = new Set(wanted.map(partitionName))
    const gone = this.owned.filter((partition) => !wantedNames.has(partitionName(partition)))
    await this.#revoke(this.#drainMs, gone)
    const added = wanted.filter((partition) => !this.#owned.has(partitionName(partition)))
    if (added.length > 0) {
      for (const partition of added) this.#owned.set(partitionName(partition), partition)
      this.#listener.assigned(added)
    }
    return gone.length > 0
  }

  async #revoke(deadlineMs: number, partitions: readonly TopicPartition[] = this.owned): Promise<void> {
    if (partitions.length === 0) return
    const leftMs = Math.max(0, deadlineMs)
    let isLate = false
    using _ = this.#runtime.timers.schedule(leftMs, () => {
      isLate = true
      this.#changes.notify()
    })
    const isDone = await this.#changes.unless(
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
    const partitions = this.owned
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

  /** Long enough not to storm a coordinator that has just moved. */
  async #backOff(): Promise<void> {
    const { timers, random } = this.#runtime
    const stopped = new AbortController()
    await this.#changes.unless(
      () => this.#isStopping,
      timers.sleep(retryWaitMs(++this.#failures, random), stopped.signal),
    )
    stopped.abort()
  }

  #after(ms: number, signal: AbortSignal, change: () => void): void {
    const changeAndWake = (): void => {
      change()
      this.#changes.notify()
    }
    this.#runtime.timers.sleep(ms, signal).then(changeAndWake, () => {})
  }
}
