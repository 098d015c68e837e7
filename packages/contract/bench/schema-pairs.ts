/**
 * `npm run schema-pairs -- --pairs 100000`: compares random pairs of schemas and tries each verdict with generated events.
 * Fails if an event that its writer may write is refused by a reader that was called compatible.
 */

import { parseArgs } from 'node:util'
import { type AlarmClass, type PairsTally, tryPairs } from '../test/support/try-pairs.ts'

const { values } = parseArgs({
  options: {
    pairs: { type: 'string', default: '10000' },
    from: { type: 'string', default: '1' },
    events: { type: 'string', default: '8' },
  },
})
const [pairs, from, events] = [Number(values.pairs), Number(values.from), Number(values.events)]

/** Reasons of findings without an example, by the beginning of their class. */
const reasons: readonly (readonly [string, string])[] = [
  ['WB-C003', 'the writer contradicts itself: nothing can be written, so nothing is refused'],
  ['WB-C401 format', 'validators disagree about the texts of a format'],
  ['WB-C401', 'the search gave up, mostly on a writer that contradicts itself'],
  ['WB-C10', 'the specified check compares words: no event tells the two schemas apart'],
]

const tally = tryPairs({ pairs, from, events, judgedEvery: 1 }, (current) => {
  if (current.pairs % 2_000 === 0) process.stderr.write(`${current.pairs} pairs, ${failuresOf(current)} failures\n`)
})
for (const failure of [...tally.letThrough, ...tally.wrongExamples].slice(0, 20)) process.stderr.write(`${failure}\n`)
const { letThrough, wrongExamples, alarms, ...counts } = tally
process.stdout.write(
  `${JSON.stringify({ ...counts, letThrough: letThrough.length, wrongExamples: wrongExamples.length })}\n`,
)
for (const [name, counted] of Object.entries(alarms).toSorted(byCount))
  process.stdout.write(
    `${name}: ${counted.alarms} without an example, ${counted.drawn} proven by a drawn event, seed ${counted.seed ?? '-'}; ${reasonOf(name)}\n`,
  )
process.exitCode = failuresOf(tally) === 0 ? 0 : 1

function failuresOf({ letThrough: missed, wrongExamples: wrong }: PairsTally): number {
  return missed.length + wrong.length
}

function reasonOf(name: string): string {
  return reasons.find(([begin]) => name.startsWith(begin))?.[1] ?? 'look at the seed'
}

function byCount([, one]: [string, AlarmClass], [, other]: [string, AlarmClass]): number {
  return other.alarms - one.alarms
}
