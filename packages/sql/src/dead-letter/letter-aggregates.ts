/** Reads failure groups, facets and totals of the dead letter index. */

import type { DeadLetterReason } from '@waybill/core'
import {
  type DeadLetterFacet,
  type DeadLetterFacetCounts,
  type DeadLetterFilter,
  type DeadLetterState,
  type FacetValues,
  type FailureGroup,
  type FailureGroupHour,
  type FailureGroupOrder,
  type FailureGroupState,
  facetCountsOf,
  type GroupTriage,
  groupCursor,
  groupStateOf,
  type IndexedDeadLetter,
  type Page,
  type PageQuery,
  type PageTotal,
  rankOf,
  readGroupCursor,
  type SqlConnection,
} from '@waybill/core/internal'
import type { SqlDialect } from '../database/sql-database.ts'
import { asText, type FoundRow, inList, sendStatement } from '../operation/admin-statement.ts'
import { countsOf, isCounted, listOrder, rowsOf } from './letter-conditions.ts'
import { letterOf, selectedColumns } from './letter-row.ts'
import type { LetterTables } from './letter-tables.ts'

/** Counting of rows stops here. */
const maxCounted = 10_000
/** Groups whose newest dead letter one statement reads. */
const maxNewest = 50

const rankColumns: Readonly<Record<FailureGroupOrder, string>> = { COUNT: 'n', FIRST: 'first_at', LAST: 'last_at' }

/** Reads a page of failure groups. */
export async function readGroups(
  connection: SqlConnection,
  dialect: SqlDialect,
  tables: LetterTables,
  {
    filter,
    order,
    page,
  }: { readonly filter: DeadLetterFilter; readonly order: FailureGroupOrder; readonly page: PageQuery },
): Promise<Page<FailureGroup>> {
  const { limit, cursor } = page
  const rank = `g.${rankColumns[order]}`
  const { rows } = await sendStatement(connection, dialect, (b) => {
    const replayed = "SUM(CASE WHEN state IN ('REPLAYED', 'SUCCEEDED', 'FAILED_AGAIN') THEN n ELSE 0 END)"
    const failed = "SUM(CASE WHEN state = 'FAILED_AGAIN' THEN n ELSE 0 END)"
    const groups =
      `SELECT group_id, SUM(n) AS n, MIN(first_at) AS first_at, MAX(last_at) AS last_at, ${replayed} AS replayed, ` +
      `${failed} AS failed_again FROM ${countsOf(tables, filter, b)} s GROUP BY group_id`
    const after = cursor === undefined ? undefined : readGroupCursor(cursor)
    const where =
      after === undefined
        ? ''
        : ` WHERE ${rank} < ${b.bind(after.rank)} OR (${rank} = ${b.bind(after.rank)} AND g.group_id > ${b.bind(after.group)})`
    const names = ['n', 'first_at', 'last_at', 'replayed', 'failed_again']
    const columns = names.map((name) => `${asText(`g.${name}`, dialect)} AS ${name}_text`).join(', ')
    return `SELECT g.group_id AS group_id, ${columns} FROM (${groups}) g${where} ORDER BY ${rank} DESC, g.group_id LIMIT ${limit + 1}`
  })
  const shown = rows.slice(0, limit)
  const newest = await readNewest(connection, dialect, tables, filter, shown)
  const triages = await readTriages(connection, dialect, tables, shown.map(groupIdOf))
  const items = shown.flatMap((row) => groupOf(row, newest.get(groupIdOf(row)), triages.get(groupIdOf(row))))
  const last = rows.length > limit ? items.at(-1) : undefined
  return {
    items,
    next: last === undefined ? null : groupCursor({ rank: rankOf(last, order), group: last.group }),
    total: { count: await countGroups(connection, dialect, tables, filter), isExact: true },
  }
}

/** Reads the counts of groups by the hour of death, from an hour on. */
export async function readGroupHours(
  connection: SqlConnection,
  dialect: SqlDialect,
  { count }: LetterTables,
  {
    bindings,
    groups,
    fromHour,
  }: Pick<DeadLetterFilter, 'bindings'> & { readonly groups: readonly string[]; readonly fromHour: number },
): Promise<readonly FailureGroupHour[]> {
  if (groups.length === 0 || bindings?.length === 0) return []
  const { rows } = await sendStatement(connection, dialect, (b) => {
    const conditions = [inList('group_id', groups, b), `died_hour >= ${b.bind(fromHour)}`]
    if (bindings !== undefined) conditions.push(inList('binding', bindings, b))
    const n = asText('SUM(n)', dialect)
    return `SELECT group_id, died_hour, ${n} AS n_text FROM ${count} WHERE ${conditions.join(' AND ')} GROUP BY group_id, died_hour`
  })
  return rows.flatMap((row) => {
    const counted = BigInt(String(row['n_text']))
    return counted > 0n ? [{ group: groupIdOf(row), hour: Number(row['died_hour']), count: counted }] : []
  })
}

