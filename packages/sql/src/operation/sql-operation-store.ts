/**
 * Operations in a database. A write locks the row of its operation, reads it and the clock, and stores it changed: leases
 * and wishes are compared by the database's clock alone, and a runner that lost its lease changes nothing.
 */

import type { Runtime } from '@waybill/core'
import {
  afterWish,
  isFinal,
  type LogRange,
  maxOperationItems,
  type NewOperation,
  type OperationEnd,
  type OperationItem,
  type OperationLease,
  type OperationOrders,
  type OperationProgress,
  type OperationQuery,
  OperationStateError,
  type OperationStore,
  type OperationType,
  type OperationWish,
  type Page,
  type PageQuery,
  type ReplayOutcomes,
  rangeToJson,
  type SqlConnection,
  type StoredOperation,
  type TakenOperation,
} from '@waybill/core/internal'
import { shortTransaction } from '../database/short-transaction.ts'
import type { SqlDatabase, SqlDialect } from '../database/sql-database.ts'
import type { Bindings } from '../dialect/bindings.ts'
import { asText, databaseNowMs, type FoundRow, inList, insertOnce, sendStatement } from './admin-statement.ts'
import type { AdminTables } from './admin-tables.ts'
import { bodyOf, frozenOf, noOutcomes, type OperationRow, operationOf, rowVersion } from './operation-row.ts'

/** The candidates of one search: others may take some of them first. */
const candidates = 8

/** An operation as a change leaves it. */
interface Changed {
  readonly operation: StoredOperation
  readonly leaseVersion?: bigint
  readonly intended?: readonly LogRange[]
  readonly items?: number
}

const noRunner = { runner: undefined, leaseUntilMs: undefined } as const

/** See the file's comment. */
export class SqlOperationStore implements OperationStore {
  readonly isDurable = true
  readonly #database: Pick<SqlDatabase<never>, 'connection' | 'dialect'>
  readonly #dialect: SqlDialect
  readonly #tables: AdminTables
  readonly #runtime: Runtime

  constructor(database: Pick<SqlDatabase<never>, 'connection' | 'dialect'>, tables: AdminTables, runtime: Runtime) {
    this.#database = database
    this.#dialect = database.dialect
    this.#tables = tables
    this.#runtime = runtime
  }

