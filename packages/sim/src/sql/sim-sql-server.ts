/**
 * A database server in virtual time. A statement of a process goes to the server, is carried out there in one step, and
 * its answer comes back; each of the three can fail or take its time. So a process that gets no answer cannot know what
 * was done, and one that was killed may still have its last statement carried out.
 */

import type { Runtime } from '@waybill/core'
import type { OutboxStore } from '@waybill/outbox'
import { SimDatabase } from './sim-database.ts'
import type { RowChange, SimOutboxRow } from './sim-outbox-row.ts'
import { createSimOutboxStore } from './sim-outbox-store.ts'
import { SimOutboxTable } from './sim-outbox-table.ts'
import { SimRowLocks } from './sim-row-locks.ts'
import { SimSession } from './sim-session.ts'
import { SimTx } from './sim-tx.ts'
import { SimSqlError, type SimStatement, type SqlFaultProfile, SqlFaults, type SqlMishap } from './sql-faults.ts'

/** A process that uses the database. */
export interface SimSqlClient {
  readonly name: string
  /** Hands on what arrives at the process, when the process gets to it; what it is given never rejects unhandled. */
  readonly receive: <T>(work: Promise<T>) => Promise<T>
}

/** Observes statements. */
export interface SqlWitness {
  /** A row changed. `client` had the statement carried out. */
  changed?(row: Readonly<SimOutboxRow>, change: RowChange, client: string): void
  /** A process sends a statement. */
  sending?(statement: SimStatement, client: string): void
  /** A process gets the answer; `error` when none came, or a refusal. */
  answered?(statement: SimStatement, client: string, answer: unknown, error: unknown): void
}

/** Options of {@link createSimSqlServer}. */
export interface SimSqlServerOptions {
  readonly runtime: Runtime
  /** From a process to the server and back, at most. @defaultValue 2 */
  readonly latencyMs?: number
  readonly witness?: SqlWitness
}

/** Makes a {@link SimSqlServer}. */
export function createSimSqlServer(options: SimSqlServerOptions): SimSqlServer {
  return new SimSqlServer(options)
}

/** See the file's comment. */
export class SimSqlServer {
  readonly table: SimOutboxTable
  readonly store: OutboxStore
  /** Locks of rows that others hold. */
  readonly rowLocks: SimRowLocks
  readonly #runtime: Runtime
  readonly #latencyMs: number
  readonly #witness: SqlWitness
  readonly #faults: SqlFaults
  readonly #sessions = new Set<SimSession>()
  readonly #locks = new LockTable()
  readonly #epochMs: number
  #skewMs = 0
  #isDown = false
  #client = ''

