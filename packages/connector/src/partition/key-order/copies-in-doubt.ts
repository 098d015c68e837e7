/**
 * Copies whose originals the commit does not cover. A copy is a duplicate if the source returns the original again. If it
 * does not, because it was re-created or truncated, the copy is all that is left of the record (ADR 9).
 *
 *     in doubt ── the source returns the original ──▶ duplicate: settled, once no move of it is in flight
 *        └─────── the source is past it ────────────▶ waits like any other
 *
 * Until then a copy is in no chain: it neither runs nor blocks its key.
 */

import type { Original } from './original.ts'
import type { WaitingEntry } from './waiting-entry.ts'

/** See the file's comment. */
export class CopiesInDoubt {
  readonly #entries = new Map<string, WaitingEntry>()
  /** Duplicates with a move in flight. */
  readonly #shown = new Set<WaitingEntry>()

  get size(): number {
    return this.#entries.size
  }

  /** True while one of them moves to the end of the log. */
  get isMoving(): boolean {
    for (const { append } of this.#entries.values()) if (append !== undefined) return true
    return false
  }

  add(entry: WaitingEntry): void {
    this.#entries.set(entry.id, entry)
  }

  get(id: string): WaitingEntry | undefined {
    return this.#entries.get(id)
  }

  /** Finds the copy at an offset of the waiting topic. */
  at(offset: bigint): WaitingEntry | undefined {
    for (const entry of this.#entries.values()) if (entry.at === offset) return entry
    return undefined
  }

  /** Notes that the source returned the original. */
  show(id: string): void {
    const entry = this.#entries.get(id)
    if (entry !== undefined) this.#shown.add(entry)
  }

  /** Removes and returns a duplicate without a move in flight. */
  takeDuplicate(id: string): WaitingEntry | undefined {
    const entry = this.#entries.get(id)
    if (entry === undefined || entry.append !== undefined || !this.#shown.delete(entry)) return undefined
    this.#entries.delete(id)
    return entry
  }

  /** Forgets what the source returned: it is another log now. */
  forgetShown(): void {
    this.#shown.clear()
  }

  /** Removes and returns the copies that the source is past and did not return. */
  takeMissing(isPast: (original: Original) => boolean): WaitingEntry[] {
    const missing = [...this.#entries.values()].filter((entry) => !this.#shown.has(entry) && isPast(entry.original))
    for (const { id } of missing) this.#entries.delete(id)
    return missing
  }
}
