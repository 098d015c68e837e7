import type { SqlConnection } from '@waybill/core/internal'
import { type LeaseFence, type PurgeRequest, RowsLockedError } from '@waybill/outbox/internal'
import { commitOrRollBack } from '../database/commit-or-roll-back.ts'
import type { Bindings } from '../dialect/bindings.ts'
import { serverAnswerOf } from '../error/server-answer.ts'
import { type Row, seqOf } from './row/row-codec.ts'
import { pendingStatus } from './row/row-index.ts'
import { run, type StoreContext } from './row/store-context.ts'
import type { RowSteps } from './row-steps.ts'
import { byValue } from './seq-order.ts'
import { archiveReturning, copyToHistory, isArchived } from './statement/archive.ts'
import { claimReturning, isHeldBy } from './statement/claim.ts'
import { insertByArrays, insertByValues } from './statement/insert.ts'
import { deleteOld, oldRows, purgeReturning } from './statement/purge.ts'
import { isNamed, type RowChange } from './statement/row-change.ts'
import { isInHeldShard, isTableHeld } from './statement/shard-fence.ts'
import { renewShards, takeReturning } from './statement/shard-lease.ts'

/**
 * Up to this many rows are sent to PostgreSQL as lists of values: for one row, which most transactions write, that
 * takes half the CPU time of arrays (115 instead of 205 microseconds). Above, the length of the text would count.
 */
const mostValueRows = 8

/**
 * PostgreSQL gives a savepoint's writes their own transaction id, so each row shows whether it was created in one: for
 * free, whichever statement set the savepoint. It also returns the transaction's own name, which is compared on commit.
 * SQLite has neither.
 */
const provenance = ', xmin = pg_current_xact_id()::xid AS bound, pg_current_xact_id()::text AS transaction'

/** Creates the steps for PostgreSQL and SQLite: each is one statement, a transaction by itself. */
export function returningSteps(context: StoreContext): RowSteps {
  const { grammar } = context
  const isPostgres = grammar.dialect === 'postgres'
  const { answerOf, readAnswer } = isPostgres ? countedAnswer : listedAnswer
  return {
    async insert(connection, events, options) {
      const byArrays = isPostgres && events.length > mostValueRows
      const insert = (byArrays ? insertByArrays : insertByValues)(context, events, options)
      const returned = isPostgres ? `seq${provenance}` : 'seq'
      const { rows } = await run(connection, grammar, (bindings) => `${insert(bindings)} RETURNING ${returned}`)
      return { seqs: rows.map(seqOf).toSorted(byValue), areBoundToCommit: areBound(connection, rows) }
    },
    async claim(connection, lease, query) {
      const { rows } = await run(connection, grammar, claimReturning(context, lease, query))
      return rows
    },
    async change(connection, change) {
      const { rows } = await run(connection, grammar, (bindings) =>
        answerOf(changeRows(context, change, bindings), change, bindings),
      ).catch(rethrowLocked)
      return readAnswer(change, rows)
    },
    async unlockedRows(connection, seqs) {
      // SQLite has one writer at a time, and no row locks.
      const skip = isPostgres ? ' FOR UPDATE SKIP LOCKED' : ''
      const { rows } = await run(
        connection,
        grammar,
        (bindings) =>
          `SELECT seq FROM ${context.tables.event.quoted} WHERE ${grammar.isOneOf('seq', seqs, bindings)}${skip}`,
      )
      return rows
    },
    async purge(connection, purge) {
      if (isArchived(purge)) return (isPostgres ? archiveAtOnce : archiveInSteps)(context, connection, purge)
      const { changed } = await run(connection, grammar, purgeReturning(context, purge))
      return changed
    },
    async takeShards(connection, take) {
      const { rows } = await run(connection, grammar, takeReturning(context, take))
      return rows
    },
    async renewShards(connection, leases, timeoutMs) {
      const renew = renewShards(context, leases, timeoutMs)
      const { rows } = await run(
        connection,
        grammar,
        (bindings) => `${renew(bindings)} RETURNING shard, owner, version`,
      )
      return rows
    },
  }
}

