/** Runs the connector on filled topics and prints the result of each pass, in a process of its own like the peers. */

import { type Binding, createConnector } from '@waybill/connector'
import { runtimeWith } from '@waybill/core'
import { createKafkaClient, type KafkaClient, type KafkaRecord } from '@waybill/kafka'
import type { OffsetCommit } from '@waybill/kafka/internal'
import { createBrokerTransport } from '@waybill/kafka/wire'
import { bootstrap } from '../kafka-client/contestant.ts'
import { PassMeter } from '../passes/pass-meter.ts'
import type { PassResult, PassTask } from '../passes/pass-result.ts'
import { type CommitCount, withCountedCommits } from './counted-commits.ts'
import { handlerOf, type Look, lookWith } from './handlers.ts'
import { type Setup, type SetupName, setups } from './setups.ts'
import { listen } from './telemetry.ts'

/** The work of the process. */
export interface ParticipantTask extends PassTask {
  readonly setup: SetupName
  /** The record counts at which the heap is measured; needs `--expose-gc`. */
  readonly heapAt?: readonly number[]
}

const task = JSON.parse(process.argv[2] ?? '') as ParticipantTask
const setup: Setup = setups[task.setup]
const telemetry = setup.hasTelemetry === true ? { metrics: listen() } : {}

/** The client and topic of a pass. */
interface Bench {
  readonly topic: string
  readonly groupId: string
  readonly client: KafkaClient
  readonly meter: PassMeter
  readonly look: Look
}

async function runPass(topic: string, pass: number): Promise<PassResult> {
  const commits: CommitCount = { sent: 0 }
  const transport = withCountedCommits(createBrokerTransport(), commits)
  const meter = new PassMeter(pass, topic, task.records)
  const heap: number[] = []
  await using client = createKafkaClient({ brokers: [bootstrap], transport })
  const groupId = `bench-${process.pid}-${pass}-${Date.now()}`
  const bench = { topic, groupId, client, meter, look: withHeap(lookWith(meter, task.reads), meter, heap) }
  const sent = setup.pollsPerCommit === undefined ? await runConnector(bench, commits) : await runClient(bench, commits)
  return meter.result({ groupId, commits: sent, heap })
}

/** Measures the heap at the wanted counts; without any, returns the function itself. */
function withHeap(look: Look, meter: PassMeter, heap: number[]): Look {
  const { heapAt } = task
  if (heapAt === undefined) return look
  return (record) => {
    look(record)
    if (!heapAt.includes(meter.handled)) return
    globalThis.gc?.()
    const { heapUsed, arrayBuffers } = process.memoryUsage() // Fetched records are in buffers outside the heap.
    heap.push(heapUsed + arrayBuffers)
  }
}

/** Runs the connector until all records are done. Returns the commits until then. */
async function runConnector({ topic, groupId, client, meter, look }: Bench, commits: CommitCount): Promise<number> {
  const bound: Binding = { topic, groupId, handler: handlerOf(setup.handler, meter, look), ...setup.binding }
  const failpoint = (name: string): void => {
    if (name === 'dlt.acked') meter.done()
  }
  const watched = setup.done === 'CONFIRMED' ? { failpoint } : {}
  const connector = createConnector({
    clusters: { default: client },
    bindings: { bench: bound },
    runtime: runtimeWith({ ...watched, ...telemetry }),
  })
  await connector.start()
  if (setup.done === 'READ') await readDeadLetters(client, topic, groupId, meter)
  await meter.finished
  const sent = commits.sent
  await connector.stop()
  return sent
}

/** Counts the records of the dead letter topic, like the peer's listener. */
async function readDeadLetters(client: KafkaClient, topic: string, groupId: string, meter: PassMeter): Promise<void> {
  const consumer = client.consumer({ groupId: `${groupId}-dead`, topics: [`${topic}.DLT`] })
  await consumer.start()
  while (!meter.isFinished) for (const _ of await consumer.poll(500, 100)) meter.done()
}

/** Consumes without a connector: polls, handles every record, and awaits a commit now and then. */
async function runClient({ topic, groupId, client, meter, look }: Bench, commits: CommitCount): Promise<number> {
  const every = setup.pollsPerCommit ?? 1
  const consumer = client.consumer({ groupId, topics: [topic] })
  await consumer.start()
  const handled = new Map<number, OffsetCommit>()
  for (let polls = 1; !meter.isFinished; polls++) {
    const records = await consumer.poll(setup.binding.maxPollRecords ?? 500, 1_000)
    for (const record of records) {
      look(record)
      meter.done()
    }
    for (const end of endsOf(records)) handled.set(end.partition, end)
    if (polls % every !== 0 || handled.size === 0) continue
    await consumer.commit([...handled.values()])
    handled.clear()
  }
  const sent = commits.sent
  await consumer.commit([...handled.values()])
  return sent
}

/** Returns the next offset of each partition. Records of a partition are adjacent. */
function endsOf(records: readonly KafkaRecord[]): OffsetCommit[] {
  const lasts = records.filter(({ partition }, index) => records[index + 1]?.partition !== partition)
  return lasts.map(({ topic, partition, epoch, offset }) => ({ topic, partition, epoch, offset: offset + 1n }))
}

for (const [pass, topic] of task.topics.entries())
  process.stdout.write(`${JSON.stringify(await runPass(topic, pass))}\n`)
process.exit(0)
