/** The dead letter index in a database: readers move positions in the transaction that adds the rows. */

import { type Runtime, StateError } from '@waybill/core'
import {
  type DeadLetterFacet,
  type DeadLetterFacetCounts,
  type DeadLetterFilter,
  type DeadLetterIndex,
  type DeadLetterRef,
  type DeadLetterState,
  type FailureGroup,
  type FailureGroupHour,
  type FailureGroupOrder,
  type IndexedDeadLetter,
  type IndexMove,
  type IndexPosition,
  letterCursor,
  type Page,
  type PageQuery,
  readLetterCursor,
  type SqlConnection,
} from '@waybill/core/internal'
import { shortTransaction } from '../database/short-transaction.ts'
import type { SqlDatabase, SqlDialect } from '../database/sql-database.ts'
import type { Bindings } from '../dialect/bindings.ts'
import { asText, type FoundRow, insertOnce, sendStatement } from '../operation/admin-statement.ts'
import { readFacets, readGroupHours, readGroups, readTotal } from './letter-aggregates.ts'
import { isAfter, isOneOfRefs, listOrder, lockingRows, rowsOf } from './letter-conditions.ts'
import { CountChanges } from './letter-counts.ts'
import { letterColumns, letterOf, refKey, selectedColumns, valuesOf } from './letter-row.ts'
import type { LetterTables } from './letter-tables.ts'
import { repeatedOnConflict } from './repeat-on-conflict.ts'

/** Rows of one statement. */
const maxRows = 200
/** Rows that one transaction deletes. */
const maxForgotten = 1_000

/** Another reader moved a position: the transaction is rolled back. */
const positionMoved = new StateError('Another reader moved the position.')

/** See the file's comment. */
export class SqlDeadLetterIndex implements DeadLetterIndex {
  readonly mode = 'INDEX'
  readonly #database: Pick<SqlDatabase<never>, 'connection' | 'dialect'>
  readonly #dialect: SqlDialect
  readonly #tables: LetterTables
  readonly #runtime: Runtime

  constructor(database: Pick<SqlDatabase<never>, 'connection' | 'dialect'>, tables: LetterTables, runtime: Runtime) {
    this.#database = database
    this.#dialect = database.dialect
    this.#tables = tables
    this.#runtime = runtime
  }

