/**
 * The connector beside its Java peers, on the same broker, in interleaved rounds. Rates and CPU are ratios to the peer of
 * the same round.
 */

import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { createKafkaClient, type KafkaClient } from '@waybill/kafka'
import type { BenchOptions } from '../bench-options.ts'
import { prepareJava } from '../java-project.ts'
import { bootstrap } from '../kafka-client/contestant.ts'
import { headers, keys, payloads } from '../kafka-client/payloads.ts'
import { type BenchLine, compare } from '../statistics.ts'
import { type ConnectorCase, cases, partitions, type Rival } from './cases.ts'
import type { PeerResult } from './java-peers.ts'
import type { ParticipantResult, ParticipantTask } from './participant.ts'

const run = promisify(execFile)
const participant = join(import.meta.dirname, 'participant.ts')
const valueBytes = 100
const heapCase = 'heap and buffers after a collection, BATCH one by one'
/** Record counts at which the heap is measured: as many records are in flight at both. */
const heapAt: readonly [number, number] = [200_000, 1_000_000]

/** Topics of one run, with records in them. */
class BenchTopics implements AsyncDisposable {
  readonly #client: KafkaClient
  readonly #stamp = Date.now()
  #count = 0

  constructor(client: KafkaClient) {
    this.#client = client
  }

  async filled(records: number, keyCount: number): Promise<string> {
    const topic = `bench-connector-${this.#stamp}-${this.#count++}`
    await this.#client.admin.createTopics([{ topic, partitions, replication: 1 }])
    await using producer = this.#client.producer('EVENT', { compression: 'NONE' })
    const values = payloads(valueBytes)
    for (let from = 0; from < records; from += 10_000) {
      const sends: Promise<unknown>[] = []
      for (let index = from; index < Math.min(records, from + 10_000); index++) {
        const key = keys[(index * 7_919) % keyCount] as Buffer
        sends.push(producer.send({ topic, key, value: values[index & 1_023] as Buffer, headers }))
      }
      await Promise.all(sends)
    }
    return topic
  }

  /** Deletes the topics and those derived from them. */
  async [Symbol.asyncDispose](): Promise<void> {
    const listed = await this.#client.admin.listTopics()
    const own = listed.filter((topic) => topic.startsWith(`bench-connector-${this.#stamp}-`))
    await this.#client.admin.deleteTopics(own)
  }
}

/** Runs every case whose name contains `only`. */
export async function runConnectorBench({ rounds, only, progress, report }: BenchOptions): Promise<void> {
  const noJava = await prepareJava()
  if (noJava !== undefined) progress(`Java peers skipped: ${noJava}`)
  await using client = createKafkaClient({ brokers: [bootstrap] })
  await using topics = new BenchTopics(client)
  for (const one of cases.filter(({ name }) => name.includes(only))) {
    const rivals = one.rivals.filter((rival) => typeof rival.run === 'string' || noJava === undefined)
    const times = rounds * (one.timesRounds ?? 1)
    for (const line of await compareWith({ ...one, rivals }, topics, times, progress)) report(line)
  }
  if (heapCase.includes(only)) report(await compareHeap(topics, rounds, progress))
}

async function compareWith(
  one: ConnectorCase,
  topics: BenchTopics,
  rounds: number,
  progress: (text: string) => void,
): Promise<BenchLine[]> {
  const shared = one.isOwnTopic === true ? undefined : await topics.filled(one.records, one.keys)
  const topic = async (): Promise<string> => shared ?? (await topics.filled(one.records, one.keys))
  const ours: PeerResult[] = []
  const theirs = new Map<Rival, PeerResult[]>(one.rivals.map((rival) => [rival, []]))
  for (let round = 1; round <= rounds; round++) {
    progress(`${one.name}: round ${round} of ${rounds}, waybill`)
    ours.push(await runOurs({ topic: await topic(), records: one.records, setup: one.setup }))
    for (const [rival, results] of theirs) {
      progress(`${one.name}: round ${round} of ${rounds}, ${rival.name}`)
      results.push(await runRival(rival, await topic(), rival.records ?? one.records))
    }
  }
  return [...theirs].flatMap(([{ name }, results]) => linesOf(one.name, name, ours, results))
}

function runRival({ run: how }: Rival, topic: string, records: number): Promise<PeerResult> {
  return typeof how === 'string' ? runOurs({ topic, records, setup: how }) : how({ topic, records })
}

async function runOurs(task: ParticipantTask): Promise<ParticipantResult> {
  const flags = ['--conditions=@waybill/source', '--no-warnings', '--expose-gc']
  const { stdout } = await run(process.execPath, [...flags, participant, JSON.stringify(task)])
  return JSON.parse(stdout) as ParticipantResult
}

function rateOf({ records, seconds }: PeerResult): number {
  return records / seconds
}

function cpuOf({ records, cpuSeconds }: PeerResult): number {
  return (cpuSeconds * 1e6) / records
}

function linesOf(
  name: string,
  reference: string,
  ours: readonly PeerResult[],
  theirs: readonly PeerResult[],
): BenchLine[] {
  const names = { bench: 'connector', case: name, reference }
  return [
    compare({ ...names, unit: 'records/s' }, ours.map(rateOf), theirs.map(rateOf)),
    compare({ ...names, unit: 'CPU µs/record' }, ours.map(cpuOf), theirs.map(cpuOf), true),
  ]
}

/** Compares the heap with that of the same run, early on. */
async function compareHeap(topics: BenchTopics, rounds: number, progress: (text: string) => void): Promise<BenchLine> {
  const [early, late] = heapAt
  const records = late + early / 4
  const topic = await topics.filled(records, keys.length)
  const results: ParticipantResult[] = []
  for (let round = 1; round <= rounds; round++) {
    progress(`${heapCase}: round ${round} of ${rounds}`)
    results.push(await runOurs({ topic, records, setup: 'BATCH', heapAt }))
  }
  const at = (index: number): number[] => results.map(({ heap }) => (heap[index] as number) / 1e6)
  const names = { bench: 'connector', case: heapCase, unit: `MB at ${late}`, reference: `at ${early}` }
  return compare(names, at(1), at(0), true)
}
