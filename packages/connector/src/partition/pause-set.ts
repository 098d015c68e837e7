import type { PauseReason } from '../api/pause-reason.ts'

/** Reasons that keep handlers from starting. The others only stop fetching. */
const halting: ReadonlySet<PauseReason> = new Set([
  'OPERATOR',
  'BREAKER',
  'DEAD_LETTER_FAILURE',
  'EXHAUSTED',
  'SHUTDOWN',
])

/** A set of pause reasons: paused if and only if it is not empty (I15). */
export class PauseSet {
  readonly #reasons = new Set<PauseReason>()
  readonly #apply: (isPaused: boolean) => void
  #halts = 0

  /** @param apply - called on each change from empty to not empty, and back */
  constructor(apply: (isPaused: boolean) => void) {
    this.#apply = apply
  }

  get isPaused(): boolean {
    return this.#reasons.size > 0
  }

  /** True while no handler may start. */
  get isHalted(): boolean {
    return this.#halts > 0
  }

  get reasons(): readonly PauseReason[] {
    return [...this.#reasons]
  }

  has(reason: PauseReason): boolean {
    return this.#reasons.has(reason)
  }

  add(reason: PauseReason): void {
    if (this.#reasons.has(reason)) return
    this.#reasons.add(reason)
    if (halting.has(reason)) this.#halts++
    if (this.#reasons.size === 1) this.#apply(true)
  }

  /** Returns true if the reason was in the set. */
  remove(reason: PauseReason): boolean {
    if (!this.#reasons.delete(reason)) return false
    if (halting.has(reason)) this.#halts--
    if (this.#reasons.size === 0) this.#apply(false)
    return true
  }
}