  constructor({ runtime, latencyMs = 2, witness = {} }: SimSqlServerOptions) {
    this.#runtime = runtime
    this.#latencyMs = latencyMs
    this.#witness = witness
    this.#faults = new SqlFaults(runtime.random)
    this.#epochMs = runtime.clock.now() - runtime.clock.monotonic()
    this.table = new SimOutboxTable(
      () => this.now(),
      (row, change) => witness.changed?.(row, change, this.#client),
    )
    this.rowLocks = new SimRowLocks(runtime)
    this.store = createSimOutboxStore(this.table, this.rowLocks)
  }

  /** The database's own clock, which processes never see: it may differ from theirs, and jump. */
  now(): number {
    return this.#epochMs + this.#runtime.clock.monotonic() + this.#skewMs
  }

  /** Sets the database's clock forward, or back if negative. */
  jump(ms: number): void {
    this.#skewMs += ms
  }

  /** Counts of faults so far, by name. */
  get faultCounts(): ReadonlyMap<string, number> {
    return this.#faults.counts
  }

  setFaults(profile: SqlFaultProfile | false): void {
    this.#faults.set(profile)
  }

  /** Ends: connections break, and no new ones are taken until {@link start}. What was committed stays. */
  stop(): void {
    this.#isDown = true
    this.#faults.count('server stops')
    for (const session of this.#sessions) session.end(true)
  }

  start(): void {
    this.#isDown = false
  }

  /** Another server takes its place, with all that was committed: what is open is rolled back, and its numbers are free. */
  failOver(): void {
    this.#faults.count('server fails over')
    this.cut()
    this.table.failOver()
  }

  /** Breaks the connections of one process, or of all. */
  cut(client?: string): void {
    for (const session of this.#sessions) if (client === undefined || session.client === client) session.end(true)
  }

  /** A process is gone: what it had open rolls back. What it has sent is still carried out. */
  abandon(client: string): void {
    for (const session of this.#sessions) {
      if (session.client !== client) continue
      session.end(false)
      this.#sessions.delete(session)
    }
  }

  /** The database as a process uses it. */
  database(client: SimSqlClient = { name: 'process', receive: (work) => work }): SimDatabase {
    return new SimDatabase({
      open: () => this.#open(client),
      close: (session) => this.#close(session),
      begin: (session, endIsSeen) =>
        session.execute('begin', () => {
          const tx = new SimTx(session, endIsSeen, this.table, this.#locks, () => this.#close(session))
          session.tx = tx
          return tx
        }),
    })
  }

  #open({ name, receive }: SimSqlClient): SimSession {
    const session = new SimSession(name, (own, statement, effect, before) => {
      this.#witness.sending?.(statement, name)
      return this.#observed(statement, name, receive(this.#carry(own, statement, effect, before)))
    })
    this.#sessions.add(session)
    return session
  }

  #close(session: SimSession): void {
    session.end(true)
    this.#sessions.delete(session)
  }

  async #observed<T>(statement: SimStatement, client: string, answer: Promise<T>): Promise<T> {
    try {
      const value = await answer
      this.#witness.answered?.(statement, client, value, undefined)
      return value
    } catch (error) {
      this.#witness.answered?.(statement, client, undefined, error)
      throw error
    }
  }

  async #carry<T>(
    session: SimSession,
    statement: SimStatement,
    effect: () => T | Promise<T>,
    before?: () => Promise<void>,
  ): Promise<T> {
    const { fault, delaysMs }: SqlMishap = this.#faults.draw(statement)
    await this.#travel(delaysMs[0])
    this.#requireLink(session, statement)
    if (fault === 'cut') this.#break(session, statement)
    if (fault === 'refused') this.#refuse(session, statement)
    await before?.()
    this.#client = session.client
    const answer = await effect()
    if (fault === 'lostAnswer') this.#break(session, statement)
    await this.#travel(delaysMs[1])
    this.#requireLink(session, statement)
    return answer
  }

  async #travel(delayMs: number): Promise<void> {
    await this.#runtime.timers.sleep((this.#latencyMs / 2) * this.#runtime.random() + delayMs)
  }

  #requireLink(session: SimSession, statement: SimStatement): void {
    if (this.#isDown) session.end(true)
    if (session.isCut) throw new SimSqlError('LOST', `The connection ended during ${statement}.`)
  }

  #break(session: SimSession, statement: SimStatement): never {
    session.end(true)
    throw new SimSqlError('LOST', `The connection ended during ${statement}.`)
  }

  #refuse(session: SimSession, statement: SimStatement): never {
    session.tx?.fail()
    throw new SimSqlError('REFUSED', `${statement} was aborted to end a deadlock.`)
  }
}

/** Locks by name, each granted in the order it was asked for. */
class LockTable {
  readonly #queues = new Map<string, { readonly tx: SimTx; readonly grant: () => void }[]>()

  async take(name: string, tx: SimTx): Promise<void> {
    const queue = this.#queues.get(name) ?? []
    this.#queues.set(name, queue)
    if (queue.some((entry) => entry.tx === tx)) return
    const { promise, resolve } = Promise.withResolvers<void>()
    queue.push({ tx, grant: resolve })
    if (queue.length === 1) resolve()
    await promise
  }

  /** Frees what it holds, and leaves the lines it waits in. */
  release(tx: SimTx): void {
    for (const [name, queue] of this.#queues) {
      const at = queue.findIndex((entry) => entry.tx === tx)
      if (at < 0) continue
      const [left] = queue.splice(at, 1)
      left?.grant()
      if (queue.length === 0) this.#queues.delete(name)
      else if (at === 0) queue[0]?.grant()
    }
  }
}
