/**
 * The highest number below which no new row can become visible. A number is assigned before its transaction commits, so
 * the numbers assigned up to some moment are settled once the transactions open at that moment have ended.
 *
 * This holds for one run of one server. The next server may assign the same numbers again and name prepared
 * transactions differently, so nothing is settled until it reports so itself.
 */

import type { OpenNumbers } from '../api/outbox-store.ts'

export class SettledNumbers {
  #upTo: bigint | null = null
  #marked: OpenNumbers | undefined
  #server: string | undefined

  /** Rows up to it are visible to every read that begins now. Null: unknown. */
  get upTo(): bigint | null {
    return this.#upTo
  }

  /** Records the current state of the database. @returns false if the server changed: nothing is settled any more */
  observe(now: OpenNumbers): boolean {
    if (this.#server !== undefined && this.#server !== now.server) {
      this.#upTo = null
      this.#marked = undefined
      // The new server's answer was relative to a number of the old one.
      this.#server = undefined
      return false
    }
    this.#server = now.server
    const writers = new Set(now.writers)
    if (writers.size === 0) {
      this.#settle(now.given)
      this.#marked = undefined
      return true
    }
    if (this.#marked?.writers.some((writer) => writers.has(writer)) === true) return true
    if (this.#marked !== undefined) this.#settle(this.#marked.given)
    this.#marked = now
    return true
  }

  #settle(given: bigint): void {
    if (this.#upTo === null || given > this.#upTo) this.#upTo = given
  }
}
