/** Runs the connector on a filled topic and prints its cost, in a process of its own like the peers. */

import { setTimeout as sleep } from 'node:timers/promises'
import { type Binding, createConnector } from '@waybill/connector'
import { runtimeWith } from '@waybill/core'
import { createKafkaClient, type KafkaClient, type KafkaRecord } from '@waybill/kafka'
import { type OffsetCommit } from '@waybill/kafka/internal'
import { bootstrap } from '../kafka-client/contestant.ts'
import type { PeerResult, PeerTask } from './java-peers.ts'
import { type Setup, type SetupName, setups } from './setups.ts'
import { listen } from './telemetry.ts'

/** The work of one run. */
export interface ParticipantTask extends PeerTask {
  readonly setup: SetupName
  /** The record counts at which the heap is measured; needs `--expose-gc`. */
  readonly heapAt?: readonly number[]
}

/** The printed result. */
export interface ParticipantResult extends PeerResult {
  /** Bytes in use after a garbage collection, buffers included, for each of `heapAt`. */
  readonly heap: readonly number[]
}

const handlerMs = 5
const task = JSON.parse(process.argv[2] ?? '') as ParticipantTask
const { binding, handler, done, hasTelemetry, pollsPerCommit }: Setup = setups[task.setup]
const all = Promise.withResolvers<void>()
const heap: number[] = []
let startedAt = 0
let calls = 0
let finished = 0
let bytes = 0

function began(): void {
  if (calls++ === 0) startedAt = performance.now()
  if (task.heapAt?.includes(calls) === true) {
    globalThis.gc?.()
    const { heapUsed, arrayBuffers } = process.memoryUsage() // Fetched records are in buffers outside the heap.
    heap.push(heapUsed + arrayBuffers)
  }
}

function finish(): void {
  if (++finished === task.records) all.resolve()
}

function look(records: readonly KafkaRecord[]): void {
  if (calls++ === 0) startedAt = performance.now()
  for (const { value } of records) bytes += value?.length ?? 0
  finished += records.length
  if (finished >= task.records) all.resolve()
}

const handlers: Readonly<Record<Setup['handler'], Binding['handler']>> = {
  NOTHING: () => {
    began()
    finish()
  },
  LOOKS: { handleBatch: look },
  SLEEPS: async () => {
    began()
    await sleep(handlerMs)
    finish()
  },
  THROWS: () => {
    began()
    throw new Error('every record fails')
  },
}

/** Counts the records of the dead letter topic, like the peer's listener. */
async function readDeadLetters(client: KafkaClient, groupId: string): Promise<void> {
  const consumer = client.consumer({ groupId: `${groupId}-dead`, topics: [`${task.topic}.DLT`] })
  await consumer.start()
  while (finished < task.records) for (const _ of await consumer.poll(500, 100)) finish()
}

/** Consumes without a connector: polls, handles every record, and awaits a commit now and then. */
async function pollRaw(client: KafkaClient, groupId: string, commitEvery: number): Promise<void> {
  const consumer = client.consumer({ groupId, topics: [task.topic] })
  await consumer.start()
  const handled = new Map<number, OffsetCommit>()
  for (let polls = 1; finished < task.records; polls++) {
    const records = await consumer.poll(binding.maxPollRecords ?? 500, 1_000)
    look(records)
    for (const end of endsOf(records)) handled.set(end.partition, end)
    if (polls % commitEvery !== 0 || handled.size === 0) continue
    await consumer.commit([...handled.values()])
    handled.clear()
  }
}

/** Returns the next offset of each partition. Records of a partition are adjacent. */
function endsOf(records: readonly KafkaRecord[]): OffsetCommit[] {
  const lasts = records.filter(({ partition }, index) => records[index + 1]?.partition !== partition)
  return lasts.map(({ topic, partition, epoch, offset }) => ({ topic, partition, epoch, offset: offset + 1n }))
}

function failpoint(name: string): void {
  if (name === 'dlt.acked') finish()
}

async function startConnector(client: KafkaClient, groupId: string): Promise<void> {
  const bound: Binding = { topic: task.topic, groupId, handler: handlers[handler], ...binding }
  const watched = done === 'CONFIRMED' ? { failpoint } : {}
  const measured = hasTelemetry === true ? { metrics: listen() } : {}
  const connector = createConnector({
    clusters: { default: client },
    bindings: { bench: bound },
    runtime: runtimeWith({ ...watched, ...measured }),
  })
  await connector.start()
}

const cpu = process.cpuUsage()
const client = createKafkaClient({ brokers: [bootstrap] })
const groupId = `bench-${process.pid}-${Date.now()}`
await (pollsPerCommit === undefined ? startConnector(client, groupId) : pollRaw(client, groupId, pollsPerCommit))
if (done === 'READ') await readDeadLetters(client, groupId)
await all.promise
if (handler === 'LOOKS' && bytes === 0) throw new Error('Nothing was read.')
const seconds = (performance.now() - startedAt) / 1_000
const { user, system } = process.cpuUsage(cpu)
const result: ParticipantResult = { records: task.records, seconds, cpuSeconds: (user + system) / 1e6, heap }
process.stdout.write(`${JSON.stringify(result)}\n`)
process.exit(0)