/** Reads the counts of facets. */
export async function readFacets(
  connection: SqlConnection,
  dialect: SqlDialect,
  tables: LetterTables,
  { filter, by }: { readonly filter: DeadLetterFilter; readonly by: readonly DeadLetterFacet[] },
): Promise<Partial<Record<DeadLetterFacet, DeadLetterFacetCounts>>> {
  const { rows } = await sendStatement(connection, dialect, (b) => {
    const columns = 'event_type, exception, binding, reason, state'
    const sum = asText('SUM(n)', dialect)
    return `SELECT ${columns}, ${sum} AS n_text FROM ${countsOf(tables, filter, b)} s GROUP BY ${columns}`
  })
  return facetCountsOf(rows.map(facetValuesOf), by)
}

/** Counts the dead letters of a filter: exactly from counts, up to a bound from rows. */
export async function readTotal(
  connection: SqlConnection,
  dialect: SqlDialect,
  tables: LetterTables,
  filter: DeadLetterFilter,
): Promise<PageTotal> {
  const isExact = isCounted(filter)
  const { rows } = await sendStatement(connection, dialect, (b) =>
    isExact
      ? `SELECT ${asText('COALESCE(SUM(n), 0)', dialect)} AS n_text FROM ${countsOf(tables, filter, b)} s`
      : `SELECT ${asText('COUNT(*)', dialect)} AS n_text FROM ` +
        `(SELECT 1 AS one FROM ${tables.letter} WHERE ${rowsOf(filter, b)} LIMIT ${maxCounted + 1}) s`,
  )
  const count = BigInt(String(rows[0]?.['n_text']))
  if (isExact || count <= maxCounted) return { count, isExact: true }
  return { count: BigInt(maxCounted), isExact: false }
}

async function countGroups(
  connection: SqlConnection,
  dialect: SqlDialect,
  tables: LetterTables,
  filter: DeadLetterFilter,
): Promise<bigint> {
  const { rows } = await sendStatement(
    connection,
    dialect,
    (b) => `SELECT ${asText('COUNT(DISTINCT group_id)', dialect)} AS n_text FROM ${countsOf(tables, filter, b)} s`,
  )
  return BigInt(String(rows[0]?.['n_text']))
}

/** Reads the newest dead letter of each group. Its time is known, which an index serves. */
async function readNewest(
  connection: SqlConnection,
  dialect: SqlDialect,
  tables: LetterTables,
  filter: DeadLetterFilter,
  groups: readonly FoundRow[],
): Promise<ReadonlyMap<string, IndexedDeadLetter>> {
  const newest = new Map<string, IndexedDeadLetter>()
  for (let at = 0; at < groups.length; at += maxNewest) {
    const chunk = groups.slice(at, at + maxNewest)
    const { rows } = await sendStatement(connection, dialect, (b) =>
      chunk
        .map((row) => {
          const where = `${rowsOf({ ...filter, group: groupIdOf(row) }, b)} AND dead_at = ${b.bind(Number(row['last_at_text']))}`
          const one = `SELECT * FROM ${tables.letter} WHERE ${where} ORDER BY ${listOrder} LIMIT 1`
          return `SELECT ${selectedColumns(dialect)} FROM (${one}) newest`
        })
        .join(' UNION ALL '),
    )
    for (const letter of rows.map(letterOf)) newest.set(letter.group, letter)
  }
  return newest
}

async function readTriages(
  connection: SqlConnection,
  dialect: SqlDialect,
  { group }: LetterTables,
  ids: readonly string[],
): Promise<ReadonlyMap<string, GroupTriage>> {
  if (ids.length === 0) return new Map()
  const { rows } = await sendStatement(
    connection,
    dialect,
    (b) => `SELECT id, state, note, by_whom, at_ms FROM ${group} WHERE ${inList('id', ids, b)}`,
  )
  return new Map(rows.map((row) => [String(row['id']), triageOf(row)]))
}

function triageOf(row: FoundRow): GroupTriage {
  return {
    state: String(row['state']) as FailureGroupState,
    note: typeof row['note'] === 'string' ? row['note'] : undefined,
    by: String(row['by_whom']),
    atMs: Number(row['at_ms']),
  }
}

/** A group whose dead letters were deleted between two statements is left out. */
function groupOf(
  row: FoundRow,
  newest: IndexedDeadLetter | undefined,
  triage: GroupTriage | undefined,
): readonly FailureGroup[] {
  if (newest === undefined) return []
  const { group, binding, eventType, exception, message, frame, cluster, topic, partition, offset } = newest
  const lastAtMs = Number(row['last_at_text'])
  return [
    {
      group,
      state: groupStateOf(triage, lastAtMs),
      note: triage?.note,
      by: triage?.by,
      count: BigInt(String(row['n_text'])),
      firstAtMs: Number(row['first_at_text']),
      lastAtMs,
      binding,
      eventType,
      exception,
      message,
      frame,
      sample: { cluster, topic, partition, offset },
      replayed: BigInt(String(row['replayed_text'])),
      failedAgain: BigInt(String(row['failed_again_text'])),
    },
  ]
}

function facetValuesOf(row: FoundRow): FacetValues {
  return {
    eventType: String(row['event_type']),
    exception: String(row['exception']),
    binding: String(row['binding']),
    reason: String(row['reason']) as DeadLetterReason,
    state: String(row['state']) as DeadLetterState,
    count: BigInt(String(row['n_text'])),
  }
}

function groupIdOf(row: FoundRow): string {
  return String(row['group_id'])
}
