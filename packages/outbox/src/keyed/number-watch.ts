/**
 * Asks the database now and then how far numbers are settled: what was read beyond is looked through below each read.
 *
 * It also finds out that another server answers. A connection that broke tells of that, and a fail-over takes longer than
 * an idle node goes without asking; so no read relies on what a former server said.
 */

import { type Database, PermissionError, type Runtime } from '@waybill/core'
import type { OpenNumbers, OutboxStore } from '../api/outbox-store.ts'
import { SettledNumbers } from './settled-numbers.ts'

export interface NumberWatchDeps {
  readonly database: Pick<Database<never>, 'connection'>
  readonly store: Pick<OutboxStore, 'openNumbers'>
  readonly runtime: Pick<Runtime, 'clock' | 'logger'>
}

/** RISEN: more is settled than before. RESET: another server answers, and what was settled before is so no more. */
export type NumbersChange = 'NONE' | 'RISEN' | 'RESET'

/** While something was read that is not settled. */
const busyMs = 250
/** While nothing was: only another server can bring news. */
const idleMs = 1_000

export class NumberWatch {
  readonly #deps: NumberWatchDeps
  readonly #settled = new SettledNumbers()
  #askedAt = Number.NEGATIVE_INFINITY
  /** The database tells nobody, or not this user. */
  #isSilent = false

  constructor(deps: NumberWatchDeps) {
    this.#deps = deps
  }

  /** Rows up to it show to every read that begins now. Null: nobody knows. */
  get upTo(): bigint | null {
    return this.#settled.upTo
  }

  /** @param isBehind whether something was read that may not be settled */
  isDue(isBehind: boolean): boolean {
    return !this.#isSilent && this.#deps.runtime.clock.monotonic() - this.#askedAt >= (isBehind ? busyMs : idleMs)
  }

  /** The next read asks first: whoever answers it may be another server. */
  doubt(): void {
    this.#askedAt = Number.NEGATIVE_INFINITY
  }

  async ask(): Promise<NumbersChange> {
    const before = this.#settled.upTo
    const numbers = await this.#openNumbers(before ?? 0n)
    this.#isSilent = numbers === null
    if (numbers === null) return 'NONE'
    const isSameServer = this.#settled.observe(numbers)
    if (!isSameServer) return 'RESET' // It is due at once, and asks anew.
    this.#askedAt = this.#deps.runtime.clock.monotonic()
    return this.#settled.upTo === before ? 'NONE' : 'RISEN'
  }

  async #openNumbers(above: bigint): Promise<OpenNumbers | null> {
    const { database, store, runtime } = this.#deps
    try {
      return await database.connection((connection) => store.openNumbers(connection, above))
    } catch (err) {
      if (!(err instanceof PermissionError)) throw err
      runtime.logger.warn({ err }, 'The database does not tell which transactions are open; reads look further back')
      return null
    }
  }
}
