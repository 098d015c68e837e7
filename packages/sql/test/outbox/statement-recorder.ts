import { createEnvelope } from '@waybill/core'
import { type SqlConnection } from '@waybill/core/internal'
import { type OutboxStore } from '@waybill/outbox'
import { type RowRef, type ShardLease, shardCount } from '@waybill/outbox/internal'
import type { SqlDatabase } from '@waybill/sql'

/** A statement as a store sends it. */
export interface SentStatement {
  readonly text: string
  readonly values: readonly unknown[]
}

/** A session that writes down what it is sent and answers as the real one does. */
export function recordStatements(connection: SqlConnection): { connection: SqlConnection; sent: SentStatement[] } {
  const sent: SentStatement[] = []
  return {
    sent,
    connection: {
      query(text, values) {
        sent.push({ text, values })
        return connection.query(text, values)
      },
    },
  }
}

export const allShards: readonly number[] = Array.from({ length: shardCount }, (_, shard) => shard)

/** Inserts so many rows in bulk. */
export async function fillOutbox<Tx>(database: SqlDatabase<Tx>, store: OutboxStore, count: number): Promise<RowRef[]> {
  const events = Array.from({ length: count }, (_, index) =>
    createEnvelope({ eventType: 'order.placed', aggregateType: 'order', aggregateId: `o-${index}`, payloadJson: '{}' }),
  )
  const { seqs } = await database.transaction((tx) =>
    store.insertNew(database.enlist(tx).currentConnection(), events, { lease: null, availableAt: null }),
  )
  return seqs.map((seq, index) => ({ seq, eventId: (events[index] as (typeof events)[number]).eventId }))
}

const query = { status: 'NEW', limit: 100, maxBytes: 1_000_000, skipRecentMs: 0, floor: null, shards: null } as const
const lease = { owner: 'a', version: 1n, timeoutMs: 60_000 }

/** The regular calls of the engine, by the index that must serve them. */
export function looksForWork(
  floor: bigint,
): readonly (readonly [
  title: string,
  index: string,
  look: (store: OutboxStore, connection: SqlConnection) => Promise<unknown>,
])[] {
  return [
    ['a look for NEW rows', 'new', (store, c) => store.pollPending(c, query)],
    ['a claim of NEW rows', 'new', (store, c) => store.claimPending(c, lease, query)],
    ['a claim above a floor', 'new', (store, c) => store.claimPending(c, lease, { ...query, floor })],
    ['a claim of old enough rows', 'new', (store, c) => store.claimPending(c, lease, { ...query, skipRecentMs: 1 })],
    [
      'a claim of some shards',
      'new',
      (store, c) => store.claimPending(c, lease, { ...query, shards: allShards.slice(0, 9) }),
    ],
    [
      'a claim of one shard',
      'pending',
      (store, c) => store.claimPending(c, lease, { ...query, shards: [7], limit: 10 }),
    ],
    ['a claim of RETRY rows', 'due', (store, c) => store.claimPending(c, lease, { ...query, status: 'RETRY' })],
    [
      'a look into shards',
      'pending',
      (store, c) =>
        store.readShards(c, {
          shards: allShards.map((shard) => ({ shard, floor, without: [] })),
          limit: 10,
          maxBytes: 1_000_000,
        }),
    ],
    [
      'a look below a read of shards',
      'pending',
      (store, c) =>
        store.earlierRows(
          c,
          allShards.map((shard) => ({
            shard,
            above: 1n,
            upTo: floor * 500n,
            keys: [{ aggregateType: 'order', aggregateId: 'o-1' }],
            except: [floor],
          })),
        ),
    ],
    [
      'a purge',
      'done',
      (store, c) => store.purge(c, { kind: 'FINISHED', status: 'DONE', olderThanMs: 0, limit: 100, archive: false }),
    ],
  ]
}

/** How rows are finished: all by the primary key. */
export function finishes(
  rows: readonly RowRef[],
  leases: readonly ShardLease[],
): readonly (readonly [title: string, finish: (store: OutboxStore, connection: SqlConnection) => Promise<unknown>])[] {
  const failed = rows.map((row) => ({ ...row, attempts: 1, delayMs: 0, error: 'e' }))
  return [
    ['DONE by lease', (store, c) => store.markDone(c, rows, { kind: 'LEASE', ...lease }, { whenDone: 'KEEP' })],
    ['DONE by shards', (store, c) => store.markDone(c, rows, { kind: 'SHARDS', leases }, { whenDone: 'DELETE' })],
    ['RETRY', (store, c) => store.markRetry(c, failed, { kind: 'NONE' })],
    ['DEAD', (store, c) => store.markDead(c, failed, { kind: 'NONE' })],
  ]
}
