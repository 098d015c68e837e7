import type { WaitingEntry } from './waiting-entry.ts'

/** The originals that wait or block their key, with the totals that limits and commits are about. */
export class WaitingEntries {
  readonly #byId = new Map<string, WaitingEntry>()
  #bytes = 0
  #waitingNow = 0

  get size(): number {
    return this.#byId.size
  }

  get bytes(): number {
    return this.#bytes
  }

  /** Originals that have left the source and have no outcome yet: `wn=`. */
  get waitingNow(): number {
    return this.#waitingNow
  }

  has(id: string): boolean {
    return this.#byId.has(id)
  }

  get(id: string): WaitingEntry | undefined {
    return this.#byId.get(id)
  }

  /** Finds the entry whose copy lies at an offset of the waiting topic. */
  at(offset: bigint): WaitingEntry | undefined {
    for (const entry of this.#byId.values()) if (entry.at === offset) return entry
    return undefined
  }

  add(entry: WaitingEntry): void {
    this.#byId.set(entry.id, entry)
    this.weigh(entry, entry.work?.bytes ?? 0)
  }

  remove(entry: WaitingEntry): void {
    this.#byId.delete(entry.id)
    this.weigh(entry, 0)
    this.count(entry, false)
  }

  /** Counts an entry as waiting, or no longer. */
  count(entry: WaitingEntry, isCounted: boolean): void {
    if (entry.isCounted !== isCounted) this.#waitingNow += isCounted ? 1 : -1
    entry.isCounted = isCounted
  }

  weigh(entry: WaitingEntry, bytes: number): void {
    this.#bytes += bytes - entry.bytes
    entry.bytes = bytes
  }
}
