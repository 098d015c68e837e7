/** Drains a filled table of MariaDB, in a process of its own for each contestant. */

import type { WhenDone } from '@waybill/outbox/internal'
import { fromMysql2 } from '@waybill/sql'
import { createPool } from 'mysql2/promise'
import { DrainMeter } from './drain-meter.ts'
import { createEngine } from './engine.ts'
import { drainReference } from './mariadb-tables.ts'
import { answer, givenTask } from './participant-process.ts'

export interface MariaDbTask {
  readonly contestant: 'REFERENCE' | WhenDone
  readonly url: string
  readonly warm: number
  readonly count: number
}

const { contestant, url, warm, count } = givenTask() as MariaDbTask
const pool = createPool({ uri: url, connectionLimit: 4 })
// A session is a thread of the server's one process: its CPU cannot be separated from that of others.
const meter = new DrainMeter(warm, count, () => 0)
if (contestant === 'REFERENCE') await drainReference(await pool.getConnection(), meter.done)
else {
  const database = fromMysql2(pool)
  await createEngine({ mode: 'multiNode', whenDone: contestant, database, done: meter.done }).start()
}
answer(await meter.finished)
