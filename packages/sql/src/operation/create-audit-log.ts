import type { AuditEntry, AuditLog } from '@waybill/core'
import type { AuditedChange, AuditQuery, AuditReader, Page, PageQuery } from '@waybill/core/internal'
import { requireDatabase } from '../database/required-argument.ts'
import type { SqlDatabase } from '../database/sql-database.ts'
import type { Bindings } from '../dialect/bindings.ts'
import { type FoundRow, inList, insertOnce, sendStatement } from './admin-statement.ts'
import { adminTables } from './admin-tables.ts'
import { type AdminTableOptions, resolveAdminTable } from './create-operation-store.ts'

/** Entries of requests, and entries of outcomes. A refused operation has one that is both. */
const phase = { request: 0, outcome: 1 } as const

/**
 * Creates an audit log in a database, which can be read. `migrate(database, { tables: { admin: 'waybill' } })` creates its
 * table. Entries are only added.
 *
 * @throws an OptionsError, or an ArgumentError for an invalid table name
 */
export function createAuditLog<Tx>(database: SqlDatabase<Tx>, options: AdminTableOptions = {}): AuditLog & AuditReader {
  requireDatabase('createAuditLog', database)
  const { table } = resolveAdminTable('createAuditLog', options)
  const { dialect } = database
  const { audit } = adminTables(table, dialect)

  return {
    async write(entry: AuditEntry) {
      const { id, atMs, by, operation, target, outcome, reason, request, detail, scope, via, address } = entry
      const isOutcome = outcome === 'DONE' || outcome === 'FAILED'
      const body = JSON.stringify({ reason, request, detail, scope, via, address })
      await database.connection((connection) =>
        sendStatement(connection, dialect, (b) => {
          const at = isOutcome ? phase.outcome : phase.request
          const values = [id, at, atMs, by, operation, target, outcome, body].map((value) => b.bind(value))
          return insertOnce(audit, 'id, phase, at_ms, by_whom, operation, target, outcome, body', values, dialect)
        }),
      )
    },

    async query(query: AuditQuery, { limit, cursor }: PageQuery): Promise<Page<AuditedChange>> {
      const { rows } = await database.connection((connection) =>
        sendStatement(
          connection,
          dialect,
          (b) =>
            `SELECT a.id AS id, a.at_ms AS at_ms, a.by_whom AS by_whom, a.operation AS operation, a.target AS target, ` +
            `a.outcome AS outcome, a.body AS body, e.at_ms AS end_ms, e.outcome AS end_outcome, e.body AS end_body ` +
            `FROM ${audit} a LEFT JOIN ${audit} e ON e.id = a.id AND e.phase = ${phase.outcome} ` +
            `WHERE a.phase = ${phase.request}${conditionsOf(query, cursor, b)} ORDER BY a.id DESC LIMIT ${limit + 1}`,
        ),
      )
      const items = rows.slice(0, limit).map(changeOf)
      return { items, next: rows.length > limit ? (items.at(-1)?.id ?? null) : null }
    },
  }
}

function conditionsOf(query: AuditQuery, cursor: string | undefined, b: Bindings): string {
  const conditions = [
    ...(query.by === undefined ? [] : [`a.by_whom = ${b.bind(query.by)}`]),
    ...(query.operation === undefined ? [] : [`a.operation = ${b.bind(query.operation)}`]),
    ...(query.target === undefined ? [] : [`a.target = ${b.bind(query.target)}`]),
    ...(query.outcomes === undefined ? [] : [inList('COALESCE(e.outcome, a.outcome)', query.outcomes, b)]),
    ...(query.sinceMs === undefined ? [] : [`a.at_ms >= ${b.bind(query.sinceMs)}`]),
    ...(query.untilMs === undefined ? [] : [`a.at_ms < ${b.bind(query.untilMs)}`]),
    ...(cursor === undefined ? [] : [`a.id < ${b.bind(cursor)}`]),
  ]
  return conditions.map((condition) => ` AND ${condition}`).join('')
}

interface BodyJson extends Pick<AuditEntry, 'scope' | 'via' | 'address'> {
  readonly reason?: string
  readonly request?: unknown
  readonly detail?: unknown
}

function changeOf(row: FoundRow): AuditedChange {
  const { reason, request, detail, scope, via, address } = JSON.parse(String(row['body'])) as BodyJson
  const hasEnded = typeof row['end_body'] === 'string'
  const outcome = String(hasEnded ? row['end_outcome'] : row['outcome']) as AuditEntry['outcome']
  const atMs = Number(row['at_ms'])
  return {
    id: String(row['id']),
    atMs,
    by: String(row['by_whom']),
    reason,
    operation: String(row['operation']),
    target: String(row['target']),
    request,
    outcome,
    detail: hasEnded ? (JSON.parse(String(row['end_body'])) as BodyJson).detail : detail,
    scope,
    ...(via === undefined ? {} : { via }),
    ...(address === undefined ? {} : { address }),
    endedAtMs: hasEnded ? Number(row['end_ms']) : outcome === 'ASKED' ? undefined : atMs,
  }
}
