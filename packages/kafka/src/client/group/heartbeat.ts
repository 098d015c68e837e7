/**
 * Keeps a member's session alive, and knows until when it is certainly alive.
 *
 * Heartbeats continue while handlers run, while partitions drain, and while JoinGroup waits for the other members. A
 * response counts only for the membership it was sent under: one that arrives after the next generation has begun is
 * ignored.
 *
 * The heartbeats of a generation, in milliseconds after it began, with an interval of 10 s:
 *
 *     EAGER        10,000  20,000  30,000 …
 *     COOPERATIVE     125     375     875   1,875   3,875   7,875  15,875  25,875 …
 *
 * A cooperative move takes two generations. In the first the old owner releases the partition and joins again at once;
 * the other members, including the new owner, learn only from a heartbeat that they must follow, and until then the
 * partition has no owner. A member does not know whether anything moves, so it hurries after every generation. Doubling
 * limits the cost to a few heartbeats a generation, and keeps a partition that took long to drain without an owner for
 * no longer than the drain took.
 */

import type { Runtime } from '@waybill/core'
import { errorCode } from '../../wire/api/error-codes.ts'
import { KafkaError } from '../cluster/kafka-error.ts'
import type { CoordinatorLink } from './coordinator-link.ts'
import type { Membership } from './membership.ts'

/**
 * The reason why a generation is over: a rebalance started, the membership is lost, or another process holds the
 * instance id.
 */
export type Verdict = 'REBALANCE' | 'LOST' | 'FENCED'

/** The result of a heartbeat. OUTDATED: the membership has changed since it was sent. */
export type BeatAnswer = 'ALIVE' | 'NO_ANSWER' | 'OUTDATED' | Verdict

/** Options of a heartbeat. */
export interface HeartbeatOptions {
  readonly heartbeatIntervalMs: number
  readonly sessionTimeoutMs: number
  readonly instanceId: string | null
  readonly assignment: 'COOPERATIVE' | 'EAGER'
}

/** The member whose session a heartbeat keeps alive. */
export interface HeartbeatOwner {
  readonly membership: Membership
  /** Called with every heartbeat while the generation is over. */
  verdict(verdict: Verdict): void
  /** Called when the session may have expired and is confirmed alive. */
  revived(): void
}

type Deps = Pick<Runtime, 'clock' | 'timers'>

/** Wait after a heartbeat without a response: shorter than the interval. */
const repeatMs = 500

/** Wait until the first heartbeat of a cooperative generation; each one after it waits twice as long. */
const hurriedMs = 125

/** The heartbeat of one member. */
export class Heartbeat {
  readonly #link: CoordinatorLink
  readonly #runtime: Deps
  readonly #options: HeartbeatOptions
  readonly #owner: HeartbeatOwner
  #aliveAt = Number.NEGATIVE_INFINITY
  #timer: Disposable | undefined
  /** The wait that the next heartbeat of this generation ends; one without a response repeats it sooner. */
  #waitMs = 0

  constructor(link: CoordinatorLink, runtime: Deps, options: HeartbeatOptions, owner: HeartbeatOwner) {
    this.#link = link
    this.#runtime = runtime
    this.#options = options
    this.#owner = owner
  }

  /** Records that the coordinator accepted a request of a live member. `at` is when the request was sent. */
  proveAlive(at: number): void {
    const wasAlive = this.isSessionAlive
    this.#aliveAt = Math.max(this.#aliveAt, at)
    if (!wasAlive && this.isSessionAlive) this.#owner.revived()
  }

  /**
   * False once the session may have expired. Counted from when the last acknowledged request was sent, since the
   * coordinator counts from when it arrived. Then no record is handed out and nothing is committed (self-fencing).
   */
  get isSessionAlive(): boolean {
    return this.#runtime.clock.monotonic() - this.#aliveAt < this.#options.sessionTimeoutMs
  }

  /** Starts the heartbeats of a generation, in place of those of the generation before. */
  start(): void {
    const { assignment, heartbeatIntervalMs } = this.#options
    this.#waitMs = assignment === 'COOPERATIVE' ? Math.min(hurriedMs, heartbeatIntervalMs) : heartbeatIntervalMs
    this.#arm(this.#waitMs)
  }

  stop(): void {
    this.#timer?.[Symbol.dispose]()
    this.#timer = undefined
  }

  /** Sends one heartbeat now. Never rejects because of the coordinator or the network. */
  async beat(): Promise<BeatAnswer> {
    const sentAt = this.#runtime.clock.monotonic()
    const { membership } = this.#owner
    if (membership.generationId < 0) return 'NO_ANSWER'
    const answer = await this.#ask(membership)
    if (this.#owner.membership !== membership) return 'OUTDATED'
    if (answer === 'ALIVE' || answer === 'REBALANCE') this.proveAlive(sentAt)
    return answer
  }

  #arm(ms: number): void {
    this.#timer?.[Symbol.dispose]()
    const timer = this.#runtime.timers.schedule(ms, () => void this.#beatOf(timer))
    this.#timer = timer
  }

  async #beatOf(timer: Disposable): Promise<void> {
    const answer = await this.beat()
    if (this.#timer === undefined) return
    // Otherwise the next generation has begun and has armed its own heartbeat.
    if (this.#timer === timer) this.#armNext(answer)
    if (answer === 'REBALANCE' || answer === 'LOST' || answer === 'FENCED') this.#owner.verdict(answer)
  }

  #armNext(answer: BeatAnswer): void {
    this.#waitMs = Math.min(2 * this.#waitMs, this.#options.heartbeatIntervalMs)
    this.#arm(answer === 'NO_ANSWER' ? Math.min(repeatMs, this.#waitMs) : this.#waitMs)
  }

  async #ask({ memberId, generationId }: Membership): Promise<BeatAnswer> {
    const { groupId } = this.#link
    const request = { groupId, generationId, memberId, groupInstanceId: this.#options.instanceId }
    try {
      // A third of the session timeout, so that a lost heartbeat leaves time for another.
      const answer = await this.#link.send('BEAT', 'Heartbeat', request, this.#options.sessionTimeoutMs / 3)
      return this.#read(answer.errorCode)
    } catch (error) {
      if (error instanceof KafkaError) return 'NO_ANSWER'
      throw error
    }
  }

  #read(code: number): BeatAnswer {
    switch (code) {
      case errorCode.NONE:
        return 'ALIVE'
      case errorCode.REBALANCE_IN_PROGRESS:
        return 'REBALANCE'
      case errorCode.ILLEGAL_GENERATION:
      case errorCode.UNKNOWN_MEMBER_ID:
        return 'LOST'
      case errorCode.FENCED_INSTANCE_ID:
        return 'FENCED'
      default:
        this.#link.hasMoved(code)
        return 'NO_ANSWER'
    }
  }
}
