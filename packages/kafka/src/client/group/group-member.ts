/**
 * A member of a consumer group, classic protocol. Only this one loop ever joins:
 *
 *            ┌───────────── membership lost: `lost`, join as a new member ─────────┐
 *            ▼                                                                     │
 *        ENTERING ── JoinGroup, SyncGroup ──▶ revoke what is gone ──▶ assign ──▶ STABLE
 *            ▲                                        │ (cooperative: again)       │
 *            └────────────────────────────────────────┴── REBALANCE ───────────────┤
 *                                                         (eager: revoke all first) │
 *        stop: revoke, leave      SUSPENDED: lost, leave, wait for resume ◀────────┘
 *        fenced or refused: `lost`, then `failed`, and the loop ends
 *
 * Partitions are released only after `revoking` has settled, its deadline has passed, or the membership is lost.
 * Heartbeats continue meanwhile, so that the drain does not cost the session. Heartbeat verdicts are ignored while
 * ENTERING, because the pending JoinGroup gives a better answer. At any other time a verdict is kept until the loop
 * reads it.
 *
 * A stop during ENTERING with owned partitions lets that attempt finish, within half of the time before LeaveGroup: the
 * coordinator accepts no commit between two generations, and handled records would be delivered again.
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
import { leaveGroup } from './leave-group.ts'
import { type Membership, noMembership } from './membership.ts'
import type { MembershipListener } from './membership-listener.ts'

/** Resolved options of a member. */
export interface GroupMemberOptions extends GroupEntryOptions {
  readonly heartbeatIntervalMs: number
  /** Longest drain, capped at 0.6 of the rebalance timeout, which leaves time to commit and rejoin. */
  readonly drainDeadlineMs: number
}

/** Share of the stop deadline reserved for LeaveGroup, even if a handler uses up the rest. */
const leaveShare = 0.1
const leaveMostMs = 1_000

type Deps = Pick<Runtime, 'clock' | 'timers' | 'random' | 'logger'>

/** The reason why a generation ends. */
type Turn = Verdict | 'SUSPENDED' | 'STOPPED'

/** One group member. Call `start` once and `stop` once. */
export class GroupMember implements HeartbeatOwner, GroupEntrant {
  readonly #link: CoordinatorLink
  readonly #runtime: Deps
  readonly #options: GroupMemberOptions
  readonly #listener: MembershipListener
  readonly #heartbeat: Heartbeat
  readonly #entry: GroupEntry
  readonly #owned = new Map<string, TopicPartition>()
  readonly #changes = new ChangeSignal()
  /** The leader role of this member. */
  readonly leader: GroupLeader
  #membership: Membership = noMembership
  #isEntering = false
  #verdict: Verdict | undefined
  #isRejoinDue = false
  #isSuspended = false
  #isStopping = false
  /** True once a stop no longer waits for the attempt to join. */
  #isEnteringCut = false
  /** True once a stop no longer waits for a drain. */
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

  /** The membership that a commit or a transaction must carry now. */
  get membership(): Membership {
    return this.#membership
  }

  /** False while the session may have expired: then no record is handed out and nothing is committed. */
  get isSessionAlive(): boolean {
    return this.#membership.generationId >= 0 && this.#heartbeat.isSessionAlive
  }

