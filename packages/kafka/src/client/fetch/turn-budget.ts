import type { Timers } from '@waybill/core'

/**
 * The most bytes that one turn of the event loop decompresses: some 15 ms of gzip. Polls that find records resolve
 * without a turn of their own, so a chain of them could hold the event loop for as long as there are batches.
 */
const turnBytes = 4 * 1024 * 1024

/** Spreads decompression over turns of the event loop. */
export class TurnBudget {
  readonly #timers: Timers
  readonly #renewed: () => void
  #spent = 0
  #next: PromiseWithResolvers<void> | undefined

  /** @param renewed - called in a new turn, after the budget of the one before was spent */
  constructor(timers: Timers, renewed: () => void) {
    this.#timers = timers
    this.#renewed = renewed
  }

  /** True when nothing more may be decompressed in this turn. */
  get isSpent(): boolean {
    return this.#spent >= turnBytes
  }

  /** Counts decompressed bytes. */
  spend(bytes: number): void {
    this.#spent += bytes
    if (!this.isSpent || this.#next !== undefined) return
    const next = Promise.withResolvers<void>()
    this.#next = next
    this.#timers.schedule(0, () => {
      this.#next = undefined
      this.renew()
      next.resolve()
      this.#renewed()
    })
  }

  /** Counts decompressed bytes, and resolves in another turn in which more may be decompressed. */
  async breathe(bytes: number): Promise<void> {
    this.spend(Math.max(bytes, turnBytes))
    while (this.isSpent) await this.#next?.promise
  }

  /** Begins anew: this is known to be another turn. */
  renew(): void {
    this.#spent = 0
  }
}
