/** Runs one seed, from its first record to the final check of the logs. */

import type { Simulation } from '../simulation.ts'
import { drains, seedRunner } from '../world/run-world.ts'
import { Chaos } from './chaos.ts'
import { idOf, type LogJournal } from './log-journal.ts'
import { drawProgram, groupId, outputTopic } from './program.ts'
import { RecordSource } from './record-source.ts'
import { TransactionFeeder } from './transaction-feeder.ts'
import { World } from './world.ts'

/** Maximum time to drain after the last fault (L1): sessions, transactions and rebalances end first. */
const drainMs = 60_000

/** Runs a seed. */
export const runClientSeed: Simulation['run'] = seedRunner({ draw: drawProgram, World, live, mostEvents: 300_000 })

async function live(world: World): Promise<void> {
  const { program } = world
  const sources = program.sources.map((plan, index) => new RecordSource(world, `source-${index}`, plan))
  const feeders = program.feeders.map((plan, index) => new TransactionFeeder(world, `feeder-${index}`, plan))
  const chaos = new Chaos(world, sources, feeders)
  await chaos.run()
  const isDrained = await drains(world, {
    obstacle: () =>
      [...sources, ...feeders].every(({ isDone }) => isDone) ? obstacleOf(world) : 'producers are not done',
    withinMs: drainMs,
    lookEveryMs: 50,
  })
  if (!isDrained) return
  await chaos.end()
  await decides(world)
  await readAgain(world)
  judge(world)
}

/** Waits until no transaction is open. Their producers have stopped, so the timeout ends abandoned ones. */
async function decides(world: World): Promise<void> {
  const endAt = world.now() + world.program.transactionTimeoutMs + 5_000
  while (world.allJournals().some(hasOpen) && world.now() < endAt) await world.runtime.timers.sleep(50)
}

function hasOpen(journal: LogJournal): boolean {
  return journal.entries().some(({ state }) => state === 'OPEN')
}

/** Describes what is not settled and committed yet. */
function obstacleOf(world: World): string | undefined {
  for (const journal of world.inputs()) {
    const where = `${journal.topic}-${journal.partition}`
    const unsettled = world.commits.firstUnsettled(journal)
    if (unsettled !== undefined) return `${unsettled.id} at ${where}@${unsettled.offset} is not settled`
    const last = journal.entries().findLast((entry) => entry.state === 'COMMITTED' && journal.isKept(entry))
    const committed = world.commits.committed(journal.topic, journal.partition) ?? 0n
    if (last !== undefined && committed <= last.offset)
      return `${where} is committed up to ${committed}, and ${last.offset} is settled`
  }
  return undefined
}

/** Reads everything from the beginning with a fresh client, and checks that it sees exactly what was committed. */
async function readAgain(world: World): Promise<void> {
  const { client, process } = world.station('reader')
  const topics = [
    ...world.program.topics.flatMap(({ name, companion }) => (companion === undefined ? [name] : [name, companion])),
    ...(world.program.kind === 'TRANSFORM' ? [outputTopic] : []),
  ]
  const expected = new Map<string, string>()
  for (const journal of topics.flatMap((topic) => world.journalsOf(topic)))
    for (const entry of journal.entries())
      if (entry.state === 'COMMITTED' && journal.isKept(entry)) expected.set(place(journal, entry.offset), entry.id)
  const consumer = client.consumer({ groupId: `${groupId}-again`, topics, maxWaitMs: 100, metadataRefreshMs: 1_000 })
  await consumer.start()
  const endAt = process.runtime.clock.monotonic() + drainMs
  while (expected.size > 0) {
    for (const record of await consumer.poll(100, 500)) {
      const where = place(record, record.offset)
      if (expected.get(where) !== idOf(record.value)) {
        world.court.violate(
          'I13',
          `a new reader is handed ${idOf(record.value)} at ${where}, once too often or wrongly`,
        )
        return
      }
      expected.delete(where)
    }
    if (process.runtime.clock.monotonic() < endAt) continue
    world.court.violate('I14', `a new reader never sees ${[...expected.keys()].slice(0, 5).join(', ')}`)
    return
  }
  await consumer.stop()
  await client.close()
}

function place({ topic, partition }: Pick<LogJournal, 'topic' | 'partition'>, offset: bigint): string {
  return `${topic}-${partition}@${offset}`
}

/** Checks what can only be decided at the end. */
function judge(world: World): void {
  const { court, program, sends, transactions } = world
  const journals = world.allJournals()
  sends.finish(journals)
  transactions.finish(journals)
  if (program.kind === 'TRANSFORM') {
    for (const [input, count] of world.outputs.counts())
      if (count > 1) court.violate('I13', `${input} has ${count} committed outputs`)
    const inputs = new Set(
      world.inputs().flatMap((journal) =>
        journal
          .entries()
          .filter(({ state }) => state === 'COMMITTED')
          .map(({ id }) => id),
      ),
    )
    for (const input of world.outputs.counts().keys())
      if (!inputs.has(input)) court.violate('I13', `an output was made of ${input}, which is not committed`)
  }
  const repeated = program.isCalm && program.kind === 'SETTLE' ? world.handled.repeated() : []
  if (repeated.length > 0)
    court.violate('L5', `nothing failed, and yet these were handled again: ${repeated.slice(0, 5).join(', ')}`)
}