  get owned(): readonly TopicPartition[] {
    return [...this.#owned.values()]
  }

  /** True when a stopping member has nothing left to release, or its time to join is over. */
  get hasGivenUp(): boolean {
    return this.#isStopping && (this.#owned.size === 0 || this.#isEnteringCut)
  }

  start(): void {
    this.#running = this.#run()
  }

  /** Joins again, because there are unassigned partitions. Does nothing while joining, which assigns them anyway. */
  rejoin(): void {
    if (this.#isEntering) return
    this.#isRejoinDue = true
    this.#changes.notify()
  }

  /** Leaves the group without a drain until `resume`, because the application has stopped polling. */
  suspend(): void {
    this.#isSuspended = true
    this.#changes.notify()
  }

  resume(): void {
    this.#isSuspended = false
    this.#changes.notify()
  }

  /**
   * Drains, releases every partition, and leaves the group if `leave` is set, all by the deadline. Never rejects: if
   * the coordinator cannot be reached, the session timeout has the same effect.
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
   * Resolves true once a heartbeat sent after this call is acknowledged. Resolves false when the membership is lost, or
   * when no heartbeat is acknowledged for a session timeout.
   */
  async confirm(): Promise<boolean> {
    const { clock, timers, random } = this.#runtime
    const endAt = clock.monotonic() + this.#options.sessionTimeoutMs
    for (let failures = 1; !this.#isStopping && clock.monotonic() < endAt; failures++) {
      const wasEntering = this.#isEntering
      const answer = await this.#heartbeat.beat()
      if (answer === 'ALIVE' || answer === 'REBALANCE') return true
      // While joining, the old generation is over and the new one unknown: that is not a loss.
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
    const hasReleased = await this.#carryOut(wanted)
    // Another member waits for the released partitions, and gets them when all members have joined again.
    await this.#endGeneration(hasReleased ? (this.#due() ?? 'REBALANCE') : await this.#turn())
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
        // Another process may hold the instance id by then and must not be fenced. Rejoining under the old member id
        // gets this member fenced, or reported as unknown, instead.
        if (this.#options.instanceId !== null) this.#membership = { memberId, generationId: -1 }
        return
      }
      case 'STOPPED':
        return
    }
  }

  /** Returns the pending reason to end the generation, the most severe first. */
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

  /**
   * Joins the next generation. Returns the partitions assigned in it; undefined when the loop must try again or stop.
   */
  async #enter(): Promise<readonly TopicPartition[] | undefined> {
    this.#isEntering = true
    this.#verdict = undefined
    this.#isRejoinDue = false
    try {
      return await this.#attempt()
    } catch (error) {
      if (this.#isStopping) return undefined
      this.#listener.rebalanced({ outcome: 'FAILED', why: (error as Error).message })
      // The leader creates a new assignment in the next rebalance.
      if (!mayPass(error) && !(error instanceof ConsumerProtocolError)) throw error
      this.#runtime.logger.warn({ err: error }, 'Group join failed, retrying')
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
        this.#listener.rebalanced({ outcome: 'COMPLETED', generation: this.#membership.generationId })
        return entry.partitions
      case 'LOST':
        this.#listener.rebalanced({ outcome: 'FAILED', why: 'the group rebalanced without this member' })
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

  /** Releases revoked partitions, then takes the new ones. Returns true if it released any. */
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
    if (isDone !== true) this.#notifyLost(partitions)
  }

  /** Resolves true when the listener has settled, even if it failed: the partitions are released either way. */
  async #drain(partitions: readonly TopicPartition[], deadlineMs: number): Promise<true> {
    try {
      await this.#listener.revoking(partitions, deadlineMs)
    } catch (error) {
      this.#runtime.logger.error({ err: error }, 'Revocation callback failed, partitions released')
    }
    return true
  }

  /** Drops the membership and every partition it owned. */
  #lose(): void {
    const partitions = this.owned
    this.#owned.clear()
    this.#membership = noMembership
    if (partitions.length > 0) this.#notifyLost(partitions)
  }

  #notifyLost(partitions: readonly TopicPartition[]): void {
    try {
      this.#listener.lost(partitions)
    } catch (error) {
      this.#runtime.logger.error({ err: error }, 'Loss callback failed, partitions lost')
    }
  }

  #leave(timeoutMs: number, memberId: string = this.#membership.memberId): Promise<void> {
    const { instanceId } = this.#options
    const { unanswered } = this.#entry
    return leaveGroup(this.#link, this.#runtime, { memberId, instanceId, unanswered }, timeoutMs)
  }

  get #drainMs(): number {
    return Math.min(this.#options.drainDeadlineMs, 0.6 * this.#options.rebalanceTimeoutMs)
  }

  /** Backs off so as not to overload a coordinator that has just moved. */
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
    this.#runtime.timers.sleep(ms, signal).then(changeAndWake, () => {}) // Rejects only when the signal aborts.
  }
}
