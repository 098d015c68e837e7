/**
 * Up to which number nothing can appear any more that does not show already. A number is given before its transaction
 * commits; so those given up to some moment are settled once the transactions that were open then have ended.
 *
 * That holds for one life of one server. The next one may give numbers anew that were given before, and call transactions
 * that were prepared by other names: nothing is settled until it says so itself.
 */

import type { OpenNumbers } from '../api/outbox-store.ts'

export class SettledNumbers {
  #upTo: bigint | null = null
  #marked: OpenNumbers | undefined
  #server: string | undefined

  /** Rows up to it show to every read that begins now. Null: nobody knows. */
  get upTo(): bigint | null {
    return this.#upTo
  }

  /** What the database shows now. @returns false when it is another server than before: nothing is settled any more */
  observe(now: OpenNumbers): boolean {
    if (this.#server !== undefined && this.#server !== now.server) {
      this.#upTo = null
      this.#marked = undefined
      // What it has answered counted from a number of the other server.
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
