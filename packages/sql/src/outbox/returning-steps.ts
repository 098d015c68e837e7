import type { Fence } from '@waybill/core/outbox'
import type { Bindings } from '../dialect/bindings.ts'
import { type Row, seqOf } from './row-codec.ts'
import { pendingStatus } from './row-index.ts'
import type { RowSteps } from './row-steps.ts'
import { byValue } from './seq-order.ts'
import { claimReturning, isHeldBy } from './statement/claim.ts'
import { insertByArrays, insertByValues } from './statement/insert.ts'
import { purgeReturning } from './statement/purge.ts'
import type { RowChange } from './statement/row-change.ts'
import { isInHeldShard } from './statement/shard-fence.ts'
import { renewShards, takeReturning } from './statement/shard-lease.ts'
import { run, type StoreContext } from './store-context.ts'

/**
 * Up to so many rows PostgreSQL is given as lists of values: for one row, which is what most transactions write, that takes
 * half the time of arrays (115 instead of 205 microseconds of its CPU). Above, the length of the text would begin to count.
 */
const mostValueRows = 8

/**
 * PostgreSQL numbers a savepoint's writes apart from those of its transaction, so each row tells whether it was made in one:
 * free, and true whoever set the savepoint, by whatever statement. SQLite knows no such thing.
 */
const isOutsideSavepoints = ', xmin = pg_current_xact_id()::xid AS bound'

/** PostgreSQL and SQLite: every step is one statement, which is a transaction by itself. */
export function returningSteps(context: StoreContext): RowSteps {
  const { grammar } = context
  const isPostgres = grammar.dialect === 'postgres'
  const bound = isPostgres ? isOutsideSavepoints : ''
  const { answerOf, readAnswer } = isPostgres ? countedAnswer : listedAnswer
  return {
    async insert(connection, events, options) {
      const byArrays = isPostgres && events.length > mostValueRows
      const insert = (byArrays ? insertByArrays : insertByValues)(context, events, options)
      const { rows } = await run(connection, grammar, (bindings) => `${insert(bindings)} RETURNING seq${bound}`)
      return { seqs: rows.map(seqOf).toSorted(byValue), areBoundToCommit: rows.every((row) => row['bound'] === true) }
    },
    async claim(connection, lease, query) {
      const { rows } = await run(connection, grammar, claimReturning(context, lease, query))
      return rows
    },
    async change(connection, change) {
      const { rows } = await run(connection, grammar, (bindings) =>
        answerOf(changeRows(context, change, bindings), change, bindings),
      )
      return readAnswer(change, rows)
    },
    async purge(connection, purge) {
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

/** The statement that makes a change and returns the rows it changed. */
function changeRows(context: StoreContext, { seqs, fence, action }: RowChange, bindings: Bindings): string {
  const start = `${action(bindings)} WHERE ${context.grammar.isOneOf('seq', seqs, bindings)} AND ${pendingStatus}`
  return `${start}${fenceCondition(context, fence, bindings)} RETURNING seq`
}

/** How the rows of a change come back. */
interface ChangeAnswer {
  /** Wraps the statement so that it answers what is read. */
  readonly answerOf: (statement: string, change: RowChange, bindings: Bindings) => string
  readonly readAnswer: (change: RowChange, rows: readonly Row[]) => bigint[]
}

const listedAnswer: ChangeAnswer = {
  answerOf: (statement) => statement,
  readAnswer: (_, rows) => rows.map(seqOf),
}

/** Nearly always all rows change, and then a number says so: hundreds of answered rows cost as much as their finish. */
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

function fenceCondition(context: StoreContext, fence: Fence, bindings: Bindings): string {
  switch (fence.kind) {
    case 'NONE':
      return ''
    case 'LEASE':
      return ` AND ${isHeldBy(fence, bindings)}`
    case 'SHARDS':
      return ` AND ${isInHeldShard(context, fence.leases, bindings)}`
  }
}
