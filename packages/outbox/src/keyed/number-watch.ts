/**
 * Regularly queries how far sequence numbers are settled. Rows read beyond that point require a query below each read.
 *
 * It also detects another server. A broken connection hints at one, and a failover takes longer than the query interval
 * of an idle node, so no read relies on the answer of a former server.
 */

import { type Database, PermissionError, type Runtime } from '@waybill/core'
import type { OpenNumbers, OutboxStore } from '../api/outbox-store.ts'
import { SettledNumbers } from './settled-numbers.ts'

export interface NumberWatchDeps {
  readonly database: Pick<Database<never>, 'connection'>
  readonly store: Pick<OutboxStore, 'openNumbers'>
  readonly runtime: Pick<Runtime, 'clock' | 'logger'>
}

/** RISEN: more is settled than before. RESET: another server responds, and earlier answers are void. */
export type NumbersChange = 'NONE' | 'RISEN' | 'RESET'

/** The interval while rows were read that are not settled. */
const busyMs = 250
/** The interval otherwise: only another server could change the answer. */
const idleMs = 1_000

export class NumberWatch {
  readonly #deps: NumberWatchDeps
  readonly #settled = new SettledNumbers()
  #askedAt = Number.NEGATIVE_INFINITY
  /** Whether the database does not tell, at least not this user. */
  #isSilent = false

  constructor(deps: NumberWatchDeps) {
    this.#deps = deps
  }

  /** Rows up to it are visible to every read that begins now. Null: unknown. */
  get upTo(): bigint | null {
    return this.#settled.upTo
  }

  /** @param isBehind whether rows were read that may not be settled */
  isDue(isBehind: boolean): boolean {
    return !this.#isSilent && this.#deps.runtime.clock.monotonic() - this.#askedAt >= (isBehind ? busyMs : idleMs)
  }

  /** Makes the next read query first, because another server may respond to it. */
  doubt(): void {
    this.#askedAt = Number.NEGATIVE_INFINITY
  }

  async ask(): Promise<NumbersChange> {
    const before = this.#settled.upTo
    const numbers = await this.#openNumbers(before ?? 0n)
    this.#isSilent = numbers === null
    if (numbers === null) return 'NONE'
    const isSameServer = this.#settled.observe(numbers)
    if (!isSameServer) return 'RESET' // The next query is due at once.
    this.#askedAt = this.#deps.runtime.clock.monotonic()
    return this.#settled.upTo === before ? 'NONE' : 'RISEN'
  }

  async #openNumbers(above: bigint): Promise<OpenNumbers | null> {
    const { database, store, runtime } = this.#deps
    try {
      return await database.connection((connection) => store.openNumbers(connection, above))
    } catch (err) {
      if (!(err instanceof PermissionError)) throw err
      runtime.logger.warn({ err }, 'Open transactions not visible to this user; reads scan further back')
      return null
    }
  }
}
