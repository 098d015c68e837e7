/**
 * Up to which number nothing can appear any more that does not show already. A number is given before its transaction
 * commits; so those given up to some moment are settled once the transactions that were open then have ended.
 */

import type { OpenNumbers } from '../outbox-store.ts'

export class SettledNumbers {
  #upTo: bigint | null = null
  #marked: OpenNumbers | undefined

  /** Rows up to it show to every read that begins now. Null: nobody knows. */
  get upTo(): bigint | null {
    return this.#upTo
  }

  /** What the database shows now. */
  observe(now: OpenNumbers): void {
    const writers = new Set(now.writers)
    if (writers.size === 0) {
      this.#settle(now.given)
      this.#marked = undefined
      return
    }
    if (this.#marked?.writers.some((writer) => writers.has(writer)) === true) return
    if (this.#marked !== undefined) this.#settle(this.#marked.given)
    this.#marked = now
  }

  #settle(given: bigint): void {
    if (this.#upTo === null || given > this.#upTo) this.#upTo = given
  }
}
