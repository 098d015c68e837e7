/** The outbox beside raw SQL of the same run, on PostgreSQL and MariaDB, and beside other outboxes and job queues. */

import type { BenchOptions } from '../bench-options.ts'
import { PostgresTables } from './postgres-tables.ts'
import { runDrains } from './run-drains.ts'
import { runBacklog, runSnapshots } from './run-growth.ts'
import { runLatency } from './run-latency.ts'
import { runMariaDb } from './run-mariadb.ts'
import { runPublish } from './run-publish.ts'
import { runRivals } from './run-rivals.ts'

/** Runs every case whose name contains `only`. */
export async function runOutboxBench(options: BenchOptions): Promise<void> {
  await using tables = await PostgresTables.create()
  await runDrains(tables, options)
  await runRivals(options)
  await runMariaDb(options)
  await runPublish(tables, options)
  await runLatency(tables, options)
  await runSnapshots(tables, options)
  await runBacklog(tables, options)
}
