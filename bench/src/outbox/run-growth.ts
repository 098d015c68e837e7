/** Database CPU per event while a backlog grows, and while no row can be vacuumed. */

import type { BenchOptions } from '../bench-options.ts'
import { compare } from '../statistics.ts'
import type { DrainResult } from './drain-meter.ts'
import type { DrainTask } from './participant.ts'
import { runParticipant } from './participant-process.ts'
import type { PostgresTables } from './postgres-tables.ts'
import type { SnapshotResult, SnapshotTask } from './snapshot-participant.ts'

const backlogName = 'database CPU, 1 million pending'
const unit = 'database CPU µs/event'
const drained = { warm: 2_000, count: 8_000 }

/** Measures the first 10,000 of a million pending rows beside a table of 10,000. */
export async function runBacklog(tables: PostgresTables, options: BenchOptions): Promise<void> {
  const { rounds, only, progress, report } = options
  if (!backlogName.includes(only)) return
  progress(`${backlogName}: filling`)
  await tables.seed('backlog_event', 1_000_000, 'PENDING')
  const micros: Record<'backlog_event' | 'outbox_event', number[]> = { backlog_event: [], outbox_event: [] }
  for (let round = 1; round <= rounds; round++)
    for (const table of ['outbox_event', 'backlog_event'] as const) {
      progress(`${backlogName}: round ${round} of ${rounds}, ${table}`)
      if (table === 'outbox_event') await tables.seed(table, drained.warm + drained.count, 'PENDING')
      const contestant = { kind: 'COLD', mode: 'multiNode', whenDone: 'KEEP', table } as const
      const task: DrainTask = { contestant, url: tables.url, ...drained }
      micros[table].push((await runParticipant<DrainResult>('participant.ts', task)).databaseMicros)
    }
  const names = { bench: 'outbox', case: backlogName, unit, reference: '10,000 pending' }
  report(compare(names, micros.backlog_event, micros.outbox_event, true))
  await tables.seed('backlog_event', 0, 'PENDING')
}

const snapshotCases = [
  { name: 'snapshot held open, DELETE', mode: 'multiNode' },
  { name: 'snapshot held open, keyed, DELETE', mode: 'keyed' },
] as const
const blocks = 300

/** Measures the last fifth of many blocks beside the first. */
export async function runSnapshots(tables: PostgresTables, options: BenchOptions): Promise<void> {
  const { rounds, only, progress, report } = options
  for (const { name, mode } of snapshotCases.filter((one) => one.name.includes(only))) {
    const results: SnapshotResult[] = []
    for (let round = 1; round <= rounds; round++) {
      progress(`${name}: round ${round} of ${rounds}`)
      await tables.seed('outbox_event', 0, 'PENDING')
      const task: SnapshotTask = { mode, url: tables.url, blocks }
      results.push(await runParticipant<SnapshotResult>('snapshot-participant.ts', task))
    }
    const names = { bench: 'outbox', case: name, unit, reference: 'first blocks' }
    const [last, first] = [results.map(({ lastMicros }) => lastMicros), results.map(({ firstMicros }) => firstMicros)]
    report(compare(names, last, first, true))
  }
}
