/**
 * Keeps a member's session alive, and knows for how long it surely is.
 *
 * Beats go on through everything: while handlers run, while partitions drain, while JoinGroup waits for the others. An
 * answer counts only for the place it was asked for: one that comes after the next generation has begun says nothing.
 */

import type { Runtime } from '@waybill/core'
import { errorCode } from '../../wire/api/error-codes.ts'
import { KafkaError } from '../cluster/kafka-error.ts'
import type { CoordinatorLink } from './coordinator-link.ts'
import type { Membership } from './membership.ts'

/** Why a generation is over: the others join again, the place is lost, somebody else has our instance id. */
export type Verdict = 'REBALANCE' | 'LOST' | 'FENCED'

/** What a beat answers. OUTDATED: it was asked for a place that has been given up meanwhile. */
export type BeatAnswer = 'ALIVE' | 'NO_ANSWER' | 'OUTDATED' | Verdict

/** What the heart needs to know. */
export interface HeartbeatOptions {
  readonly heartbeatIntervalMs: number
  readonly sessionTimeoutMs: number
  readonly instanceId: string | null
}

/** Whom the heart belongs to. */
export interface HeartbeatOwner {
  readonly membership: Membership
  /** The generation is over. Told again with every beat. */
  verdict(verdict: Verdict): void
  /** The session was in doubt and is alive again. */
  revived(): void
}

type Deps = Pick<Runtime, 'clock' | 'timers'>

/** A beat that got no answer is not worth a whole interval's wait. */
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

  /** The coordinator has answered something only a member is answered. `at` is when that was asked. */
  proveAlive(at: number): void {
    const wasAlive = this.isSessionAlive
    this.#aliveAt = Math.max(this.#aliveAt, at)
    if (!wasAlive && this.isSessionAlive) this.#owner.revived()
  }

  /**
   * False once the session may have ended: counted from when the last acknowledged request was sent, since the
   * coordinator counts from when it arrived. Then nothing is handed out and nothing committed (self-fencing).
   */
  get isSessionAlive(): boolean {
    return this.#runtime.clock.monotonic() - this.#aliveAt < this.#options.sessionTimeoutMs
  }

  /** Starts beating. Does nothing when it already does. */
  start(): void {
    if (this.#isBeating) return
    this.#isBeating = true
    this.#arm(this.#options.heartbeatIntervalMs)
  }

  stop(): void {
    this.#isBeating = false
    this.#timer?.[Symbol.dispose]()
  }

  /** Beats once, now. Rejects for nothing the coordinator or the network can do. */
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
      // A third of the session: one that is lost on its way must leave time for another.
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
