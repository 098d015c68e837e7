/**
 * The time from an event's commit to its listener, one event at a time. HOT: in a transaction whose commit the outbox
 * observes. POLLER: in a transaction that the application opened itself, found by polling every 100 ms.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import { fromPg } from '@waybill/sql'
import { median } from '../statistics.ts'
import { newEvent } from './bench-events.ts'
import { createEngine } from './engine.ts'
import { openPostgres } from './open-postgres.ts'
import { answer, givenTask } from './participant-process.ts'

export interface LatencyTask {
  readonly way: 'HOT' | 'POLLER'
  readonly url: string
  readonly events: number
}

export interface LatencyResult {
  readonly p50Ms: number
}

const pollMs = 100
const warm = 20
const { way, url, events } = givenTask() as LatencyTask
const { pool } = await openPostgres(url)
const database = fromPg(pool)
let arrived = Promise.withResolvers<number>()
const outbox = createEngine({
  mode: 'multiNode',
  whenDone: 'KEEP',
  database,
  intervalMs: way === 'HOT' ? 5_000 : pollMs,
  listeners: { listenerFor: () => async () => arrived.resolve(performance.now()) },
})
await outbox.start()

/** @returns when COMMIT was answered */
async function writeSeen(): Promise<number> {
  let committedAt = 0
  await database.transaction(async () => {
    database.ambient.afterCommit(() => {
      committedAt = performance.now()
    })
    await outbox.writer.write(newEvent())
  })
  return committedAt
}

async function writeUnseen(): Promise<number> {
  const client = await pool.connect()
  try {
    await client.query('BEGIN')
    await outbox.write(client, 'order.placed', {} as never)
    await client.query('COMMIT')
    return performance.now()
  } finally {
    client.release()
  }
}

const latencies: number[] = []
for (let at = 0; at < warm + events; at++) {
  arrived = Promise.withResolvers()
  const committedAt = await (way === 'HOT' ? writeSeen() : writeUnseen())
  const latency = (await arrived.promise) - committedAt
  if (at >= warm) latencies.push(latency)
  // Not a divisor of the interval, so that commits fall on every moment between two polls.
  await sleep(7 + ((at * 17) % 23))
}
answer({ p50Ms: median(latencies) } satisfies LatencyResult)
