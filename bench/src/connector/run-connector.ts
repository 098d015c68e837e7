/**
 * The connector beside its Java peers, on the same broker, in interleaved rounds of several passes. Rates and CPU are
 * ratios to the peer of the same round.
 */

import { join } from 'node:path'
import { createKafkaClient } from '@waybill/kafka'
import type { BenchOptions } from '../bench-options.ts'
import { prepareJava } from '../java-project.ts'
import { bootstrap } from '../kafka-client/contestant.ts'
import { keys } from '../kafka-client/payloads.ts'
import { problemOfCommits, problemOfCopies, problemOfPass } from '../passes/check-passes.ts'
import { type Contestant, runContest } from '../passes/contest.ts'
import { headerBytes, keyBytes, NumberedTopics } from '../passes/numbered-topics.ts'
import type { PassResult, PassTask } from '../passes/pass-result.ts'
import { runJavaPasses, runNode } from '../passes/run-contestant.ts'
import { type BenchLine, compare } from '../statistics.ts'
import { type ConnectorCase, cases, type Rival } from './cases.ts'
import type { ParticipantTask } from './participant.ts'

const participant = join(import.meta.dirname, 'participant.ts')
const bench = 'connector'
const valueBytes = 100
const passesByDefault = 3
const waitSeconds = 120
const heapCase = 'heap and buffers after a collection, BATCH one by one'
/** Record counts at which the heap is measured: as many records are in flight at both. */
const heapAt: readonly [number, number] = [200_000, 1_000_000]

/** Runs every case whose name contains `only`. */
export async function runConnectorBench(options: BenchOptions): Promise<void> {
  const { rounds, only, progress, report, records = Number.POSITIVE_INFINITY } = options
  const noJava = await prepareJava()
  if (noJava !== undefined) progress(`Java peers skipped: ${noJava}`)
  await using client = createKafkaClient({ brokers: [bootstrap] })
  await using topics = new NumberedTopics(client, 'bench-connector')
  for (const one of cases.filter(({ name }) => name.includes(only))) {
    const limited = { ...one, records: Math.min(one.records, records) }
    const rivals = one.rivals.filter((rival) => 'setup' in rival || noJava === undefined)
    const all: Rival[] = [{ name: 'waybill', setup: one.setup }, ...rivals]
    const shared = one.isOwnTopic === true ? undefined : await topics.filled({ ...limited, valueBytes })
    const contestants = all.map((rival) => contestantOf(limited, rival, topics, shared))
    const times = rounds * (one.timesRounds ?? 1)
    for (const line of await runContest({ bench, case: one.name }, contestants, times, progress)) report(line)
    if (shared !== undefined) await topics.delete([shared])
  }
  if (heapCase.includes(only)) report(await compareHeap(topics, rounds, progress))
}

/** Creates a contestant. It runs on the shared topic, or on one of its own for each pass. */
function contestantOf(
  one: ConnectorCase,
  rival: Rival,
  topics: NumberedTopics,
  shared: string | undefined,
): Contestant {
  const { records, reads, passes = passesByDefault } = one
  return {
    name: rival.name,
    async run() {
      const own: string[] = []
      for (let pass = 0; shared === undefined && pass < passes; pass++)
        own.push(await topics.filled({ ...one, valueBytes }))
      const task = {
        topics: shared === undefined ? own : Array<string>(passes).fill(shared),
        records,
        reads,
        waitSeconds,
      }
      const results = await runRival(rival, task)
      for (const result of results) await check(result, one, rival, topics)
      if (own.length > 0) await topics.delete(own)
      return results
    },
  }
}

function runRival(rival: Rival, task: PassTask): Promise<PassResult[]> {
  if ('java' in rival) return runJavaPasses(rival.java, task, rival.args)
  const own: ParticipantTask = { ...task, setup: rival.setup }
  return runNode(participant, own)
}

/** @throws Error if the contestant lost or repeated a record, or did not commit its end */
async function check(result: PassResult, one: ConnectorCase, rival: Rival, topics: NumberedTopics): Promise<void> {
  const { topic, groupId, pass } = result
  const problem =
    problemOfPass(result, { ...one, keyBytes, valueBytes, headerBytes }) ??
    (groupId === undefined ? undefined : problemOfCommits(await topics.committed(groupId, topic))) ??
    (one.isOwnTopic === true ? problemOfCopies(await deadLetters(topics, rival, one.records, topic)) : undefined)
  if (problem !== undefined) throw new Error(`${problem}, in pass ${pass + 1}`)
}

/** Counts the dead letters of each record, by the number in its value. */
async function deadLetters(topics: NumberedTopics, rival: Rival, records: number, topic: string): Promise<Uint8Array> {
  const copies = new Uint8Array(records)
  await topics.read(`${topic}${'java' in rival ? '-dlt' : '.DLT'}`, (_, value) => {
    const number = value.readInt32BE(0)
    copies[number] = (copies[number] as number) + 1
  })
  return copies
}

/** Compares the heap with that of the same run, early on. */
async function compareHeap(
  topics: NumberedTopics,
  rounds: number,
  progress: (text: string) => void,
): Promise<BenchLine> {
  const [early, late] = heapAt
  const records = late + early / 4
  const topic = await topics.filled({ records, keys: keys.length, valueBytes })
  const heaps: (readonly number[])[] = []
  for (let round = 1; round <= rounds; round++) {
    progress(`${heapCase}: round ${round} of ${rounds}`)
    const task: ParticipantTask = { topics: [topic], records, reads: 'NOTHING', waitSeconds, setup: 'BATCH', heapAt }
    const [result] = await runNode(participant, task)
    heaps.push(result?.heap ?? [])
  }
  const at = (index: number): number[] => heaps.map((heap) => (heap[index] as number) / 1e6)
  return compare({ bench, case: heapCase, unit: `MB at ${late}`, reference: `at ${early}` }, at(1), at(0), true)
}
