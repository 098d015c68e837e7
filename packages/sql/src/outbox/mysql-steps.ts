import { StateError } from '@waybill/core'
import { type SqlConnection } from '@waybill/core/internal'
import type { InsertedRows, LeaseFence, PurgeRequest, ShardLease } from '@waybill/outbox/internal'
import { inTransaction, repeated, rethrowLocked } from '../database/mysql-transaction.ts'
import type { Bindings } from '../dialect/bindings.ts'
import { loadLarge } from './load-large.ts'
import { type Row, seqOf } from './row/row-codec.ts'
import { pendingStatus } from './row/row-index.ts'
import type { StorableEvent } from './row/storable-event.ts'
import { run, type StoreContext } from './row/store-context.ts'
import type { RowSteps } from './row-steps.ts'
import { copyToHistory, isArchived } from './statement/archive.ts'
import { isHeldBy, lockRows, selectClaimable } from './statement/claim.ts'
import { insertByValues } from './statement/insert.ts'
import { inlineBytes, takeWithin } from './statement/measured-rows.ts'
import { deleteOld, lockOld, selectOld } from './statement/purge.ts'
import { isNamed, type RowChange } from './statement/row-change.ts'
import { heldShards, untakenShards } from './statement/shard-fence.ts'
import { createMissing, renewShards, selectLeases, selectTakeable, takeLocked } from './statement/shard-lease.ts'

/**
 * Creates the steps for MySQL and MariaDB. An UPDATE cannot return the rows it changed, so most steps are short
 * transactions.
 */
