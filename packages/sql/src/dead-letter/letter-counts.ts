/** The numbers of dead letters with the same values, by the hour in which they died, kept beside the rows. */

import { createHash } from 'node:crypto'
import type { IndexedDeadLetter, SqlConnection } from '@waybill/core/internal'
import type { SqlDialect } from '../database/sql-database.ts'
import { inList, sendStatement } from '../operation/admin-statement.ts'
import { hourOf } from './letter-conditions.ts'
import type { LetterTables } from './letter-tables.ts'

/** The values of a dead letter that are counted. */
export type CountedLetter = Pick<
  IndexedDeadLetter,
  'cluster' | 'topic' | 'binding' | 'group' | 'eventType' | 'exception' | 'reason' | 'state' | 'deadAtMs'
>

interface Change {
  readonly letter: CountedLetter
  n: number
  firstAtMs: number
  lastAtMs: number
}

/** Collects the changes of counts in a transaction, and writes them at its end. */
export class CountChanges {
  readonly #changes = new Map<string, Change>()

  add(letter: CountedLetter): void {
    const change = this.#changeOf(letter)
    change.n++
    change.firstAtMs = Math.min(change.firstAtMs, letter.deadAtMs)
    change.lastAtMs = Math.max(change.lastAtMs, letter.deadAtMs)
  }

  remove(letter: CountedLetter): void {
    this.#changeOf(letter).n--
  }

  #changeOf(letter: CountedLetter): Change {
    const id = countId(letter)
    let change = this.#changes.get(id)
    if (change === undefined) {
      change = { letter, n: 0, firstAtMs: letter.deadAtMs, lastAtMs: letter.deadAtMs }
      this.#changes.set(id, change)
    }
    return change
  }

  /** Writes the changes, after the rows were changed. In the order of ids: two transactions do not wait for each other. */
  async write(connection: SqlConnection, dialect: SqlDialect, tables: LetterTables): Promise<void> {
    const sorted = [...this.#changes]
      .filter(([, { n }]) => n !== 0)
      .toSorted(([one], [other]) => (one < other ? -1 : 1))
    for (const [id, change] of sorted)
      if (change.n > 0) await increase(connection, dialect, tables, id, change)
      else await decrease(connection, dialect, tables, id, change)
  }
}

function countId({
  cluster,
  topic,
  binding,
  group,
  eventType,
  exception,
  reason,
  state,
  deadAtMs,
}: CountedLetter): string {
  const values = [cluster, topic, binding ?? '', group, eventType ?? '', exception, reason, state, hourOf(deadAtMs)]
  return createHash('sha256').update(JSON.stringify(values)).digest('hex').slice(0, 32)
}

const columns =
  'id, cluster, topic, binding, group_id, event_type, exception, reason, state, died_hour, n, first_at, last_at'

async function increase(
  connection: SqlConnection,
  dialect: SqlDialect,
  { count }: LetterTables,
  id: string,
  { letter, n, firstAtMs, lastAtMs }: Change,
): Promise<void> {
  const { cluster, topic, binding, group, eventType, exception, reason, state, deadAtMs } = letter
  const names = [id, cluster, topic, binding ?? '', group, eventType ?? '', exception, reason, state]
  await sendStatement(connection, dialect, (b) => {
    const values = [...names, hourOf(deadAtMs), n, firstAtMs, lastAtMs].map((value) => b.bind(value))
    return `INSERT INTO ${count} (${columns}) VALUES (${values.join(', ')}) ${merged(count, dialect)}`
  })
}

function merged(count: string, dialect: SqlDialect): string {
  if (dialect === 'mysql')
    return (
      'ON DUPLICATE KEY UPDATE n = n + VALUES(n), first_at = LEAST(first_at, VALUES(first_at)), ' +
      'last_at = GREATEST(last_at, VALUES(last_at))'
    )
  const [least, greatest] = dialect === 'sqlite' ? ['min', 'max'] : ['LEAST', 'GREATEST']
  return (
    `ON CONFLICT (id) DO UPDATE SET n = ${count}.n + excluded.n, ` +
    `first_at = ${least}(${count}.first_at, excluded.first_at), last_at = ${greatest}(${count}.last_at, excluded.last_at)`
  )
}

/** The first and the last one may be gone: what is left is read, by the index on group, state and time. */
async function decrease(
  connection: SqlConnection,
  dialect: SqlDialect,
  { count, letter: rows }: LetterTables,
  id: string,
  { letter, n }: Change,
): Promise<void> {
  const { cluster, topic, binding, group, eventType, exception, reason, state, deadAtMs } = letter
  const hour = hourOf(deadAtMs)
  await sendStatement(connection, dialect, (b) => `UPDATE ${count} SET n = n - ${b.bind(-n)} WHERE id = ${b.bind(id)}`)
  const emptied = await sendStatement(
    connection,
    dialect,
    (b) => `DELETE FROM ${count} WHERE ${inList('id', [id], b)} AND n <= 0`,
  )
  if (emptied.changed > 0) return
  await sendStatement(connection, dialect, (b) => {
    const bound = (aggregate: string): string => {
      const values = [
        ['group_id', group],
        ['state', state],
        ['cluster', cluster],
        ['topic', topic],
        ['binding', binding ?? ''],
        ['event_type', eventType ?? ''],
        ['exception', exception],
        ['reason', reason],
      ] as const
      const same = values.map(([column, value]) => `${column} = ${b.bind(value)}`).join(' AND ')
      const within = `dead_at >= ${b.bind(hour * 3_600_000)} AND dead_at < ${b.bind((hour + 1) * 3_600_000)}`
      return `(SELECT ${aggregate}(dead_at) FROM ${rows} WHERE ${same} AND ${within})`
    }
    return (
      `UPDATE ${count} SET first_at = COALESCE(${bound('MIN')}, first_at), last_at = COALESCE(${bound('MAX')}, last_at) ` +
      `WHERE id = ${b.bind(id)}`
    )
  })
}
