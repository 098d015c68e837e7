/** Compares the logs with the expected outputs of the source records, by markers alone (I13). */

import type { LogJournal } from '../client/log-journal.ts'
import type { Court } from '../world/court.ts'
import type { PartitionBook, Settled } from './partition-book.ts'
import { deadLetterTopic, outputTopic, type Program, sourceTopic, tierTopic } from './program.ts'
import type { RareState } from './rare-states.ts'
import { type Outcome, outcomeOf, outputsOf, type RecordPlan } from './record-plan.ts'

/** The knowledge about a world at its end. */
export interface Judged {
  readonly program: Pick<Program, 'records'>
  readonly court: Pick<Court<RareState>, 'violate' | 'reach'>
  journalsOf(topic: string): readonly LogJournal[]
  booksOf(topic: string): readonly PartitionBook[]
}

/** How often a record may be visible. */
interface Range {
  readonly least: number
  readonly most: number
}

/** Expected occurrences by topic and name: each record's outputs as often as it was settled. */
type Due = Map<string, Map<string, Range>>

/** See the file's comment. */
export function judgeLogs(world: Judged): void {
  const due: Due = new Map([outputTopic, tierTopic, deadLetterTopic].map((topic) => [topic, new Map()]))
  const written = visibleIn(world.journalsOf(sourceTopic))
  const settled = [sourceTopic, tierTopic].map((topic) => settledIn(world.booksOf(topic)))
  for (const plan of world.program.records) {
    if (!written.has(plan.value)) world.court.violate('RUN', `${plan.value} was never written`)
    for (const [tier, counts] of settled.entries()) {
      const range = rangeOf(counts.get(plan.value))
      if (range.most > 0) demand(due, plan, outcomeOf(plan, tier), range)
    }
    reach(world, plan)
  }
  for (const [topic, expected] of due) compare(world, topic, expected)
}

function demand(due: Due, plan: RecordPlan, outcome: Outcome, range: Range): void {
  if (outcome === 'ok') for (const output of outputsOf(plan)) due.get(outputTopic)?.set(output, range)
  if (outcome === 'retried') due.get(tierTopic)?.set(plan.value, range)
  if (outcome === 'dead') due.get(deadLetterTopic)?.set(plan.value, range)
}

function reach({ court }: Judged, { fate, fails }: RecordPlan): void {
  if (fate === 'FLAKY') court.reach('record: an output of a failed call is dropped')
  if (fate === 'LATER') court.reach('record: it succeeds in its tier')
  if (fate === 'DEAD') court.reach('record: it is dead')
  if (fate === 'REFUSED') court.reach('record: its output is refused')
  if (fate === 'LATER' && fails === 'TIMES_OUT') court.reach('record: its calls take too long')
}

/** Returns the allowed range. A record that was deleted when a transaction settled it may have any outcome. */
function rangeOf(settled: Settled | undefined): Range {
  const { times, deleted } = settled ?? { times: 0, deleted: 0 }
  return { least: times - deleted, most: times }
}

function settledIn(books: readonly PartitionBook[]): Map<string, Settled> {
  const sums = new Map<string, Settled>()
  for (const book of books)
    for (const [value, { times, deleted }] of book.settled) {
      const sum = sums.get(value) ?? { times: 0, deleted: 0 }
      sums.set(value, { times: sum.times + times, deleted: sum.deleted + deleted })
    }
  return sums
}

function compare(world: Judged, topic: string, expected: ReadonlyMap<string, Range>): void {
  const seen = visibleIn(world.journalsOf(topic))
  for (const name of new Set([...expected.keys(), ...seen.keys()])) {
    const { least, most } = expected.get(name) ?? { least: 0, most: 0 }
    const found = seen.get(name) ?? 0
    if (found < least || found > most)
      world.court.violate('I13', `${topic} has ${name} ${found} times, and ${least} to ${most} times is due`)
  }
  for (const journal of world.journalsOf(topic))
    for (const { id, offset, state } of journal.entries())
      if (state === 'OPEN') world.court.violate('L1', `${id} at ${topic}-${journal.partition}@${offset} is undecided`)
}

/** Counts how often a read-committed consumer sees each record. */
function visibleIn(journals: readonly LogJournal[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const journal of journals)
    for (const { id, state } of journal.entries()) if (state === 'COMMITTED') counts.set(id, (counts.get(id) ?? 0) + 1)
  return counts
}