export function mysqlSteps(context: StoreContext): RowSteps {
  const { grammar, tables } = context
  const isMariaDb = memoizeFirst(async (connection) => {
    const { rows } = await connection.query('SELECT version() AS version', [])
    return String(rows[0]?.['version']).includes('MariaDB')
  })

  /** Returns the WHERE of a change. Whether the leases of its shards, or of the table, hold is checked afterward. */
  const condition = (change: RowChange, bindings: Bindings): string => {
    const { fence } = change
    const parts = [isNamed(context, change, bindings), pendingStatus]
    if (fence.kind === 'LEASE') parts.push(isHeldBy(fence, bindings))
    if (fence.kind === 'SHARDS') parts.push(grammar.isOneOf('shard', fence.leases.map(shardIn), bindings))
    return parts.join(' AND ')
  }

  /**
   * Share-locks the leases until the transaction ends, so that none is taken over before its commit. Comes after the
   * rows are locked: the lease could not be renewed while a row is waited for.
   * @returns the shards whose leases hold
   */
  const lockShards = async (
    connection: SqlConnection,
    fence: LeaseFence & { readonly kind: 'SHARDS' | 'TABLE' },
  ): Promise<ReadonlySet<number>> => {
    const held = (bindings: Bindings): string =>
      fence.kind === 'TABLE'
        ? untakenShards(context, [fence.lease], bindings)
        : heldShards(context, fence.leases, bindings)
    const { rows } = await run(connection, grammar, (bindings) => `${held(bindings)} LOCK IN SHARE MODE`)
    return new Set(rows.map((row) => Number(row['shard'])))
  }

  /** Whether every lease of the fence holds. */
  const areAllHeld = async (connection: SqlConnection, fence: LeaseFence): Promise<boolean> => {
    if (fence.kind === 'NONE' || fence.kind === 'LEASE') return true
    const held = await lockShards(connection, fence)
    return held.size === (fence.kind === 'TABLE' ? 1 : fence.leases.length)
  }

  /** Returns the numbers of the locked rows that the fence allows to change. */
  const allowedOf = async (
    connection: SqlConnection,
    fence: LeaseFence,
    rows: readonly Row[],
  ): Promise<readonly bigint[]> => {
    if (fence.kind === 'NONE' || fence.kind === 'LEASE') return rows.map(seqOf)
    const held = await lockShards(connection, fence)
    const allowed = fence.kind === 'TABLE' ? (held.size > 0 ? rows : []) : rows.filter(isIn(held))
    return allowed.map(seqOf)
  }

  /** Copies rows to the history, unless they were replayed since. @returns those that may be deleted */
  const archived = async (
    connection: SqlConnection,
    purge: PurgeRequest,
    seqs: readonly bigint[],
  ): Promise<readonly bigint[]> => {
    const { rows } = await run(connection, grammar, lockOld(context, purge, seqs))
    const locked = rows.map(seqOf)
    if (locked.length > 0) await run(connection, grammar, copyToHistory(context, locked))
    return locked
  }

  const apply = (connection: SqlConnection, change: RowChange): Promise<number> =>
    run(connection, grammar, (bindings) => `${change.action(bindings)} WHERE ${condition(change, bindings)}`)
      .catch(rethrowLocked)
      .then(({ changed }) => changed)

  /** Selects the rows that the change will match, and then applies it: for the rare case that it is not all of them. */
  const changeSome = (connection: SqlConnection, change: RowChange): Promise<bigint[]> =>
    inTransaction(connection, async () => {
      const { rows } = await run(
        connection,
        grammar,
        (bindings) => `SELECT seq, shard FROM ${tables.event.quoted} WHERE ${condition(change, bindings)} FOR UPDATE`,
      ).catch(rethrowLocked)
      const seqs = await allowedOf(connection, change.fence, rows)
      if (seqs.length > 0) await apply(connection, { ...change, seqs, eventIds: null })
      return [...seqs]
    })

  return {
    async insert(connection, events, options) {
      const insert = insertByValues(context, events, options)
      if (await isMariaDb(connection)) {
        const { rows } = await run(connection, grammar, (bindings) => `${insert(bindings)} RETURNING seq, event_id`)
        return inserted(events, rows)
      }
      await run(connection, grammar, insert)
      const ids = events.map(({ eventId }) => eventId)
      const { rows } = await run(
        connection,
        grammar,
        (bindings) =>
          `SELECT seq, event_id FROM ${tables.event.quoted} WHERE ${grammar.isOneOfTexts('event_id', ids, bindings)}`,
      )
      return inserted(events, rows)
    },
    claim: (connection, lease, query) =>
      inTransaction(connection, async () => {
        const most = inlineBytes(query)
        const { rows } = await run(connection, grammar, selectClaimable(context, lease, query, most))
        const taken = takeWithin(rows, query.maxBytes)
        if (taken.length > 0) await run(connection, grammar, lockRows(context, lease, taken.map(seqOf)))
        return loadLarge(connection, context, taken, most)
      }),
    async change(connection, change) {
      // Nearly always all rows change, and then the affected count says so.
      const isWhole = await inTransaction(connection, async () => {
        const changed = await apply(connection, change)
        if (changed === change.seqs.length && (await areAllHeld(connection, change.fence))) return true
        await connection.query('ROLLBACK', [])
        return false
      })
      return isWhole ? [...change.seqs] : changeSome(connection, change)
    },
    unlockedRows: (connection, seqs) =>
      inTransaction(connection, async () => {
        const { rows } = await run(
          connection,
          grammar,
          (bindings) =>
            `SELECT seq FROM ${tables.event.quoted} WHERE ${grammar.isOneOf('seq', seqs, bindings)} FOR UPDATE SKIP LOCKED`,
        )
        return rows
      }),
    purge: (connection, purge) =>
      inTransaction(connection, async () => {
        const { rows } = await run(connection, grammar, selectOld(context, purge))
        if (rows.length === 0) return 0
        const seqs = isArchived(purge) ? await archived(connection, purge, rows.map(seqOf)) : rows.map(seqOf)
        if (seqs.length === 0) return 0
        const { changed } = await run(connection, grammar, deleteOld(context, purge, seqs))
        return changed
      }),
    takeShards: async (connection, take) => {
      await repeated(() => run(connection, grammar, createMissing(context, take.shards)))
      return inTransaction(connection, async () => {
        const { rows } = await run(connection, grammar, selectTakeable(context, take))
        if (rows.length === 0) return []
        const shards = rows.map((row) => Number(row['shard']))
        await run(connection, grammar, takeLocked(context, { ...take, shards }))
        return rows.map((row) => ({ ...row, owner: take.owner, version: BigInt(String(row['version'])) + 1n }))
      })
    },
    renewShards: (connection, leases, timeoutMs) =>
      inTransaction(connection, async () => {
        await run(connection, grammar, renewShards(context, leases, timeoutMs))
        const { rows } = await run(connection, grammar, selectLeases(context, leases))
        return rows
      }),
  }
}

function shardIn({ shard }: ShardLease): number {
  return shard
}

function isIn(shards: ReadonlySet<number>): (row: Row) => boolean {
  return (row) => shards.has(Number(row['shard']))
}

/**
 * Matches numbers by id: MySQL guarantees their order only with some server settings. It does not expose whether a
 * savepoint is open.
 */
function inserted(events: readonly StorableEvent[], rows: readonly Row[]): InsertedRows {
  const found = new Map(rows.map((row) => [String(row['event_id']), seqOf(row)]))
  const seqs = events.map(({ eventId }) => {
    const seq = found.get(eventId)
    if (seq === undefined) throw new StateError(`The row of event ${eventId} is missing after its insert.`)
    return seq
  })
  return { seqs, areBoundToCommit: false }
}

/** Memoizes the first successful result. */
function memoizeFirst(ask: (connection: SqlConnection) => Promise<boolean>) {
  let known: boolean | undefined
  return async (connection: SqlConnection): Promise<boolean> => {
    known ??= await ask(connection)
    return known
  }
}
