/**
 * Interleaved rounds of contestants. Each is a process that makes several passes: the last one is compared, the first one
 * is what a cold process does.
 */

import { type BenchLine, type BenchNote, compare, median } from '../statistics.ts'
import type { PassResult } from './pass-result.ts'

/** One contestant of a case. */
export interface Contestant {
  readonly name: string
  /** Runs all passes in a process. Rejects if it fails; the message says why the contestant is not compared. */
  run(): Promise<readonly PassResult[]>
}

/** The passes of one contestant by round, or the reason why it is not compared. */
interface Entry {
  readonly name: string
  readonly rounds: (readonly PassResult[])[]
  problem: string | undefined
}

/** The names of a comparison. */
export interface ContestNames {
  readonly bench: string
  readonly case: string
}

/**
 * Runs the rounds, and returns a line for each rival and unit. The first contestant is Waybill. One that fails is left
 * out from then on, and a note says why.
 */
export async function runContest(
  names: ContestNames,
  contestants: readonly Contestant[],
  rounds: number,
  progress: (text: string) => void,
): Promise<(BenchLine | BenchNote)[]> {
  const entries: Entry[] = contestants.map(({ name }) => ({ name, rounds: [], problem: undefined }))
  for (let round = 1; round <= rounds; round++) {
    // Forward and backward in turn: a machine that becomes slower favors none of them.
    const turns = contestants.map((contestant, at) => ({ contestant, entry: entries[at] as Entry }))
    for (const { contestant, entry } of round % 2 === 1 ? turns : turns.toReversed()) {
      if (entry.problem !== undefined) continue
      progress(`${names.case}: round ${round} of ${rounds}, ${entry.name}`)
      await takeTurn(contestant, entry)
    }
  }
  return linesOf(names, entries)
}

async function takeTurn(contestant: Contestant, entry: Entry): Promise<void> {
  try {
    entry.rounds.push(await contestant.run())
  } catch (error) {
    entry.problem = (error as Error).message
  }
}

function linesOf(names: ContestNames, entries: readonly Entry[]): (BenchLine | BenchNote)[] {
  const refused = entries.filter(({ problem }) => problem !== undefined)
  const notes = refused.map(({ name, problem }) => noteOf(names, `${name} is not compared: ${problem}`))
  const [ours, ...rivals] = entries
  if (ours === undefined || ours.problem !== undefined) return notes
  const compared = rivals.filter(({ problem }) => problem === undefined)
  const lines = compared.flatMap((rival) => [
    compareBy(names, ours, rival, 'records/s, warm', (passes) => rateOf(lastOf(passes))),
    compareBy(names, ours, rival, 'records/s, cold', (passes) => rateOf(passes[0] as PassResult)),
    compareBy(names, ours, rival, 'CPU µs/record, warm', (passes) => cpuOf(lastOf(passes)), true),
  ])
  return [...lines, ...notes, ...commitNotes(names, [ours, ...compared])]
}

function compareBy(
  names: ContestNames,
  ours: Entry,
  rival: Entry,
  unit: string,
  value: (passes: readonly PassResult[]) => number,
  isLowerBetter = false,
): BenchLine {
  return compare(
    { ...names, unit, reference: rival.name },
    ours.rounds.map(value),
    rival.rounds.map(value),
    isLowerBetter,
  )
}

/** Says how many commits each contestant sent in the last pass: fewer of them leave more to repeat after a crash. */
function commitNotes(names: ContestNames, entries: readonly Entry[]): BenchNote[] {
  const counts = entries.flatMap(({ name, rounds }) => {
    const commits = median(rounds.map((passes) => lastOf(passes).commits ?? 0))
    return commits > 0 ? [`${name} ${commits}`] : []
  })
  return counts.length === 0 ? [] : [noteOf(names, `commits in the last pass: ${counts.join(', ')}`)]
}

function noteOf({ bench, case: name }: ContestNames, note: string): BenchNote {
  return { bench, case: name, note }
}

function lastOf(passes: readonly PassResult[]): PassResult {
  return passes.at(-1) as PassResult
}

function rateOf({ records, seconds }: PassResult): number {
  return records / seconds
}

function cpuOf({ records, cpuSeconds }: PassResult): number {
  return (cpuSeconds * 1e6) / records
}
