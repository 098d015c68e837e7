/** Compares what lies in the logs with what the records of the source should have become: by markers alone (I13). */

import type { LogJournal } from '../client/log-journal.ts'
import type { Court } from '../world/court.ts'
import { deadLetterTopic, outputTopic, type Program, type RecordPlan, sourceTopic, tierTopic } from './program.ts'
import type { RareState } from './rare-states.ts'

/** What is known of a world at its end. */
export interface Judged {
  readonly program: Pick<Program, 'records'>
  readonly court: Pick<Court<RareState>, 'violate' | 'reach'>
  journalsOf(topic: string): readonly LogJournal[]
  /** Counts of the source as its commits have them, over all partitions. */
  counts(): Readonly<Record<'ok' | 'retried' | 'dead' | 'skipped', number>>
}

/** What a handler sends for a record that succeeds. */
export function outputsOf({ value, outputs }: Pick<RecordPlan, 'value' | 'outputs'>): string[] {
  return Array.from({ length: outputs }, (_, at) => `${value}/${at}`)
}

/** What it sends in a call that fails. */
export function failedOutputOf({ value }: Pick<RecordPlan, 'value'>): string {
  return `${value}/failed`
}

const hasOutputs: ReadonlySet<string> = new Set(['OK', 'FLAKY', 'LATER'])

/** See the file's comment. */
export function judgeLogs(world: Judged): void {
  const { program, court } = world
  const due = {
    [outputTopic]: new Map<string, number>(),
    [tierTopic]: new Map<string, number>(),
    [deadLetterTopic]: new Map<string, number>(),
  }
  const counts = { ok: 0, retried: 0, dead: 0, skipped: 0 }
  // Whoever wrote the source may have written a record twice: then all of it is due twice.
  const written = visibleIn(world.journalsOf(sourceTopic))
  for (const plan of program.records) {
    const times = written.get(plan.value) ?? 0
    if (times === 0) court.violate('RUN', `${plan.value} was never written`)
    if (hasOutputs.has(plan.fate)) for (const output of outputsOf(plan)) due[outputTopic].set(output, times)
    if (plan.fate === 'LATER') due[tierTopic].set(plan.value, times)
    if (plan.fate === 'DEAD') due[deadLetterTopic].set(plan.value, times)
    counts[countOf[plan.fate]] += times
    reach(world, plan)
  }
  for (const [topic, expected] of Object.entries(due)) compare(world, topic, expected)
  const seen = world.counts()
  for (const [name, count] of Object.entries(counts))
    if (seen[name as keyof typeof seen] !== count)
      court.violate('I20', `${count} records are ${name}, and the commits count ${seen[name as keyof typeof seen]}`)
}

const countOf = { OK: 'ok', FLAKY: 'ok', LATER: 'retried', DEAD: 'dead', SKIPPED: 'skipped' } as const

function reach({ court }: Judged, { fate }: RecordPlan): void {
  if (fate === 'FLAKY') court.reach('record: an output of a failed call is dropped')
  if (fate === 'LATER') court.reach('record: it succeeds in its tier')
  if (fate === 'DEAD') court.reach('record: it is dead')
}

function compare(world: Judged, topic: string, expected: ReadonlyMap<string, number>): void {
  const seen = visibleIn(world.journalsOf(topic))
  for (const name of new Set([...expected.keys(), ...seen.keys()])) {
    const [due, found] = [expected.get(name) ?? 0, seen.get(name) ?? 0]
    if (due !== found) world.court.violate('I13', `${topic} has ${name} ${found} times, and ${due} times is due`)
  }
  for (const journal of world.journalsOf(topic))
    for (const { id, offset, state } of journal.entries())
      if (state === 'OPEN') world.court.violate('L1', `${id} at ${topic}-${journal.partition}@${offset} is undecided`)
}

/** How often a reader of committed records sees each. */
function visibleIn(journals: readonly LogJournal[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const journal of journals)
    for (const { id, state } of journal.entries()) if (state === 'COMMITTED') counts.set(id, (counts.get(id) ?? 0) + 1)
  return counts
}
