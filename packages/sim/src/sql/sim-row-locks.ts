import type { Runtime } from '@waybill/core'
import { type RowRef, RowsLockedError } from '@waybill/outbox/internal'

/** How long a statement waits for a locked row before it gives up. */
const lockTimeoutMs = 200
/** How often a statement that waits checks the locks. */
const checkEveryMs = 25

/** Locks of single rows, held by transactions that are not simulated: a report, a migration, a forgotten session. */
export class SimRowLocks {
  readonly #timers: Runtime['timers']
  /** The number of locks of each row. */
  readonly #held = new Map<bigint, number>()

  constructor({ timers }: Pick<Runtime, 'timers'>) {
    this.#timers = timers
  }

  isLocked(seq: bigint): boolean {
    return this.#held.has(seq)
  }

  /** Locks rows until it is disposed. */
  lock(seqs: readonly bigint[]): Disposable {
    for (const seq of seqs) this.#held.set(seq, (this.#held.get(seq) ?? 0) + 1)
    let isHeld = true
    return {
      [Symbol.dispose]: () => {
        if (isHeld) for (const seq of seqs) this.#release(seq)
        isHeld = false
      },
    }
  }

  /**
   * Waits until none of the rows is locked.
   *
   * @throws RowsLockedError after a while, as real stores do
   */
  async pass(rows: readonly RowRef[]): Promise<void> {
    for (let waitedMs = 0; rows.some(({ seq }) => this.isLocked(seq)); waitedMs += checkEveryMs) {
      if (waitedMs >= lockTimeoutMs) throw new RowsLockedError(undefined)
      await this.#timers.sleep(checkEveryMs)
    }
  }

  #release(seq: bigint): void {
    const left = (this.#held.get(seq) ?? 1) - 1
    if (left === 0) this.#held.delete(seq)
    else this.#held.set(seq, left)
  }
}
