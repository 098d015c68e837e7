/**
 * Inserts 500 events and drains them, many times over, while another transaction holds a snapshot open: finished rows
 * cannot be vacuumed. The database CPU per event must not grow meanwhile.
 */

import { fromPg } from '@waybill/sql'
import pg from 'pg'
import { aggregateType, eventType, keys, payloads, shards } from './bench-events.ts'
import { cpuNanosOf } from './drain-meter.ts'
import { createEngine, type Mode } from './engine.ts'
import { openPostgres } from './open-postgres.ts'
import { answer, givenTask } from './participant-process.ts'

export interface SnapshotTask {
  readonly mode: Mode
  readonly url: string
  readonly blocks: number
}

export interface SnapshotResult {
  /** Database CPU of the outbox per event: in the first fifth of the blocks, and in the last. */
  readonly firstMicros: number
  readonly lastMicros: number
}

const rowsPerBlock = 500
/** The poller reads back five seconds. Before that time it scans less, with or without a snapshot. */
const warmMs = 6_000
const { mode, url, blocks } = givenTask() as SnapshotTask
const { pool, pids } = await openPostgres(url)
const side = new pg.Pool({ connectionString: url, max: 2 })
const holder = await side.connect()
await holder.query('BEGIN ISOLATION LEVEL REPEATABLE READ')
await holder.query('SELECT count(*) FROM outbox_event')

let left = 0
let drained = Promise.withResolvers<void>()
const outbox = createEngine({
  mode,
  whenDone: 'DELETE',
  database: fromPg(pool),
  intervalMs: 20,
  done(events) {
    left -= events
    if (left === 0) drained.resolve()
  },
})
await outbox.start()
const nanos = cpuNanosOf(pids)

async function runBlocks(count: number): Promise<number> {
  const before = nanos()
  for (let block = 0; block < count; block++) {
    left = rowsPerBlock
    drained = Promise.withResolvers()
    await side.query(
      `INSERT INTO outbox_event (event_id, event_type, aggregate_type, aggregate_id, payload, occurred_at, shard)
       SELECT gen_random_uuid()::text, $1, $2, ($3::text[])[k], ($4::json[])[k], 1750000000000, ($5::smallint[])[k]
       FROM generate_series(1, ${rowsPerBlock}) AS k`,
      [eventType, aggregateType, keys, payloads, shards],
    )
    await drained.promise
  }
  return (nanos() - before) / 1_000 / (count * rowsPerBlock)
}

const fifth = Math.ceil(blocks / 5)
for (const since = performance.now(); performance.now() - since < warmMs; ) await runBlocks(1)
const firstMicros = await runBlocks(fifth)
await runBlocks(blocks - 2 * fifth)
const lastMicros = await runBlocks(fifth)
answer({ firstMicros, lastMicros } satisfies SnapshotResult)