/** Whether only the whole transaction can undo the inserted rows, and its commit can be verified by name. */
function areBound(connection: SqlConnection, rows: readonly Row[]): boolean {
  const transaction = rows[0]?.['transaction']
  if (typeof transaction !== 'string' || connection.ranIn === undefined) return false
  connection.ranIn(transaction)
  return rows.every((row) => row['bound'] === true)
}

async function archiveAtOnce(context: StoreContext, connection: SqlConnection, purge: PurgeRequest): Promise<number> {
  return (await run(connection, context.grammar, archiveReturning(context, purge))).changed
}

/** SQLite has no statement that deletes and inserts. The rows are chosen once: time passes between statements. */
async function archiveInSteps(context: StoreContext, connection: SqlConnection, purge: PurgeRequest): Promise<number> {
  const { grammar } = context
  await connection.query('BEGIN IMMEDIATE', [])
  return commitOrRollBack(connection, async () => {
    const { rows } = await run(connection, grammar, (bindings) => oldRows(context, purge, bindings))
    if (rows.length === 0) return 0
    const seqs = rows.map(seqOf)
    await run(connection, grammar, copyToHistory(context, seqs))
    return (await run(connection, grammar, deleteOld(context, purge, seqs))).changed
  })
}

/** Returns the statement that applies a change and returns the rows it changed. */
function changeRows(context: StoreContext, change: RowChange, bindings: Bindings): string {
  const start = `${change.action(bindings)} WHERE ${isNamed(context, change, bindings)} AND ${pendingStatus}`
  const wait = context.grammar.dialect === 'postgres' ? ` AND ${waitsShortly}` : ''
  return `${start}${fenceCondition(context, change.fence, bindings)}${wait} RETURNING seq`
}

/**
 * Limits the time that this statement waits for locked rows. It holds share locks on leases while it waits, and blocks
 * their renewal; by default PostgreSQL has no limit. The condition is evaluated once, before any row.
 */
const waitsShortly = "(SELECT set_config('lock_timeout', '200ms', true)) IS NOT NULL"

const lockNotAvailable = '55P03'

function rethrowLocked(error: unknown): never {
  const answer = serverAnswerOf(error)
  if (answer?.server === 'POSTGRES' && answer.sqlState === lockNotAvailable) throw new RowsLockedError(error)
  throw error
}

/** How the changed rows are returned. */
interface ChangeAnswer {
  /** Wraps the statement to return the expected result. */
  readonly answerOf: (statement: string, change: RowChange, bindings: Bindings) => string
  readonly readAnswer: (change: RowChange, rows: readonly Row[]) => bigint[]
}

const listedAnswer: ChangeAnswer = {
  answerOf: (statement) => statement,
  readAnswer: (_, rows) => rows.map(seqOf),
}

/** Nearly always all rows change, and a count says so: returning hundreds of rows costs as much as settling them. */
const countedAnswer: ChangeAnswer = {
  answerOf: (statement, { seqs }, bindings) =>
    `WITH changed AS (${statement}) SELECT count(*) AS count, CASE WHEN count(*) < ${bindings.bind(seqs.length)} ` +
    `THEN (SELECT string_agg(seq::text, ' ') FROM changed) END AS seqs FROM changed`,
  readAnswer: ({ seqs }, [row]) => {
    if (Number(row?.['count']) === seqs.length) return [...seqs]
    const listed = row?.['seqs']
    return typeof listed === 'string' ? listed.split(' ').map(BigInt) : []
  },
}

function fenceCondition(context: StoreContext, fence: LeaseFence, bindings: Bindings): string {
  switch (fence.kind) {
    case 'NONE':
      return ''
    case 'LEASE':
      return ` AND ${isHeldBy(fence, bindings)}`
    case 'TABLE':
      return ` AND ${isTableHeld(context, fence.lease, bindings)}`
    case 'SHARDS':
      return ` AND ${isInHeldShard(context, fence.leases, bindings)}`
  }
}
