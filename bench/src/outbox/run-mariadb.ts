import type { BenchOptions } from '../bench-options.ts'
import { compare } from '../statistics.ts'
import type { DrainResult } from './drain-meter.ts'
import type { MariaDbTask } from './mariadb-participant.ts'
import { MariaDbTables } from './mariadb-tables.ts'
import { runParticipant } from './participant-process.ts'

const warm = 25_000
const count = 75_000

const cases = [
  { name: 'MariaDB, cold drain, KEEP', whenDone: 'KEEP' },
  { name: 'MariaDB, cold drain, DELETE', whenDone: 'DELETE' },
] as const

/** Runs cold drains on MariaDB beside the reference of the same run. */
export async function runMariaDb({ rounds, only, progress, report }: BenchOptions): Promise<void> {
  const chosen = cases.filter(({ name }) => name.includes(only))
  if (chosen.length === 0) return
  await using tables = await MariaDbTables.create()
  const rates = new Map<MariaDbTask['contestant'], number[]>()
  for (let round = 1; round <= rounds; round++) {
    progress(`outbox on MariaDB: round ${round} of ${rounds}`)
    for (const contestant of ['REFERENCE', ...chosen.map(({ whenDone }) => whenDone)] as const) {
      const table = contestant === 'REFERENCE' ? 'reference_event' : 'outbox_event'
      await tables.seed(table, warm + count)
      const task: MariaDbTask = { contestant, url: tables.url, warm, count }
      const { perSecond } = await runParticipant<DrainResult>('mariadb-participant.ts', task)
      await tables.requireDrained(table)
      rates.set(contestant, [...(rates.get(contestant) ?? []), perSecond])
    }
  }
  for (const { name, whenDone } of chosen) {
    const names = { bench: 'outbox', case: name, unit: 'events/s', reference: 'batched SQL' }
    report(compare(names, rates.get(whenDone) ?? [], rates.get('REFERENCE') ?? []))
  }
}