  async create({ expiresInMs, ...given }: NewOperation): Promise<StoredOperation> {
    const { id, by, idempotencyKey } = given
    const isRunning = given.state === 'RUNNING'
    await this.#inTransaction(async (connection) => {
      const now = await this.#now(connection)
      const operation: StoredOperation = {
        ...given,
        pausedBy: undefined,
        wish: undefined,
        createdAtMs: now,
        startedAtMs: isRunning ? now : undefined,
        endedAtMs: undefined,
        expiresAtMs: isRunning ? undefined : now + expiresInMs,
        ...noRunner,
        takeovers: 0,
        trouble: undefined,
        outcomes: noOutcomes,
      }
      await this.#send(connection, (b) => {
        const values = [
          id,
          rowVersion,
          given.type,
          given.target,
          given.state,
          by,
          idempotencyKey ?? null,
          now,
          operation.expiresAtMs ?? null,
          frozenOf(given),
          bodyOf(operation),
        ]
        const columns = 'id, v, type, target, state, by_whom, idempotency_key, created_at, expires_at, frozen, body'
        const bound = values.map((value) => b.bind(value))
        return insertOnce(this.#tables.operation, columns, bound, this.#dialect)
      })
    })
    const created = await this.get(id)
    if (created !== undefined) return created
    const [known] = await this.#read(
      (b) => `by_whom = ${b.bind(by)} AND idempotency_key = ${b.bind(idempotencyKey)}`,
      1,
    )
    return known as StoredOperation
  }

  async get(id: string): Promise<StoredOperation | undefined> {
    const [found] = await this.#read((b) => `id = ${b.bind(id)}`, 1)
    return found
  }

  async list(query: OperationQuery, { limit, cursor }: PageQuery): Promise<Page<StoredOperation>> {
    const found = await this.#read((b) => {
      const conditions = [
        ...(query.states === undefined ? [] : [inList('state', query.states, b)]),
        ...(query.types === undefined ? [] : [inList('type', query.types, b)]),
        ...(query.by === undefined ? [] : [`by_whom = ${b.bind(query.by)}`]),
        ...(query.target === undefined ? [] : [`target = ${b.bind(query.target)}`]),
        ...(cursor === undefined ? [] : [`id < ${b.bind(cursor)}`]),
      ]
      return conditions.length === 0 ? '1 = 1' : conditions.join(' AND ')
    }, limit + 1)
    const items = found.slice(0, limit)
    return { items, next: found.length > limit ? (items.at(-1)?.id ?? null) : null }
  }

  async take(owner: string, types: readonly OperationType[], leaseMs: number): Promise<TakenOperation | undefined> {
    const free = `state = 'RUNNING' AND (lease_until IS NULL OR lease_until <= ${databaseNowMs[this.#dialect]})`
    const { rows } = await this.#database.connection((connection) =>
      this.#send(
        connection,
        (b) =>
          `SELECT id FROM ${this.#tables.operation} WHERE ${free} AND ${inList('type', types, b)} ` +
          `ORDER BY id LIMIT ${candidates}`,
      ),
    )
    for (const { id } of rows) {
      const taken = await this.#takeOne(String(id), owner, leaseMs)
      if (taken !== undefined) return taken
    }
    return undefined
  }

  async renew(lease: OperationLease, leaseMs: number): Promise<OperationOrders | undefined> {
    return this.#write(lease, ({ operation }, now) => ({ operation: { ...operation, leaseUntilMs: now + leaseMs } }))
  }

  async release(lease: OperationLease): Promise<void> {
    await this.#write(lease, ({ operation }) => ({ operation: { ...operation, ...noRunner } }))
  }

  async intend(lease: OperationLease, batch: readonly LogRange[]): Promise<OperationOrders | undefined> {
    return this.#write(lease, ({ operation }) => ({ operation, intended: batch }))
  }

  async settle(
    lease: OperationLease,
    progress: OperationProgress,
    items: readonly OperationItem[],
  ): Promise<OperationOrders | undefined> {
    return this.#write(lease, async ({ operation, items: known }, _, connection) => {
      const kept = items.slice(0, Math.max(0, maxOperationItems - known))
      for (const [at, item] of kept.entries()) await this.#addItem(connection, operation.id, known + at, item)
      return { operation: { ...operation, progress }, intended: [], items: known + kept.length }
    })
  }

  async setTrouble(lease: OperationLease, trouble: StoredOperation['trouble']): Promise<boolean> {
    return (await this.#write(lease, ({ operation }) => ({ operation: { ...operation, trouble } }))) !== undefined
  }

  async finish(lease: OperationLease, end: OperationEnd): Promise<boolean> {
    const orders = await this.#write(lease, ({ operation }, now) => ({
      operation: {
        ...operation,
        ...noRunner,
        state: end.state,
        wish: undefined,
        pausedBy: end.state === 'PAUSED' ? end.pausedBy : undefined,
        trouble: end.state === 'FAILED' ? end.error : undefined,
        endedAtMs: isFinal(end.state) ? now : undefined,
      },
    }))
    return orders !== undefined
  }

  async wish(id: string, wish: OperationWish): Promise<StoredOperation | undefined> {
    let refused: OperationStateError | undefined
    const wished = await this.#change(id, ({ operation }, now) => {
      const { state, leaseUntilMs } = operation
      if (isExpired(operation, now)) refused = new OperationStateError(id, wish.toLowerCase(), 'CANCELLED', ['PLANNED'])
      // The transaction commits the expiry.
      if (refused !== undefined) return { operation: { ...operation, state: 'CANCELLED', endedAtMs: now } }
      const change = afterWish(operation, wish, leaseUntilMs !== undefined && leaseUntilMs > now)
      return {
        operation: {
          ...operation,
          ...change,
          ...(change.state === state ? {} : noRunner),
          startedAtMs: operation.startedAtMs ?? (change.state === 'RUNNING' ? now : undefined),
          expiresAtMs: change.state === 'RUNNING' ? undefined : operation.expiresAtMs,
          endedAtMs: isFinal(change.state) ? now : undefined,
        },
      }
    })
    if (refused !== undefined) throw refused
    return wished === undefined ? undefined : this.get(id)
  }

  async setRate(id: string, rate: number): Promise<StoredOperation | undefined> {
    const changed = await this.#change(id, ({ operation }) => {
      if (isFinal(operation.state))
        throw new OperationStateError(id, 'change', operation.state, ['PLANNED', 'RUNNING', 'PAUSED'])
      return { operation: { ...operation, rate } }
    })
    return changed === undefined ? undefined : this.get(id)
  }

  async items(
    id: string,
    outcome: OperationItem['outcome'] | undefined,
    { limit, cursor = '-1' }: PageQuery,
  ): Promise<Page<OperationItem>> {
    const { rows } = await this.#database.connection((connection) =>
      this.#send(
        connection,
        (b) =>
          `SELECT no, topic, part, ${asText('record_offset', this.#dialect)} AS record_offset, outcome, detail ` +
          `FROM ${this.#tables.item} WHERE id = ${b.bind(id)}${ofOutcome(outcome, b)} AND no > ${b.bind(Number(cursor))} ` +
          `ORDER BY no LIMIT ${limit + 1}`,
      ),
    )
    const last = rows.length > limit ? rows[limit - 1] : undefined
    return { items: rows.slice(0, limit).map(itemOf), next: last === undefined ? null : String(last['no']) }
  }

  async tally(id: string, instance: string, counts: ReplayOutcomes): Promise<void> {
    const { succeeded, retrying, failedAgain, skipped } = counts
    await this.#inTransaction(async (connection) => {
      const { changed } = await this.#send(connection, (b) => {
        const set = `succeeded = ${b.bind(succeeded)}, retrying = ${b.bind(retrying)}, failed_again = ${b.bind(failedAgain)}, skipped = ${b.bind(skipped)}`
        return `UPDATE ${this.#tables.tally} SET ${set} WHERE id = ${b.bind(id)} AND instance = ${b.bind(instance)}`
      })
      if (changed > 0) return
      await this.#send(connection, (b) => {
        const values = [id, instance, succeeded, retrying, failedAgain, skipped].map((value) => b.bind(value))
        const columns = 'id, instance, succeeded, retrying, failed_again, skipped'
        return insertOnce(this.#tables.tally, columns, values, this.#dialect)
      })
    })
  }

  async purge(olderThanMs: number, limit: number): Promise<number> {
    return this.#inTransaction(async (connection) => {
      const now = await this.#now(connection)
      await this.#send(connection, (b) => {
        const set = `state = 'CANCELLED', ended_at = ${b.bind(now)}`
        return `UPDATE ${this.#tables.operation} SET ${set} WHERE state = 'PLANNED' AND expires_at <= ${b.bind(now)}`
      })
      const { rows } = await this.#send(
        connection,
        (b) =>
          `SELECT id FROM ${this.#tables.operation} WHERE state IN ('DONE', 'FAILED', 'CANCELLED') ` +
          `AND ended_at <= ${b.bind(now - olderThanMs)} ORDER BY id LIMIT ${limit}`,
      )
      const ids = rows.map(({ id }) => String(id))
      if (ids.length === 0) return 0
      const { item, tally, operation } = this.#tables
      for (const table of [item, tally, operation])
        await this.#send(connection, (b) => `DELETE FROM ${table} WHERE ${inList('id', ids, b)}`)
      return ids.length
    })
  }

  async #takeOne(id: string, owner: string, leaseMs: number): Promise<TakenOperation | undefined> {
    let intended: readonly LogRange[] = []
    let version: bigint | undefined
    let isTakeover = false
    const row = await this.#change(id, (found, now) => {
      const { operation, leaseVersion } = found
      const { state, leaseUntilMs, runner, takeovers } = operation
      // Another process was faster.
      if (state !== 'RUNNING' || (leaseUntilMs !== undefined && leaseUntilMs > now)) return undefined
      ;({ intended } = found)
      version = leaseVersion + 1n
      isTakeover = runner !== undefined
      return {
        operation: {
          ...operation,
          runner: owner,
          leaseUntilMs: now + leaseMs,
          takeovers: takeovers + (isTakeover ? 1 : 0),
        },
        leaseVersion: version,
      }
    })
    if (row === undefined || version === undefined) return undefined
    const operation = await this.get(id)
    return operation === undefined ? undefined : { lease: { id, owner, version }, operation, isTakeover, intended }
  }

  /** Applies a write of the lease's owner; undefined if the lease was taken. */
  async #write(
    { id, version }: OperationLease,
    change: (found: OperationRow, now: number, connection: SqlConnection) => Changed | Promise<Changed>,
  ): Promise<OperationOrders | undefined> {
    const changed = await this.#change(id, (found, now, connection) => {
      if (found.leaseVersion !== version || found.operation.runner === undefined) return undefined
      return change(found, now, connection)
    })
    return changed === undefined ? undefined : { wish: changed.wish, rate: changed.rate }
  }

  /** Changes an operation while its row is locked; undefined if there is none, or nothing was changed. */
  async #change(
    id: string,
    change: (
      found: OperationRow,
      now: number,
      connection: SqlConnection,
    ) => Changed | undefined | Promise<Changed | undefined>,
  ): Promise<StoredOperation | undefined> {
    return this.#inTransaction(async (connection) => {
      const lock = this.#dialect === 'sqlite' ? '' : ' FOR UPDATE'
      const { rows } = await this.#send(connection, (b) => `${this.#select} WHERE id = ${b.bind(id)}${lock}`)
      const [row] = rows
      if (row === undefined) return undefined
      const found = operationOf(row, noOutcomes)
      // After the lock: waiting for it may have taken longer than a lease.
      const changed = await change(found, await this.#now(connection), connection)
      if (changed === undefined) return undefined
      await this.#store(connection, found, changed)
      return changed.operation
    })
  }

  async #store(connection: SqlConnection, found: OperationRow, changed: Changed): Promise<void> {
    const { operation, leaseVersion = found.leaseVersion, intended = found.intended, items = found.items } = changed
    const columns: Readonly<Record<string, unknown>> = {
      state: operation.state,
      expires_at: operation.expiresAtMs ?? null,
      ended_at: operation.endedAtMs ?? null,
      owner: operation.runner ?? null,
      lease_version: leaseVersion,
      lease_until: operation.leaseUntilMs ?? null,
      items,
      body: bodyOf(operation),
      intended: intended.length === 0 ? null : JSON.stringify(intended.map(rangeToJson)),
    }
    await this.#send(connection, (b) => {
      const set = Object.entries(columns).map(([name, value]) => `${name} = ${b.bind(value)}`)
      return `UPDATE ${this.#tables.operation} SET ${set.join(', ')} WHERE id = ${b.bind(operation.id)}`
    })
  }

  async #addItem(connection: SqlConnection, id: string, no: number, item: OperationItem): Promise<void> {
    const { topic, partition, offset, outcome, detail } = item
    await this.#send(connection, (b) => {
      const values = [id, no, topic, partition, offset, outcome, detail].map((value) => b.bind(value))
      const columns = 'id, no, topic, part, record_offset, outcome, detail'
      return insertOnce(this.#tables.item, columns, values, this.#dialect)
    })
  }

  async #read(where: (bindings: Bindings) => string, limit: number): Promise<readonly StoredOperation[]> {
    return this.#database.connection(async (connection) => {
      const { rows } = await this.#send(
        connection,
        (b) => `${this.#select} WHERE ${where(b)} ORDER BY id DESC LIMIT ${limit}`,
      )
      const outcomes = await this.#outcomes(
        connection,
        rows.map(({ id }) => String(id)),
      )
      return rows.map((row) => operationOf(row, outcomes.get(String(row['id'])) ?? noOutcomes).operation)
    })
  }

  async #outcomes(connection: SqlConnection, ids: readonly string[]): Promise<ReadonlyMap<string, ReplayOutcomes>> {
    if (ids.length === 0) return new Map()
    const sum = (column: string): string => `${asText(`SUM(${column})`, this.#dialect)} AS ${column}`
    const { rows } = await this.#send(
      connection,
      (b) =>
        `SELECT id, ${['succeeded', 'retrying', 'failed_again', 'skipped'].map(sum).join(', ')} ` +
        `FROM ${this.#tables.tally} WHERE ${inList('id', ids, b)} GROUP BY id`,
    )
    return new Map(rows.map((row) => [String(row['id']), outcomesOf(row)]))
  }

  async #now(connection: SqlConnection): Promise<number> {
    const { rows } = await this.#send(connection, () => `SELECT ${databaseNowMs[this.#dialect]} AS now_ms`)
    return Number(rows[0]?.['now_ms'])
  }

  get #select(): string {
    const version = asText('lease_version', this.#dialect)
    return (
      `SELECT id, type, target, state, by_whom, idempotency_key, created_at, expires_at, ended_at, owner, ` +
      `${version} AS lease_version, lease_until, items, frozen, body, intended FROM ${this.#tables.operation}`
    )
  }

  #send(connection: SqlConnection, write: (bindings: Bindings) => string): ReturnType<typeof sendStatement> {
    return sendStatement(connection, this.#dialect, write)
  }

  #inTransaction<T>(work: (connection: SqlConnection) => Promise<T>): Promise<T> {
    return shortTransaction(this.#database, this.#runtime, work)
  }
}

function ofOutcome(outcome: OperationItem['outcome'] | undefined, b: Bindings): string {
  return outcome === undefined ? '' : ` AND outcome = ${b.bind(outcome)}`
}

function isExpired({ state, expiresAtMs }: StoredOperation, now: number): boolean {
  return state === 'PLANNED' && expiresAtMs !== undefined && expiresAtMs <= now
}

function itemOf(row: FoundRow): OperationItem {
  return {
    topic: String(row['topic']),
    partition: Number(row['part']),
    offset: BigInt(String(row['record_offset'])),
    outcome: String(row['outcome']) as OperationItem['outcome'],
    detail: String(row['detail']),
  }
}

function outcomesOf(row: FoundRow): ReplayOutcomes {
  const count = (column: string): bigint => BigInt(String(row[column]))
  return {
    succeeded: count('succeeded'),
    retrying: count('retrying'),
    failedAgain: count('failed_again'),
    skipped: count('skipped'),
  }
}
