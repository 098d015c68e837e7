/**
 * Observes whether the database answers, by the calls that the outbox makes anyway. It sends nothing itself.
 *
 *   every call ──▶ waiting for a connection ──▶ its statements ──▶ answered: all is well
 *                         │ longer than the limit      │ longer, or failed
 *                         ▼                            ▼
 *                  NO_CONNECTION                NO_ANSWER, FAILING      unless another call was answered since
 */

import type { Clock, Database } from '@waybill/core'
import { describeThrown } from '@waybill/core'

/** The trouble of a database that does not answer. */
export interface DatabaseTrouble {
  /** NO_CONNECTION: the pool has none to give, or the server accepts none. NO_ANSWER: statements get no response. */
  readonly kind: 'NO_CONNECTION' | 'NO_ANSWER' | 'FAILING'
  /** The monotonic start of the first call that was not answered. */
  readonly sinceMs: number
  /** The last failure; undefined if no call has failed. */
  readonly error: string | undefined
}

interface Call {
  readonly beganAt: number
  /** When it got its connection; undefined while it waits for one. */
  connectedAt: number | undefined
}

/** Longer than a pause of the event loop or a failover within a pool; short compared with a probe's patience. */
const patienceMs = 5_000

export class DatabaseWatch {
  /** The database, observed. */
  readonly database: Pick<Database<never>, 'connection'>
  readonly #clock: Pick<Clock, 'monotonic'>
  readonly #open = new Set<Call>()
  /** The first call since the last answer that failed. */
  #failedSince: number | undefined
  #error: string | undefined
  #answeredAt = Number.NEGATIVE_INFINITY

  constructor(database: Pick<Database<never>, 'connection'>, clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock
    this.database = this.observe(database)
  }

  /** Returns the database, observed too. */
  observe(database: Pick<Database<never>, 'connection'>): Pick<Database<never>, 'connection'> {
    return {
      connection: async (use) => {
        const call: Call = { beganAt: this.#clock.monotonic(), connectedAt: undefined }
        this.#open.add(call)
        try {
          const answer = await database.connection((connection) => {
            call.connectedAt = this.#clock.monotonic()
            return use(connection)
          })
          this.#answered()
          return answer
        } catch (error) {
          this.#failedSince ??= call.beganAt
          this.#error = describeThrown(error)
          throw error
        } finally {
          this.#open.delete(call)
        }
      },
    }
  }

  /** Returns the trouble that has lasted too long for a hiccup; undefined if there is none. */
  trouble(): DatabaseTrouble | undefined {
    const now = this.#clock.monotonic()
    // A call that began before the last answer may be blocked by a lock: it says nothing about the database.
    const silent = [...this.#open].find(({ beganAt }) => beganAt >= this.#answeredAt)
    const sinceMs = Math.min(this.#failedSince ?? now, silent?.beganAt ?? now)
    if (now - sinceMs < patienceMs) return undefined
    if (this.#failedSince !== undefined) return { kind: 'FAILING', sinceMs, error: this.#error }
    return { kind: silent?.connectedAt === undefined ? 'NO_CONNECTION' : 'NO_ANSWER', sinceMs, error: undefined }
  }

  /** Returns the monotonic start of the oldest statement that is not answered; undefined if there is none. */
  unansweredSince(): number | undefined {
    let since: number | undefined
    for (const { connectedAt } of this.#open)
      if (connectedAt !== undefined && (since === undefined || connectedAt < since)) since = connectedAt
    return since
  }

  #answered(): void {
    this.#answeredAt = this.#clock.monotonic()
    this.#failedSince = undefined
    this.#error = undefined
  }
}