  async put(letters: readonly IndexedDeadLetter[], moves: readonly IndexMove[]): Promise<boolean> {
    const unique = [...new Map(letters.map((letter) => [refKey(letter), letter])).values()]
    try {
      await this.#inTransaction(async (connection) => {
        for (const move of moves) await this.#move(connection, move)
        const changes = new CountChanges()
        for (let at = 0; at < unique.length; at += maxRows)
          await this.#add(connection, unique.slice(at, at + maxRows), changes)
        await changes.write(connection, this.#dialect, this.#tables)
      })
      return true
    } catch (error) {
      if (error === positionMoved) return false
      throw error
    }
  }

  async positions(cluster: string, topic: string): Promise<readonly IndexPosition[]> {
    const { rows } = await this.#read(
      (b) =>
        `SELECT part, ${asText('next_offset', this.#dialect)} AS next_text, rule FROM ${this.#tables.position} ` +
        `WHERE cluster = ${b.bind(cluster)} AND topic = ${b.bind(topic)} ORDER BY part`,
    )
    return rows.map((row) => ({
      cluster,
      topic,
      partition: Number(row['part']),
      next: BigInt(String(row['next_text'])),
      rule: String(row['rule']),
    }))
  }

  async query(filter: DeadLetterFilter, { limit, cursor }: PageQuery): Promise<Page<IndexedDeadLetter>> {
    return this.#database.connection(async (connection) => {
      const { rows } = await this.#send(connection, (b) => {
        const where = rowsOf(filter, b)
        const after = cursor === undefined ? '' : ` AND ${isAfter(readLetterCursor(cursor), b)}`
        return (
          `SELECT ${selectedColumns(this.#dialect)} FROM ${this.#tables.letter} ` +
          `WHERE ${where}${after} ORDER BY ${listOrder} LIMIT ${limit + 1}`
        )
      })
      const items = rows.slice(0, limit).map(letterOf)
      const last = items.at(-1)
      return {
        items,
        next: rows.length > limit && last !== undefined ? letterCursor(last) : null,
        total: await readTotal(connection, this.#dialect, this.#tables, filter),
      }
    })
  }

  async groups(filter: DeadLetterFilter, order: FailureGroupOrder, page: PageQuery): Promise<Page<FailureGroup>> {
    return this.#database.connection((connection) =>
      readGroups(connection, this.#dialect, this.#tables, { filter, order, page }),
    )
  }

  async groupHours(
    { bindings }: Pick<DeadLetterFilter, 'bindings'>,
    groups: readonly string[],
    fromHour: number,
  ): Promise<readonly FailureGroupHour[]> {
    return this.#database.connection((connection) =>
      readGroupHours(connection, this.#dialect, this.#tables, { bindings, groups, fromHour }),
    )
  }

  async facets(
    filter: DeadLetterFilter,
    by: readonly DeadLetterFacet[],
  ): Promise<Partial<Record<DeadLetterFacet, DeadLetterFacetCounts>>> {
    return this.#database.connection((connection) =>
      readFacets(connection, this.#dialect, this.#tables, { filter, by }),
    )
  }

  async get(ref: DeadLetterRef): Promise<IndexedDeadLetter | undefined> {
    const { rows } = await this.#read((b) => `${this.#select} WHERE ${isOneOfRefs([ref], b)}`)
    return rows.map(letterOf)[0]
  }

  async mark(
    refs: readonly DeadLetterRef[],
    from: readonly DeadLetterState[],
    to: DeadLetterState,
    operation: string | undefined,
  ): Promise<readonly DeadLetterRef[]> {
    const marked: DeadLetterRef[] = []
    for (let at = 0; at < refs.length; at += maxRows) {
      const chunk = refs.slice(at, at + maxRows)
      const done = await this.#inTransaction(async (connection) => {
        const found = await this.#lock(connection, (b) => isOneOfRefs(chunk, b))
        const isDone = (one: IndexedDeadLetter): boolean => one.state === to && one.operation === operation
        const changed = found.filter((one) => !isDone(one) && from.includes(one.state))
        const changes = new CountChanges()
        await this.#setState(connection, changed, { state: to, operation: operation ?? null }, changes)
        await changes.write(connection, this.#dialect, this.#tables)
        return [...changed, ...found.filter(isDone)]
      })
      marked.push(...done)
    }
    const keys = new Set(marked.map(refKey))
    return refs.filter((ref) => keys.has(refKey(ref)))
  }

  async annotate(group: string, change: Parameters<DeadLetterIndex['annotate']>[1], by: string): Promise<void> {
    const now = this.#runtime.clock.now()
    await this.#inTransaction(async (connection) => {
      await this.#send(connection, (b) => {
        const values = [group, 'OPEN', null, by, now].map((value) => b.bind(value))
        return insertOnce(this.#tables.group, 'id, state, note, by_whom, at_ms', values, this.#dialect)
      })
      await this.#send(connection, (b) => {
        const set = [
          ...(change.state === undefined ? [] : [`state = ${b.bind(change.state)}, at_ms = ${b.bind(now)}`]),
          ...(change.note === undefined ? [] : [`note = ${b.bind(change.note)}`]),
          `by_whom = ${b.bind(by)}`,
        ]
        return `UPDATE ${this.#tables.group} SET ${set.join(', ')} WHERE id = ${b.bind(group)}`
      })
    })
  }

  async forget({ cluster, topic, partition }: Omit<DeadLetterRef, 'offset'>, before: bigint): Promise<number> {
    let forgotten = 0
    for (;;) {
      const deleted = await this.#inTransaction(async (connection) => {
        const doomed = await this.#lock(
          connection,
          (b) =>
            `cluster = ${b.bind(cluster)} AND topic = ${b.bind(topic)} AND part = ${b.bind(partition)} ` +
            `AND record_offset < ${b.bind(before)}`,
          `ORDER BY record_offset LIMIT ${maxForgotten}`,
        )
        if (doomed.length === 0) return 0
        await this.#send(connection, (b) => `DELETE FROM ${this.#tables.letter} WHERE ${isOneOfRefs(doomed, b)}`)
        const changes = new CountChanges()
        for (const one of doomed) changes.remove(one)
        await changes.write(connection, this.#dialect, this.#tables)
        return doomed.length
      })
      forgotten += deleted
      if (deleted < maxForgotten) return forgotten
    }
  }

  async reset(cluster: string, topic: string): Promise<void> {
    await this.#inTransaction(async (connection) => {
      // Positions first, as readers lock them first.
      for (const table of [this.#tables.position, this.#tables.letter, this.#tables.count])
        await this.#send(
          connection,
          (b) => `DELETE FROM ${table} WHERE cluster = ${b.bind(cluster)} AND topic = ${b.bind(topic)}`,
        )
    })
  }

  /** Moves a position. @throws positionMoved if another reader did */
  async #move(connection: SqlConnection, { cluster, topic, partition, next, rule, after }: IndexMove): Promise<void> {
    const where = (b: Bindings): string =>
      `cluster = ${b.bind(cluster)} AND topic = ${b.bind(topic)} AND part = ${b.bind(partition)}`
    const read = async (): Promise<FoundRow | undefined> => {
      const columns = `${asText('next_offset', this.#dialect)} AS next_text, rule`
      const { rows } = await this.#send(
        connection,
        (b) => `SELECT ${columns} FROM ${this.#tables.position} WHERE ${where(b)}${lockingRows(this.#dialect)}`,
      )
      return rows[0]
    }
    const known = await read()
    if (known === undefined) {
      if (after !== undefined) throw positionMoved
      await this.#send(connection, (b) => {
        const values = [cluster, topic, partition, next, rule].map((value) => b.bind(value))
        return insertOnce(this.#tables.position, 'cluster, topic, part, next_offset, rule', values, this.#dialect)
      })
      // Another reader may have been faster, with the same offset at best.
      const stored = await read()
      if (stored === undefined || !isAt(stored, next, rule)) throw positionMoved
      return
    }
    const isExpected = known['rule'] === rule ? after !== undefined && isAt(known, after, rule) : after === undefined
    if (!isExpected) throw positionMoved
    await this.#send(
      connection,
      (b) =>
        `UPDATE ${this.#tables.position} SET next_offset = ${b.bind(next)}, rule = ${b.bind(rule)} WHERE ${where(b)}`,
    )
  }

  async #add(connection: SqlConnection, letters: readonly IndexedDeadLetter[], changes: CountChanges): Promise<void> {
    const known = new Map(
      (await this.#lock(connection, (b) => isOneOfRefs(letters, b))).map((one) => [refKey(one), one]),
    )
    const added = letters.filter((letter) => !known.has(refKey(letter)))
    if (added.length > 0)
      await this.#send(connection, (b) => {
        const rows = added.map(
          (letter) =>
            `(${valuesOf(letter)
              .map((value) => b.bind(value))
              .join(', ')})`,
        )
        return `INSERT INTO ${this.#tables.letter} (${letterColumns.join(', ')}) VALUES ${rows.join(', ')}`
      })
    for (const letter of added) changes.add(letter)
    for (const letter of letters) {
      const one = known.get(refKey(letter))
      if (one !== undefined) await this.#replace(connection, one, letter, changes)
    }
    await this.#failAgain(connection, added, changes)
  }

  /** Another rule groups a known dead letter anew. Its state stays. */
  async #replace(
    connection: SqlConnection,
    known: IndexedDeadLetter,
    letter: IndexedDeadLetter,
    changes: CountChanges,
  ): Promise<void> {
    const next = { ...letter, state: known.state, operation: known.operation }
    if (JSON.stringify(valuesOf(known), bigIntText) === JSON.stringify(valuesOf(next), bigIntText)) return
    await this.#send(connection, (b) => {
      const values = valuesOf(next)
      const set = letterColumns.map((name, at) => `${name} = ${b.bind(values[at])}`)
      return `UPDATE ${this.#tables.letter} SET ${set.join(', ')} WHERE ${isOneOfRefs([known], b)}`
    })
    changes.remove(known)
    changes.add(next)
  }

  /** The copies of these records died: the dead letters that they were copied from failed again. */
  async #failAgain(
    connection: SqlConnection,
    added: readonly IndexedDeadLetter[],
    changes: CountChanges,
  ): Promise<void> {
    const again = added.filter(({ replayCount, originalOffset }) => replayCount > 0 && originalOffset >= 0n)
    if (again.length === 0) return
    const found = await this.#lock(connection, (b) => {
      const originals = again.map(
        (one) =>
          `(original_topic = ${b.bind(one.originalTopic)} AND original_part = ${b.bind(one.originalPartition)} ` +
          `AND original_offset = ${b.bind(one.originalOffset)})`,
      )
      return `(${originals.join(' OR ')}) AND state = 'REPLAYED'`
    })
    const failed = found.filter((one) => again.some((copy) => isEarlier(one, copy)))
    await this.#setState(connection, failed, { state: 'FAILED_AGAIN' }, changes)
  }

  async #setState(
    connection: SqlConnection,
    letters: readonly IndexedDeadLetter[],
    { state, operation }: { readonly state: DeadLetterState; readonly operation?: string | null },
    changes: CountChanges,
  ): Promise<void> {
    if (letters.length === 0) return
    await this.#send(connection, (b) => {
      const set = [`state = ${b.bind(state)}`, ...(operation === undefined ? [] : [`operation = ${b.bind(operation)}`])]
      return `UPDATE ${this.#tables.letter} SET ${set.join(', ')} WHERE ${isOneOfRefs(letters, b)}`
    })
    for (const letter of letters) {
      changes.remove(letter)
      changes.add({ ...letter, state })
    }
  }

  /** Locks and reads dead letters. */
  async #lock(
    connection: SqlConnection,
    where: (b: Bindings) => string,
    suffix = '',
  ): Promise<readonly IndexedDeadLetter[]> {
    const { rows } = await this.#send(
      connection,
      (b) => `${this.#select} WHERE ${where(b)} ${suffix}${lockingRows(this.#dialect)}`,
    )
    return rows.map(letterOf)
  }

  get #select(): string {
    return `SELECT ${selectedColumns(this.#dialect)} FROM ${this.#tables.letter}`
  }

  #send(connection: SqlConnection, write: (b: Bindings) => string): ReturnType<typeof sendStatement> {
    return sendStatement(connection, this.#dialect, write)
  }

  #read(write: (b: Bindings) => string): ReturnType<typeof sendStatement> {
    return this.#database.connection((connection) => this.#send(connection, write))
  }

  #inTransaction<T>(work: (connection: SqlConnection) => Promise<T>): Promise<T> {
    return repeatedOnConflict(() => shortTransaction(this.#database, this.#runtime, work))
  }
}

function isAt(row: FoundRow, next: bigint, rule: string): boolean {
  return row['next_text'] === String(next) && row['rule'] === rule
}

function isEarlier(one: IndexedDeadLetter, copy: IndexedDeadLetter): boolean {
  return (
    one.replayCount < copy.replayCount &&
    one.cluster === copy.cluster &&
    one.consumerGroup === copy.consumerGroup &&
    one.originalTopic === copy.originalTopic &&
    one.originalPartition === copy.originalPartition &&
    one.originalOffset === copy.originalOffset
  )
}

function bigIntText(_name: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value
}
