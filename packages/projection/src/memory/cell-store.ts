/** Called at each step of a store: it may wait, or throw as a database that fails there. */
export type Pause = (step: string) => Promise<void>

/** A transaction on cells. */
export interface CellTransaction {
  /** Waits until no other transaction has the lock in a conflicting mode. */
  lock(name: string, mode: 'SHARED' | 'EXCLUSIVE'): Promise<void>
  /** Returns its own value of a cell, or the committed one. */
  get(name: string): unknown
  set(name: string, value: unknown): void
  /** Returns the values of all cells that begin so, its own included. */
  under(prefix: string): readonly unknown[]
  /** Makes its values the committed ones. */
  commit(): void
  /** Releases its locks, and drops its values unless they are committed. */
  end(): void
}

type LockMode = 'SHARED' | 'EXCLUSIVE'

interface CellLock {
  readonly holders: Map<CellTransaction, LockMode>
  /** Requests in their order. */
  readonly waiting: { readonly transaction: CellTransaction; readonly mode: LockMode; readonly grant: () => void }[]
}

/**
 * Named values with transactions at READ COMMITTED, as databases have them: readers see committed values and wait for no
 * lock; writers wait for each other cell by cell. There is no deadlock detection, so that a deadlock shows as a hang.
 */
export class CellStore {
  readonly #values = new Map<string, unknown>()
  readonly #locks = new Map<string, CellLock>()

  committed(name: string): unknown {
    return this.#values.get(name)
  }

  /** Returns the names and values of committed cells that begin so, in order of their names. */
  committedUnder(prefix: string): readonly (readonly [name: string, value: unknown])[] {
    const found = [...this.#values].filter(([name]) => name.startsWith(prefix))
    return found.toSorted(([one], [other]) => (one < other ? -1 : 1))
  }

  /** Deletes committed cells without a transaction. */
  deleteUnder(prefix: string): void {
    for (const [name] of this.committedUnder(prefix)) this.#values.delete(name)
  }

  begin(pause: Pause): CellTransaction {
    const own = new Map<string, unknown>()
    const held = new Set<string>()
    const transaction: CellTransaction = {
      lock: async (name, mode) => {
        held.add(name)
        await this.#lock(transaction, name, mode)
        await pause(`locked ${name}`)
      },
      get: (name) => (own.has(name) ? own.get(name) : this.#values.get(name)),
      set: (name, value) => void own.set(name, value),
      under: (prefix) => {
        const all = new Map(this.committedUnder(prefix))
        for (const [name, value] of own) if (name.startsWith(prefix)) all.set(name, value)
        return [...all.values()].filter((value) => value !== undefined)
      },
      commit: () => {
        for (const [name, value] of own) {
          if (value === undefined) this.#values.delete(name)
          else this.#values.set(name, value)
        }
      },
      end: () => {
        for (const name of held) this.#release(transaction, name)
      },
    }
    return transaction
  }

  async #lock(transaction: CellTransaction, name: string, mode: LockMode): Promise<void> {
    const lock: CellLock = this.#locks.get(name) ?? { holders: new Map(), waiting: [] }
    this.#locks.set(name, lock)
    const held = lock.holders.get(transaction)
    if (held === 'EXCLUSIVE' || held === mode) return
    // Behind those that wait: otherwise transactions that share it could keep it from one that wants it alone.
    if (lock.waiting.length === 0 && isFree(lock, transaction, mode)) {
      lock.holders.set(transaction, mode)
      return
    }
    const granted = Promise.withResolvers<void>()
    lock.waiting.push({ transaction, mode, grant: () => granted.resolve() })
    await granted.promise
  }

  #release(transaction: CellTransaction, name: string): void {
    const lock = this.#locks.get(name)
    if (lock === undefined) return
    lock.holders.delete(transaction)
    for (
      let [next] = lock.waiting;
      next !== undefined && isFree(lock, next.transaction, next.mode);
      [next] = lock.waiting
    ) {
      lock.waiting.shift()
      lock.holders.set(next.transaction, next.mode)
      next.grant()
    }
    if (lock.holders.size === 0 && lock.waiting.length === 0) this.#locks.delete(name)
  }
}

function isFree({ holders }: CellLock, transaction: CellTransaction, mode: LockMode): boolean {
  const others = [...holders].filter(([holder]) => holder !== transaction)
  return others.every(([, held]) => held === 'SHARED' && mode === 'SHARED')
}
