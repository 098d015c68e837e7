/**
 * Measures partitions that move to a new member: how long it waits for them, and how long they have no owner. Groups are
 * almost idle, so all contestants of a case run at once, each with a topic and a group of its own.
 */

import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { createKafkaClient } from '@waybill/kafka'
import type { BenchOptions } from '../bench-options.ts'
import { prepareJava, runJava } from '../java-project.ts'
import { bootstrap } from '../kafka-client/contestant.ts'
import { type BenchLine, compare } from '../statistics.ts'
import type { MoveTask, MoveTimes } from './move-task.ts'

const run = promisify(execFile)
const participant = join(import.meta.dirname, 'participant.ts')

/** `every interval` is Waybill with heartbeats at the interval only. */
const names = ['waybill', 'every interval', 'java', 'java KIP-848'] as const
type Name = (typeof names)[number]

interface MoveCase extends Pick<MoveTask, 'members' | 'drainMs'> {
  readonly name: string
}

const cases: readonly MoveCase[] = [
  { name: '2 members', members: 2, drainMs: 0 },
  { name: '20 members', members: 20, drainMs: 0 },
  { name: '2 members, a drain of 5 s', members: 2, drainMs: 5_000 },
]

/** The defaults of the connector and of the Java client. */
const intervalMs: Readonly<Record<Name, number>> = {
  waybill: 10_000,
  'every interval': 10_000,
  java: 3_000,
  'java KIP-848': 0, // The broker decides.
}

/** A newcomer starts at a random time of an interval, long after the hurried heartbeats have ended. */
const quietAtLeastMs = 20_000

/** Runs every case. */
export async function runMovesBench({ rounds, only, progress, report }: BenchOptions): Promise<void> {
  await using client = createKafkaClient({ brokers: [bootstrap] })
  const noJava = await prepareJava()
  if (noJava !== undefined) progress(`Java skipped: ${noJava}`)
  const contestants = names.filter((name) => noJava === undefined || !name.startsWith('java'))
  for (const one of cases.filter(({ name }) => name.includes(only))) {
    progress(`${one.name}: ${rounds} moves of each contestant at once`)
    const quietMs = Array.from({ length: rounds }, () => quietAtLeastMs + Math.random() * intervalMs.waybill)
    const topics = new Map(contestants.map((name, index) => [name, `bench-moves-${Date.now()}-${index}`]))
    const partitions = 2 * one.members
    await client.admin.createTopics([...topics.values()].map((topic) => ({ topic, partitions, replication: 1 })))
    try {
      const measured = await Promise.all(
        Array.from(topics, async ([name, topic]) => {
          const { members, drainMs } = one
          const task = { topic, members, partitions, drainMs, heartbeatIntervalMs: intervalMs[name], quietMs }
          return [name, await measure(name, task)] as const
        }),
      )
      for (const line of linesOf(one, new Map(measured))) report(line)
    } finally {
      await client.admin.deleteTopics([...topics.values()])
    }
  }
}

async function measure(name: Name, task: MoveTask): Promise<MoveTimes> {
  if (name === 'java' || name === 'java KIP-848') {
    const protocol = name === 'java' ? 'classic' : 'consumer'
    const quietMs = task.quietMs.map(Math.round).join(',')
    return JSON.parse(await runJava('moves', { ...task, quietMs, protocol })) as MoveTimes
  }
  const heartbeats = name === 'waybill' ? 'HURRIED' : 'EVERY_INTERVAL'
  const args = ['--conditions=@waybill/source', '--no-warnings', participant, JSON.stringify({ ...task, heartbeats })]
  const { stdout } = await run(process.execPath, args)
  return JSON.parse(stdout) as MoveTimes
}

function* linesOf(one: MoveCase, results: ReadonlyMap<Name, MoveTimes>): Generator<BenchLine> {
  const ours = results.get('waybill') as MoveTimes
  const line = (what: string, unit: string, reference: string, mine: readonly number[], others: readonly number[]) =>
    compare({ bench: 'moves', case: `${one.name}: ${what}`, unit, reference }, mine, others, true)
  for (const [reference, theirs] of results) {
    if (reference === 'waybill') continue
    yield line('without owner', 'ms', reference, ours.ownerlessMs, theirs.ownerlessMs)
    yield line('start to owning', 'ms', reference, ours.owningMs, theirs.owningMs)
    if (ours.heartbeats === undefined || theirs.heartbeats === undefined) continue
    yield line('join and leave', 'heartbeats', reference, ours.heartbeats, theirs.heartbeats)
  }
}
