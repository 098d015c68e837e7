/** Drains a filled table and prints the cost, in a process of its own for each contestant. */

import type { WhenDone } from '@waybill/outbox/internal'
import { fromPg } from '@waybill/sql'
import { cpuNanosOf, DrainMeter, type DrainResult } from './drain-meter.ts'
import { createEngine, type Mode, writeHot } from './engine.ts'
import { openPostgres } from './open-postgres.ts'
import { answer, givenTask } from './participant-process.ts'
import { type RawDesign, rawDrains } from './raw-postgres.ts'

/** The contestant. COLD finds rows in the table; HOT writes them itself and delivers from memory. */
export type DrainContestant =
  | { readonly kind: 'RAW'; readonly design: RawDesign }
  | { readonly kind: 'COLD'; readonly mode: Mode; readonly whenDone: WhenDone; readonly table?: string }
  | { readonly kind: 'HOT'; readonly whenDone: WhenDone }

/** The work of one run. The first `warm` events are not counted. */
export interface DrainTask {
  readonly contestant: DrainContestant
  readonly url: string
  readonly warm: number
  readonly count: number
}

async function drain({ contestant, url, warm, count }: DrainTask): Promise<DrainResult> {
  const { pool, pids } = await openPostgres(url)
  const meter = new DrainMeter(warm, count, cpuNanosOf(pids))
  if (contestant.kind === 'RAW') {
    await rawDrains[contestant.design](await pool.connect(), meter.done)
    return meter.finished
  }
  const database = fromPg(pool)
  if (contestant.kind === 'COLD') {
    await createEngine({ ...contestant, database, done: meter.done }).start()
    return meter.finished
  }
  const { whenDone } = contestant
  const hotQueueCapacity = warm + count
  const outbox = createEngine({ mode: 'multiNode', whenDone, database, hotQueueCapacity, done: meter.done })
  await outbox.start()
  await writeHot(outbox, database, warm, () => {})
  await meter.warmed
  await writeHot(outbox, database, count, () => meter.begin())
  return meter.finished
}

answer(await drain(givenTask() as DrainTask))
