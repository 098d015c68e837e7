/**
 * Keeps a member's session alive, and knows until when it is certainly alive.
 *
 * Heartbeats continue while handlers run, while partitions drain, and while JoinGroup waits for the other members. A
 * response counts only for the membership it was sent under: one that arrives after the next generation has begun is
 * ignored.
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

/** The heartbeat of one member. */
export class Heartbeat {
  readonly #link: CoordinatorLink
  readonly #runtime: Deps
  readonly #options: HeartbeatOptions
  readonly #owner: HeartbeatOwner
  #aliveAt = Number.NEGATIVE_INFINITY
  #timer: Disposable | undefined
  #isBeating = false

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

  /** Starts sending heartbeats. Does nothing if already started. */
  start(): void {
    if (this.#isBeating) return
    this.#isBeating = true
    this.#arm(this.#options.heartbeatIntervalMs)
  }

  stop(): void {
    this.#isBeating = false
    this.#timer?.[Symbol.dispose]()
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
    this.#timer = this.#runtime.timers.schedule(ms, () => {
      void this.#beatAndArm()
    })
  }

  async #beatAndArm(): Promise<void> {
    const answer = await this.beat()
    if (!this.#isBeating) return
    const { heartbeatIntervalMs } = this.#options
    this.#arm(answer === 'NO_ANSWER' ? Math.min(repeatMs, heartbeatIntervalMs) : heartbeatIntervalMs)
    if (answer === 'REBALANCE' || answer === 'LOST' || answer === 'FENCED') this.#owner.verdict(answer)
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
