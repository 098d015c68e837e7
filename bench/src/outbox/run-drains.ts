/** Drains of a filled table in interleaved rounds: the reference, each design by hand, and ours. */

import type { BenchOptions } from '../bench-options.ts'
import { type BenchLine, compare } from '../statistics.ts'
import { type DrainCase, drainCases, reference } from './cases.ts'
import type { DrainResult } from './drain-meter.ts'
import type { DrainContestant, DrainTask } from './participant.ts'
import { runParticipant } from './participant-process.ts'
import type { PostgresTables, Seeding } from './postgres-tables.ts'

/** Events before code is compiled: each of them takes up to three times as long, and none is counted. */
const warm = 30_000
const count = 30_000

/** The results of one case in one round. */
type DrainRound = Readonly<Record<'reference' | 'ownDesign' | 'ours', DrainResult>>

/** Runs every case whose name contains `only`. */
export async function runDrains(tables: PostgresTables, options: BenchOptions): Promise<void> {
  const { rounds, only, progress, report } = options
  const chosen = drainCases.filter(({ name }) => name.includes(only))
  if (chosen.length === 0) return
  const results = new Map(chosen.map((one): [DrainCase, DrainRound[]] => [one, []]))
  for (let round = 1; round <= rounds; round++)
    for (const [one, drained] of results) {
      progress(`outbox drains: round ${round} of ${rounds}, ${one.name}`)
      // The reference runs beside each case: the speed of a machine changes within the minute that all cases take.
      drained.push({
        reference: await drainSeeded(tables, reference),
        ownDesign: await drainSeeded(tables, one.ownDesign),
        ours: await drainSeeded(tables, one.ours),
      })
    }
  for (const [{ name }, drained] of results) for (const line of linesOf(name, drained)) report(line)
}

async function drainSeeded(tables: PostgresTables, contestant: DrainContestant): Promise<DrainResult> {
  const table = contestant === reference ? 'reference_event' : 'outbox_event'
  await tables.seed(table, contestant.kind === 'HOT' ? 0 : warm + count, seedingFor(contestant))
  const task: DrainTask = { contestant, url: tables.url, warm, count }
  const result = await runParticipant<DrainResult>('participant.ts', task)
  await tables.requireDrained(table)
  return result
}

function seedingFor(contestant: DrainContestant): Seeding {
  const isHot = contestant.kind === 'RAW' && ['hotKeep', 'hotDelete'].includes(contestant.design)
  return isHot ? 'CLAIMED' : 'PENDING'
}

function* linesOf(name: string, drained: readonly DrainRound[]): Generator<BenchLine> {
  for (const [called, other] of [
    ['batched SQL', 'reference'],
    ['own SQL', 'ownDesign'],
  ] as const)
    for (const { field, unit, isLowerBetter } of [
      { field: 'perSecond', unit: 'events/s', isLowerBetter: false },
      { field: 'databaseMicros', unit: 'database CPU µs/event', isLowerBetter: true },
    ] as const) {
      const valuesOf = (who: keyof DrainRound): number[] => drained.map((round) => round[who][field])
      yield compare(
        { bench: 'outbox', case: name, unit, reference: called },
        valuesOf('ours'),
        valuesOf(other),
        isLowerBetter,
      )
    }
}
