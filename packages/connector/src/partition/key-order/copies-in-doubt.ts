/**
 * Copies whose originals the commit does not cover: duplicates, if the source brings the original once more; if it does
 * not, because it was deleted and created again or has lost its end, they are all that is left of it (ADR 9).
 *
 *     in doubt ── the source brings the original ──▶ duplicate: settled, once no move of it is on its way
 *        └─────── the source is past it ───────────▶ waits as any other
 *
 * Until then a copy is in no chain: it neither runs nor blocks its key.
 */

import type { Original } from './original.ts'
import type { WaitingEntry } from './waiting-entry.ts'

/** See the file's comment. */
export class CopiesInDoubt {
  readonly #entries = new Map<string, WaitingEntry>()
  /** Duplicates that are on their way. */
  readonly #shown = new Set<WaitingEntry>()

  get size(): number {
    return this.#entries.size
  }

  /** Whether one of them is on its way to the end of the log. */
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

  /** The one at this offset of the waiting topic. */
  at(offset: bigint): WaitingEntry | undefined {
    for (const entry of this.#entries.values()) if (entry.at === offset) return entry
    return undefined
  }

  /** The source brings the original. */
  show(id: string): void {
    const entry = this.#entries.get(id)
    if (entry !== undefined) this.#shown.add(entry)
  }

  /** Takes the copy out if it is a duplicate that is not on its way. */
  takeDuplicate(id: string): WaitingEntry | undefined {
    const entry = this.#entries.get(id)
    if (entry === undefined || entry.append !== undefined || !this.#shown.delete(entry)) return undefined
    this.#entries.delete(id)
    return entry
  }

  /** What the source has brought is gone with it. */
  forgetShown(): void {
    this.#shown.clear()
  }

  /** Takes those out that the source is past and has not brought. */
  takeMissing(isPast: (original: Original) => boolean): WaitingEntry[] {
    const missing = [...this.#entries.values()].filter((entry) => !this.#shown.has(entry) && isPast(entry.original))
    for (const { id } of missing) this.#entries.delete(id)
    return missing
  }
}
