/**
 * Measures what a connector holds of small batches that stand for hundreds of megabytes, and for how long its event loop is
 * busy with them. The references are bounds, and not measured: a ratio below 1 is a bound that does not hold.
 */

import { Buffer } from 'node:buffer'
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { createKafkaClient, type KafkaClient } from '@waybill/kafka'
import { type Compression, compress } from '@waybill/kafka/wire'
import type { BenchOptions } from '../bench-options.ts'
import { bootstrap } from '../kafka-client/contestant.ts'
import { type BenchLine, compare } from '../statistics.ts'
import type { MemoryResult, MemoryTask } from './participant.ts'

const run = promisify(execFile)
const participant = join(import.meta.dirname, 'participant.ts')

const compressions: readonly Compression[] = ['GZIP', 'ZSTD', 'LZ4', 'SNAPPY']

const mebibyte = 2 ** 20
const records = 15
const recordBytes = 60e6
const limits = { maxBufferedBytes: 16 * mebibyte, maxBatchBytes: 256 * mebibyte }
/** What a consumer fetches ahead, packed. */
const prefetchBytes = 64 * mebibyte
const chunkBytes = mebibyte
const longestTurnMs = 50
/** A batch above `maxBatchBytes`. */
const oversizedBytes = 300e6

/** Runs every case. */
export async function runMemoryBench({ rounds, only, progress, report }: BenchOptions): Promise<void> {
  await using client = createKafkaClient({ brokers: [bootstrap] })
  for (const compression of compressions) {
    const name = `${records} ${compression} batches of ${recordBytes / 1e6} MB of zeros`
    if (!name.includes(only)) continue
    await using topic = await createTopic(client)
    const packed = await fill(client, topic.name, compression, records, recordBytes)
    const results: { readonly free: MemoryResult; readonly collected: MemoryResult }[] = []
    for (let round = 1; round <= rounds; round++) {
      progress(`${name}: round ${round} of ${rounds}`)
      const task = { topic: topic.name, calls: records, ...limits }
      const free = await measure({ ...task, isCollected: false })
      results.push({ free, collected: await measure({ ...task, isCollected: true }) })
    }
    for (const line of linesOf(name, Math.min(packed, prefetchBytes), results)) report(line)
  }
  const name = `a ZSTD batch of ${oversizedBytes / 1e6} MB, above maxBatchBytes`
  if (!name.includes(only)) return
  await using topic = await createTopic(client)
  await fill(client, topic.name, 'ZSTD', 1, oversizedBytes)
  const results: MemoryResult[] = []
  for (let round = 1; round <= rounds; round++) {
    progress(`${name}: round ${round} of ${rounds}`)
    results.push(await measure({ topic: topic.name, calls: 0, ...limits, isCollected: false }))
  }
  for (const reason of results[0]?.healthReasons ?? []) progress(`health: ${reason}`)
  report(
    within(
      name,
      'MB with garbage',
      'a chunk',
      results.map(({ peak }) => peak / 1e6),
      chunkBytes / 1e6,
    ),
  )
}

function* linesOf(
  name: string,
  packed: number,
  results: readonly { readonly free: MemoryResult; readonly collected: MemoryResult }[],
): Generator<BenchLine> {
  const bound = (packed + limits.maxBufferedBytes + recordBytes + chunkBytes) / 1e6
  const of = (value: (result: MemoryResult) => number): number[] => results.map(({ free }) => value(free))
  const held = results.map(({ collected }) => collected.held / 1e6)
  yield within(name, 'MB held', 'bound', held, bound)
  yield within(
    name,
    'MB with garbage',
    'bound',
    of(({ peak }) => peak / 1e6),
    bound,
  )
  yield within(
    name,
    'ms of CPU in a turn',
    '50 ms',
    of(({ turnCpuMs }) => turnCpuMs),
    longestTurnMs,
  )
  yield within(
    name,
    'ms of delay by the clock',
    '50 ms',
    of(({ delayMs }) => delayMs),
    longestTurnMs,
  )
}

function within(name: string, unit: string, reference: string, values: readonly number[], bound: number): BenchLine {
  const bounds = values.map(() => bound)
  return compare({ bench: 'memory', case: name, unit, reference }, values, bounds, true)
}

async function measure(task: MemoryTask): Promise<MemoryResult> {
  const flags = ['--conditions=@waybill/source', '--no-warnings', '--expose-gc']
  const { stdout } = await run(process.execPath, [...flags, participant, JSON.stringify(task)])
  return JSON.parse(stdout) as MemoryResult
}

async function createTopic({ admin }: KafkaClient): Promise<AsyncDisposable & { readonly name: string }> {
  const name = `bench-memory-${Date.now()}`
  const configs = { 'max.message.bytes': `${16 * mebibyte}` }
  await admin.createTopics([{ topic: name, partitions: 1, replication: 1, configs }])
  const dispose = async (): Promise<void> => {
    const listed = await admin.listTopics()
    await admin.deleteTopics(listed.filter((topic) => topic.startsWith(name)))
  }
  return { name, [Symbol.asyncDispose]: dispose }
}

/** Writes batches of one record of zeros. Returns the size of all as they are stored. */
async function fill(
  client: KafkaClient,
  topic: string,
  compression: Compression,
  count: number,
  bytes: number,
): Promise<number> {
  const sizes = { batchBytes: 2 * bytes, maxRecordBytes: 2 * bytes, maxBufferedBytes: 4 * bytes }
  await using producer = client.producer('EVENT', { compression, lingerMs: 0, ...sizes })
  const value = Buffer.alloc(bytes)
  for (let index = 0; index < count; index++) await producer.send({ topic, partition: 0, key: null, value })
  return (compress(compression, value).length + 200) * count
}
