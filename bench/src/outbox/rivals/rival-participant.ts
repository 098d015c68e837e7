/** Fills the tables of one contestant, drains them and prints the cost, in a process of its own. */

import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { keys, payloads } from '../bench-events.ts'
import { answer, givenTask } from '../participant-process.ts'
import { CallCounter } from './call-counter.ts'
import type { Rival } from './rival.ts'

const rivals = {
  waybill: async () => (await import('./waybill.ts')).waybill,
  'graphile-worker': async () => (await import('./graphile-worker.ts')).graphileWorker,
  'pg-boss': async () => (await import('./pg-boss.ts')).pgBoss,
  'pg-transactional-outbox': async () => (await import('./pg-transactional-outbox.ts')).pgTransactionalOutbox,
} as const satisfies Readonly<Record<string, () => Promise<Rival>>>

/** The names of the contestants. */
export type RivalName = keyof typeof rivals

/** The work of one run. */
export interface RivalTask {
  readonly rival: RivalName
  readonly url: string
  readonly warm: number
  readonly count: number
}

const settleMs = 15_000
const { rival: name, url, warm, count } = givenTask() as RivalTask
const rival = await rivals[name]()
const pool = new pg.Pool({ connectionString: url, max: 1 })
await rival.seed(
  pool,
  Array.from({ length: warm + count }, (_, number) => {
    const at = number % keys.length
    return { ...(JSON.parse(payloads[at] as string) as object), key: keys[at] as string, number }
  }),
)
await pool.query('VACUUM ANALYZE')
await pool.query('CHECKPOINT')
const counter = new CallCounter(warm, count)
await Promise.all([rival.start(url, async (payload) => counter.call(payload)), counter.finished])

/** Waits until the engine has deleted all rows. What it calls twice meanwhile counts. */
async function countLeft(): Promise<number> {
  const until = performance.now() + settleMs
  for (;;) {
    const { rows } = await pool.query<{ left: number }>(rival.countLeft)
    const left = rows[0]?.left ?? 0
    if (left === 0 || performance.now() > until) return left
    await sleep(100)
  }
}

answer(counter.result(await countLeft()))
