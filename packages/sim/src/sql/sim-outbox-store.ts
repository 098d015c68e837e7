import { StateError } from '@waybill/core'
import { type SqlConnection } from '@waybill/core/internal'
import { type OutboxStore } from '@waybill/outbox'
import { checkOwner, checkStorable, type RowRef } from '@waybill/outbox/internal'
import { asSent } from './sim-outbox-row.ts'
import type { SimOutboxTable } from './sim-outbox-table.ts'
import type { SimRowLocks } from './sim-row-locks.ts'
import { SimSession } from './sim-session.ts'
import { SimSqlError, type SimStatement } from './sql-faults.ts'

/**
 * The store of a simulated database: each call is one statement, which commits by itself. Only inserts are part of a
 * transaction, as only they are in the engine.
 */
export function createSimOutboxStore(table: SimOutboxTable, locks: SimRowLocks): OutboxStore {
  const change = <T>(
    connection: SqlConnection,
    statement: SimStatement,
    rows: readonly RowRef[],
    effect: () => T,
  ): Promise<T> => run(connection, statement, effect, () => locks.pass(rows))
  return {
    async insertNew(connection, events, options) {
      for (const event of events) checkStorable(event, null)
      if (options.lease !== null) checkOwner(options.lease.owner)
      const session = sessionOf(connection)
      const { tx } = session
      if (tx === undefined) throw new StateError('Rows are inserted in a transaction.')
      return session.execute('insertNew', () => {
        tx.requireOpen()
        const taken = events.find(({ eventId }) => table.find(eventId) !== undefined)
        if (taken !== undefined) throw new SimSqlError('REFUSED', `There is a row of event ${taken.eventId} already.`)
        const rows = table.insert(events, options)
        tx.add(rows)
        // Of half of the rows it cannot tell, as some databases cannot.
        const canTell = rows.every(({ seq }) => seq % 2n === 0n)
        return { seqs: rows.map(({ seq }) => seq), areBoundToCommit: canTell && !tx.isInSavepoint }
      })
    },
    findPending: async (connection, seqs) => run(connection, 'findPending', () => table.findPending(seqs)),
    pollPending: async (connection, query) => run(connection, 'pollPending', () => table.pollPending(query)),
    claimPending: async (connection, lease, query) => {
      checkOwner(lease.owner)
      return run(connection, 'claimPending', () => table.claimPending(lease, query, (seq) => locks.isLocked(seq)))
    },
    renew: async (connection, rows, lease) => change(connection, 'renew', rows, () => table.renew(rows, lease)),
    release: async (connection, rows, lease) => change(connection, 'release', rows, () => table.release(rows, lease)),
    markDone: async (connection, rows, fence, { whenDone }) => {
      const sent = asSent(fence)
      return change(connection, 'markDone', rows, () => table.markDone(rows, sent, whenDone))
    },
    markRetry: async (connection, rows, fence) => {
      const sent = asSent(fence)
      return change(connection, 'markRetry', rows, () => table.markRetry(rows, sent))
    },
    markDead: async (connection, rows, fence) => {
      const sent = asSent(fence)
      return change(connection, 'markDead', rows, () => table.markDead(rows, sent))
    },
    lockedRows: async (connection, rows) =>
      run(
        connection,
        'lockedRows',
        () => new Set(rows.map(({ seq }) => seq).filter((seq) => locks.isLocked(seq) && table.has(seq))),
      ),
    statusOf: async (connection, eventIds) => run(connection, 'statusOf', () => table.statusOf(eventIds)),
    backlog: async (connection, { countUpTo }) => run(connection, 'backlog', () => table.backlog(countUpTo)),
    queryDead: async (connection, query) => run(connection, 'queryDead', () => table.queryDead(query)),
    countDead: async (connection, filter) => run(connection, 'countDead', () => table.countDead(filter)),
    replayDead: async (connection, eventIds) => run(connection, 'replayDead', () => table.replayDead(eventIds)),
    deleteDead: async (connection, eventIds) => run(connection, 'deleteDead', () => table.deleteDead(eventIds)),
    find: async (connection, eventId) => run(connection, 'find', () => table.findEvent(eventId)),
    blockers: async (connection, query) => run(connection, 'blockers', () => table.blockers(query)),
    purge: async (connection, purge) => run(connection, 'purge', () => table.purge(purge)),
    takeShards: async (connection, owner, shards, timeoutMs) => {
      checkOwner(owner)
      return run(connection, 'takeShards', () => table.leases.take(owner, shards, timeoutMs))
    },
    renewShards: async (connection, leases, timeoutMs) =>
      run(connection, 'renewShards', () => table.leases.renew(leases, timeoutMs)),
    releaseShards: async (connection, leases) => run(connection, 'releaseShards', () => table.leases.release(leases)),
    shardOwners: async (connection) => run(connection, 'shardOwners', () => table.leases.owners()),
    readShards: async (connection, query) => run(connection, 'readShards', () => table.readShards(query)),
    earlierRows: async (connection, parts) => run(connection, 'earlierRows', () => table.earlierRows(parts)),
    openNumbers: async (connection) => run(connection, 'openNumbers', () => table.openNumbers()),
    deadKeys: async (connection, query) => run(connection, 'deadKeys', () => table.deadKeys(query)),
  }
}

function sessionOf(connection: SqlConnection): SimSession {
  if (connection instanceof SimSession) return connection
  throw new StateError('The store of a simulated database takes connections of that database alone.')
}

/** Runs a statement that commits by itself. */
function run<T>(
  connection: SqlConnection,
  statement: SimStatement,
  effect: () => T,
  before?: () => Promise<void>,
): Promise<T> {
  const session = sessionOf(connection)
  if (session.tx !== undefined)
    throw new StateError(`${statement} runs outside of transactions here.`, {
      hint: 'Lend it a connection of its own: database.connection(…).',
    })
  return session.execute(statement, effect, before)
}
