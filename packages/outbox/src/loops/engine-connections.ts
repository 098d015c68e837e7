/**
 * Provides connections for the statements of an outbox. It keeps one of the pool from start to stop, so that listeners
 * that use the whole pool cannot starve lease renewals, settlements and reads:
 *
 *   statement ──kept connection idle──▶ runs on it
 *       │ busy: queued, statements of leases first, and a connection of the pool is requested, too
 *       └──the kept or a requested connection is free──▶ runs on it
 *
 *   kept connection ──in doubt, or gone──▶ another one is requested, with backoff; the pool serves meanwhile
 *
 * Without a kept connection (SQLite, a pool of unknown size) every statement waits for the pool. Statements that wait for
 * seconds are reported, because nothing else says why leases expire.
 */

import { type Database, type Runtime } from '@waybill/core'
import {
  type BackoffPolicy,
  backoffMs,
  type Deadline,
  type KeptConnection,
  type SqlConnection,
} from '@waybill/core/internal'
import type { OutboxPart } from './outbox-part.ts'
import { untilDeadline } from './until-deadline.ts'

/** The database as an engine uses it. */
export type EngineDatabase = Pick<Database<never>, 'connection'>

export interface EngineConnectionsDeps {
  /** The name in logs: the prefix of its metrics. */
  readonly outbox: string
  readonly database: Pick<Database<never>, 'connection' | 'keepConnection'>
  readonly runtime: Pick<Runtime, 'clock' | 'timers' | 'random' | 'logger'>
}

/** Statements have been waiting for a connection for too long. */
export interface ConnectionShortage {
  /** How long the oldest has been waiting. */
  readonly waitingMs: number
  /** The number of waiting statements. */
  readonly waiting: number
}

interface Job {
  readonly since: number
  readonly isUrgent: boolean
  /** Runs the statement and reports its result. Rejects with its error, so that the connection is checked. */
  run(connection: SqlConnection): Promise<void>
  fail(error: unknown): void
}

/** Far above the duration of any statement of the engine, and far below a lease. */
const shortageMs = 2_000
const retaking: BackoffPolicy = { initialMs: 200, multiplier: 2, maxMs: 5_000, jitterExceedsMax: false }

/** See the file's comment. */
export class EngineConnections implements OutboxPart {
  readonly name = 'connections'
  /** For reads and settlements. */
  readonly database: EngineDatabase
  /** For statements that keep leases alive: they run before the others. */
  readonly leaseDatabase: EngineDatabase
  readonly #deps: EngineConnectionsDeps
  readonly #ending = new AbortController()
  readonly #queue: Job[] = []
  #kept: KeptConnection | undefined
  #isKeptBusy = false
  /** Connections requested from the pool that have not arrived. */
  #requested = 0
  #watch: Disposable | undefined
  #isShort = false

  constructor(deps: EngineConnectionsDeps) {
    this.#deps = deps
    this.database = { connection: (use) => this.#submit(use, false) }
    this.leaseDatabase = { connection: (use) => this.#submit(use, true) }
  }

  /** Keeps a connection. Rejects if the database fails, or if its pool is too small. */
  async start(signal: AbortSignal): Promise<void> {
    const watch = this.#watchStart()
    try {
      this.#kept = await this.#deps.database.keepConnection?.()
    } finally {
      watch[Symbol.dispose]()
    }
    signal.throwIfAborted()
  }

  async stop(deadline: Deadline): Promise<void> {
    this.#ending.abort()
    this.#watch?.[Symbol.dispose]()
    const kept = this.#kept
    this.#kept = undefined
    if (kept === undefined) return
    await untilDeadline(kept[Symbol.asyncDispose](), deadline)
  }

  /** Returns the current shortage of connections; undefined if there is none. */
  get shortage(): ConnectionShortage | undefined {
    const waitingMs = this.#longestWaitMs()
    return waitingMs < shortageMs ? undefined : { waitingMs, waiting: this.#queue.length }
  }

  #submit<T>(use: (connection: SqlConnection) => Promise<T>, isUrgent: boolean): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    this.#enqueue({
      since: this.#deps.runtime.clock.monotonic(),
      isUrgent,
      run: async (connection) => {
        try {
          resolve(await use(connection))
        } catch (error) {
          reject(error)
          throw error
        }
      },
      fail: reject,
    })
    this.#pump()
    return promise
  }

