/**
 * Waybill's Kafka client beside others, on the same broker, in interleaved rounds: other load on the machine affects all
 * contestants alike. Rates, CPU and latencies are ratios to the reference of the same round.
 */

import { join } from 'node:path'
import { createKafkaClient } from '@waybill/kafka'
import type { BenchOptions } from '../bench-options.ts'
import { javaCommand, prepareJava } from '../java-project.ts'
import { problemOfCopies, problemOfPass } from '../passes/check-passes.ts'
import { type Contestant, runContest } from '../passes/contest.ts'
import { headerBytes, keyBytes, NumberedTopics } from '../passes/numbered-topics.ts'
import type { PassResult, PassTask } from '../passes/pass-result.ts'
import { nodeFlags, runJavaPasses, runNode } from '../passes/run-contestant.ts'
import { type BenchLine, compare } from '../statistics.ts'
import { type ClientCase, type ClientName, cases } from './cases.ts'
import { bootstrap } from './contestant.ts'
import { prepareLibrdkafka } from './librdkafka-project.ts'
import type { ClientTask } from './participant.ts'
import { keys } from './payloads.ts'
import { type Latency, type LatencyCommand, measureLatency } from './run-latency.ts'
import { copiesOf } from './written-records.ts'

const participant = join(import.meta.dirname, 'participant.ts')
const bench = 'kafka-client'
const passes = 3
const waitSeconds = 120
/** The polls of the Java consumer, as large as ours. */
const poll = 5_000

type RecordCase = Exclude<ClientCase, { readonly work: 'latency' }>

/** Runs every case whose name contains `only`. */
export async function runKafkaClientBench(options: BenchOptions): Promise<void> {
  const { rounds, only, progress, report, records = Number.POSITIVE_INFINITY } = options
  const chosen = cases.filter(({ name }) => name.includes(only))
  const missing = await findMissing(chosen, progress)
  await using client = createKafkaClient({ brokers: [bootstrap] })
  await using topics = new NumberedTopics(client, 'bench-client')
  for (const one of chosen) {
    const names: ClientName[] = ['waybill', ...one.rivals.filter((name) => !missing.has(name))]
    if (one.work === 'latency') {
      for (const line of await runLatency(one.name, names, topics, rounds, progress)) report(line)
      continue
    }
    const limited = { ...one, count: Math.min(one.count, records) }
    const shared = one.work === 'consume' ? await filledTopic(limited, topics) : undefined
    const contestants = names.map((name) => contestantOf(limited, name, topics, shared))
    for (const line of await runContest({ bench, case: one.name }, contestants, rounds, progress)) report(line)
    if (shared !== undefined) await topics.delete([shared])
  }
}

/** Prepares the clients that are not installed with the benchmarks, and says why one is skipped. */
async function findMissing(chosen: readonly ClientCase[], progress: (text: string) => void): Promise<Set<ClientName>> {
  const missing = new Set<ClientName>()
  const optional = { java: prepareJava, librdkafka: prepareLibrdkafka } as const
  for (const name of ['java', 'librdkafka'] as const) {
    if (!chosen.some(({ rivals }) => rivals.includes(name))) continue
    const reason = await optional[name]()
    if (reason === undefined) continue
    progress(`${name} skipped: ${reason}`)
    missing.add(name)
  }
  return missing
}

function filledTopic({ count, bytes }: RecordCase, topics: NumberedTopics): Promise<string> {
  return topics.filled({ records: count, keys: keys.length, valueBytes: bytes })
}

/** Creates a contestant. It reads the shared topic, or writes to one of its own in each pass. */
function contestantOf(
  one: RecordCase,
  name: ClientName,
  topics: NumberedTopics,
  shared: string | undefined,
): Contestant {
  return {
    name,
    async run() {
      const own: string[] = []
      for (let pass = 0; shared === undefined && pass < passes; pass++) own.push(await topics.empty())
      const task: PassTask = {
        topics: shared === undefined ? own : Array<string>(passes).fill(shared),
        records: one.count,
        reads: one.work === 'consume' ? one.reads : 'NOTHING',
        waitSeconds,
      }
      const results = await measure(one, name, task)
      for (const result of results) await check(one, result, topics)
      if (own.length > 0) await topics.delete(own)
      return results
    },
  }
}

function measure(one: RecordCase, name: ClientName, task: PassTask): Promise<PassResult[]> {
  const { work, bytes } = one
  if (name === 'java') return runJavaPasses(work, task, { bytes, poll })
  const shape = work === 'produce' ? one.shape : 'BATCH'
  const own: ClientTask = { ...task, client: name, work, bytes, shape, rate: 0 }
  return runNode(participant, own)
}

/** @throws Error if a record was lost or repeated */
async function check(one: RecordCase, result: PassResult, topics: NumberedTopics): Promise<void> {
  const { count: records, bytes: valueBytes } = one
  const problem =
    one.work === 'consume'
      ? problemOfPass(result, { records, reads: one.reads, keyBytes, valueBytes, headerBytes })
      : problemOfCopies(await copiesOf(topics, result.topic, records, valueBytes))
  if (problem !== undefined) throw new Error(`${problem}, in pass ${result.pass + 1}`)
}

async function runLatency(
  name: string,
  clients: readonly ClientName[],
  topics: NumberedTopics,
  rounds: number,
  progress: (text: string) => void,
): Promise<BenchLine[]> {
  const commands = new Map<ClientName, LatencyCommand>()
  for (const client of clients) commands.set(client, latencyCommand(client, await topics.empty()))
  const latencies = await measureLatency(commands, rounds, (round) =>
    progress(`${name}: round ${round} of ${rounds}, all in turn`),
  )
  return clients.slice(1).flatMap((reference) => {
    const compareBy = (unit: string, value: (latency: Latency) => number): BenchLine => {
      const of = (client: ClientName): number[] => (latencies.get(client) ?? []).map(value)
      return compare({ bench, case: name, unit, reference }, of('waybill'), of(reference), true)
    }
    return [compareBy('ms p50', ({ p50Ms }) => p50Ms), compareBy('ms p99', ({ p99Ms }) => p99Ms)]
  })
}

function latencyCommand(name: ClientName, topic: string): LatencyCommand {
  const rate = 200
  if (name === 'java') return javaCommand('latency', { topic, rate })
  const task: ClientTask = {
    topics: [topic],
    records: 0,
    reads: 'NOTHING',
    waitSeconds,
    client: name,
    work: 'latency',
    bytes: 100,
    shape: 'SINGLE',
    rate,
  }
  return { command: process.execPath, args: [...nodeFlags, participant, JSON.stringify(task)] }
}
