/** Drains of a filled table in interleaved rounds: the reference, each design by hand, and ours. */

import type { BenchOptions } from '../bench-options.ts'
import { type BenchLine, compare } from '../statistics.ts'
import { type DrainCase, drainCases, reference } from './cases.ts'
import type { DrainResult } from './drain-meter.ts'
import type { DrainContestant, DrainTask } from './participant.ts'
import { runParticipant } from './participant-process.ts'
import type { PostgresTables, Seeding } from './postgres-tables.ts'

/** The compiler is at work until about here: of the first 30,000 events each takes this process up to three times as long. */
const warm = 30_000
const count = 30_000

/** Every case whose name contains `only`. */
export async function runDrains(tables: PostgresTables, options: BenchOptions): Promise<void> {
  const { rounds, only, progress, report } = options
  const chosen = drainCases.filter(({ name }) => name.includes(only))
  if (chosen.length === 0) return
  const results = new Map<DrainContestant, DrainResult[]>()
  const measured = async (contestant: DrainContestant): Promise<void> => {
    const result = await drainSeeded(tables, contestant)
    results.set(contestant, [...(results.get(contestant) ?? []), result])
  }
  for (let round = 1; round <= rounds; round++) {
    progress(`outbox drains: round ${round} of ${rounds}`)
    await measured(reference)
    for (const { ours, ownDesign } of chosen) {
      await measured(ownDesign)
      await measured(ours)
    }
  }
  for (const one of chosen) for (const line of linesOf(one, results)) report(line)
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

function* linesOf(
  { name, ours, ownDesign }: DrainCase,
  results: ReadonlyMap<DrainContestant, readonly DrainResult[]>,
): Generator<BenchLine> {
  const valuesOf = (contestant: DrainContestant, field: keyof DrainResult): number[] =>
    (results.get(contestant) ?? []).map((result) => result[field])
  for (const [called, other] of [
    ['batched SQL', reference],
    ['own SQL', ownDesign],
  ] as const)
    for (const { field, unit, isLowerBetter } of [
      { field: 'perSecond', unit: 'events/s', isLowerBetter: false },
      { field: 'databaseMicros', unit: 'database CPU µs/event', isLowerBetter: true },
    ] as const) {
      const names = { bench: 'outbox', case: name, unit, reference: called }
      yield compare(names, valuesOf(ours, field), valuesOf(other, field), isLowerBetter)
    }
}