  #enqueue(job: Job): void {
    const at = job.isUrgent ? this.#queue.findIndex(({ isUrgent }) => !isUrgent) : -1
    this.#queue.splice(at === -1 ? this.#queue.length : at, 0, job)
  }

  #pump(): void {
    this.#dropBroken()
    if (this.#kept !== undefined && !this.#isKeptBusy) {
      const job = this.#queue.shift()
      if (job !== undefined) void this.#runOnKept(this.#kept, job)
    }
    while (this.#requested < this.#queue.length) void this.#runOnPooled()
    if (this.#queue.length > 0) this.#watchQueue()
  }

  /**
   * Drops a kept connection that broke, before a statement fails on it. It is disposed in every case: a session that broke
   * after its last response still occupies its place in the pool, and closing the pool would wait for it forever.
   */
  #dropBroken(): void {
    const kept = this.#kept
    if (kept === undefined || this.#isKeptBusy || !kept.isLost) return
    this.#kept = undefined
    void Promise.resolve(kept[Symbol.asyncDispose]()).catch(() => {}) // Its session is gone.
    void this.#keepAnother()
  }

  async #runOnKept(kept: KeptConnection, job: Job): Promise<void> {
    this.#isKeptBusy = true
    await kept.run((connection) => job.run(connection)).catch((error: unknown) => job.fail(error))
    this.#isKeptBusy = false
    this.#pump()
  }

  /** Runs the first waiting statement on a connection of the pool, unless the kept one has served all by then. */
  async #runOnPooled(): Promise<void> {
    this.#requested++
    let hasArrived = false
    const arrived = (): void => {
      hasArrived = true
      this.#requested--
    }
    try {
      await this.#deps.database.connection(async (connection) => {
        arrived()
        await this.#queue.shift()?.run(connection)
      })
    } catch (error) {
      if (hasArrived) return // Reported to the caller of the statement.
      arrived()
      // A full pool may time out while the kept connection works, which then serves the statement.
      if (this.#kept === undefined) this.#queue.shift()?.fail(error)
    }
  }

  async #keepAnother(): Promise<void> {
    const { database, runtime } = this.#deps
    const { signal } = this.#ending
    for (let failures = 0; !signal.aborted; failures++) {
      try {
        const kept = await database.keepConnection?.()
        if (signal.aborted) await kept?.[Symbol.asyncDispose]()
        else {
          this.#kept = kept
          this.#pump()
        }
        return
      } catch (err) {
        if (failures === 0) runtime.logger.warn({ err, outbox: this.#deps.outbox }, 'Kept connection lost, retrying')
      }
      // Only stop() ends it early, and the loop checks.
      await runtime.timers.sleep(backoffMs(retaking, failures + 1, runtime.random), signal).catch(() => {})
    }
  }

  #longestWaitMs(): number {
    const now = this.#deps.runtime.clock.monotonic()
    return this.#queue.reduce((longest, { since }) => Math.max(longest, now - since), 0)
  }

  /** Reports statements that wait too long, once until none does. */
  #watchQueue(): void {
    const { timers, logger } = this.#deps.runtime
    this.#watch ??= timers.schedule(shortageMs, () => {
      this.#watch = undefined
      const { shortage } = this
      if (shortage !== undefined && !this.#isShort) this.#warn(shortage)
      if (shortage === undefined && this.#isShort)
        logger.info({ outbox: this.#deps.outbox }, 'Connections available again')
      this.#isShort = shortage !== undefined
      if (this.#queue.length > 0 || this.#isShort) this.#watchQueue()
    })
  }

  #watchStart(): Disposable {
    const { timers } = this.#deps.runtime
    return timers.schedule(shortageMs, () => this.#warn({ waitingMs: shortageMs, waiting: 1 }))
  }

  #warn(shortage: ConnectionShortage): void {
    const { runtime, outbox } = this.#deps
    runtime.logger.warn(
      { outbox, ...shortage },
      'No database connection available: the connection pool is exhausted, or the database does not respond',
    )
  }
}
