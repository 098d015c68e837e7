/**
 * Waybill's Kafka client beside others, on the same broker, in interleaved rounds: other load on the machine affects all
 * contestants alike. Rates, CPU and latencies are ratios to the reference of the same round.
 */

import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { createKafkaClient } from '@waybill/kafka'
import type { BenchOptions } from '../bench-options.ts'
import { javaCommand, prepareJava, runJava } from '../java-project.ts'
import { type BenchLine, compare } from '../statistics.ts'
import { type BenchCase, cases, type Reference, references } from './cases.ts'
import { bootstrap, type Throughput } from './contestant.ts'
import { headers, keyOf, payloads } from './payloads.ts'
import { type Latency, type LatencyCommand, measureLatency } from './run-latency.ts'

const run = promisify(execFile)
const participant = join(import.meta.dirname, 'participant.ts')

type Name = 'waybill' | Reference

/** Runs every case. */
export async function runKafkaClientBench({ rounds, only, progress, report }: BenchOptions): Promise<void> {
  await using client = createKafkaClient({ brokers: [bootstrap] })
  const chosen = cases.filter(({ name }) => name.includes(only))
  const noJava = await prepareJava()
  if (noJava !== undefined) progress(`Java skipped: ${noJava}`)
  const contestants: Name[] = ['waybill', ...references.filter((name) => name !== 'java' || noJava === undefined)]
  const stamp = Date.now()
  const topics: string[] = []
  const createTopic = async (name: string): Promise<string> => {
    await client.admin.createTopics([{ topic: name, partitions: 8, replication: 1 }])
    topics.push(name)
    return name
  }
  try {
    for (const one of chosen) {
      const ownTopic = (): Promise<string> => createTopic(`bench-${stamp}-${topics.length}`)
      const announce = (round: number, contestant: string): void =>
        progress(`${one.name}: round ${round} of ${rounds}, ${contestant}`)
      if (one.task === 'latency') {
        const commands = new Map<Name, LatencyCommand>()
        for (const name of contestants) commands.set(name, latencyCommand(name, await ownTopic()))
        const latencies = await measureLatency(commands, rounds, (round) => announce(round, 'all in turn'))
        for (const line of linesOf(one, latencies)) report(line)
        continue
      }
      const shared = await ownTopic()
      if (one.task === 'consume') await fill(client, shared, one, progress)
      const results = new Map<Name, Throughput[]>(contestants.map((name) => [name, []]))
      for (let round = 1; round <= rounds; round++) {
        for (const name of contestants) {
          announce(round, name)
          const topic = one.task === 'consume' ? shared : await ownTopic()
          results.get(name)?.push(await measure(name, one, topic))
        }
      }
      for (const line of linesOf(one, results)) report(line)
    }
  } finally {
    await client.admin.deleteTopics(topics)
  }
}

async function measure(name: Name, one: BenchCase, topic: string): Promise<Throughput> {
  const count = name === 'waybill' ? one.count : (one.slowCount ?? one.count)
  const args = { topic, count, bytes: one.bytes, shape: one.shape ?? 'BATCH' }
  if (name === 'java') return JSON.parse(await runJava(one.task, args)) as Throughput
  const { stdout } = await run(process.execPath, participantArgs({ client: name, task: one.task, ...args }))
  return JSON.parse(stdout) as Throughput
}

function latencyCommand(name: Name, topic: string): LatencyCommand {
  const args = { topic, rate: 200 }
  if (name === 'java') return javaCommand('latency', args)
  return { command: process.execPath, args: participantArgs({ client: name, task: 'latency', ...args }) }
}

function participantArgs(flags: Readonly<Record<string, string | number>>): string[] {
  const given = Object.entries(flags).map(([flag, value]) => `--${flag}=${value}`)
  return ['--conditions=@waybill/source', '--no-warnings', participant, ...given]
}

function* linesOf(one: BenchCase, results: ReadonlyMap<Name, readonly (Throughput | Latency)[]>): Generator<BenchLine> {
  const valuesOf = (name: Name, field: string): number[] =>
    (results.get(name) ?? []).map((result) => (result as unknown as Record<string, number>)[field] as number)
  const metrics =
    one.task === 'latency'
      ? [
          { field: 'p50Ms', unit: 'ms p50', isLowerBetter: true },
          { field: 'p99Ms', unit: 'ms p99', isLowerBetter: true },
        ]
      : [
          { field: 'perSecond', unit: 'records/s', isLowerBetter: false },
          { field: 'cpuMicrosPerRecord', unit: 'CPU µs/record', isLowerBetter: true },
        ]
  for (const reference of results.keys()) {
    if (reference === 'waybill') continue
    for (const { field, unit, isLowerBetter } of metrics) {
      const names = { bench: 'kafka-client', case: one.name, unit, reference }
      yield compare(names, valuesOf('waybill', field), valuesOf(reference, field), isLowerBetter)
    }
  }
}

async function fill(
  client: ReturnType<typeof createKafkaClient>,
  topic: string,
  one: BenchCase,
  progress: (text: string) => void,
): Promise<void> {
  progress(`${one.name}: filling ${one.count} records`)
  await using producer = client.producer('EVENT', { compression: 'NONE' })
  const values = payloads(one.bytes)
  for (let from = 0; from < one.count; from += 10_000) {
    const sends: Promise<unknown>[] = []
    for (let index = from; index < Math.min(one.count, from + 10_000); index++) {
      sends.push(producer.send({ topic, key: keyOf(index), value: values[index & 1_023] as Buffer, headers }))
    }
    await Promise.all(sends)
  }
}
