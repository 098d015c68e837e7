/** Runs one case with one client and prints the results, in a process of its own: no client warms up another's code. */

import { PassMeter } from '../passes/pass-meter.ts'
import type { PassResult, PassTask } from '../passes/pass-result.ts'
import type { Contestant, ProduceShape } from './contestant.ts'
import { serveLatencyBlocks } from './latency-blocks.ts'

/** The names of the clients on Node. */
export type NodeClient = keyof typeof clients

/** The work of the process. */
export interface ClientTask extends PassTask {
  readonly client: NodeClient
  readonly work: 'consume' | 'produce' | 'latency'
  readonly bytes: number
  readonly shape: ProduceShape
  /** Records per second, for latency. */
  readonly rate: number
}

const clients = {
  waybill: async () => (await import('./waybill.ts')).waybill,
  platformatic: async () => (await import('./platformatic.ts')).platformatic,
  'platformatic-stream': async () => (await import('./platformatic.ts')).platformaticStream,
  kafkajs: async () => (await import('./kafkajs.ts')).kafkajs,
  librdkafka: async () => (await import('./librdkafka.ts')).librdkafka(),
} as const satisfies Readonly<Record<string, () => Promise<Contestant>>>

const task = JSON.parse(process.argv[2] ?? '') as ClientTask
const client: Contestant = await clients[task.client]()

if (task.work === 'latency') await serveLatency(task.topics[0] as string)
else for (const [pass, topic] of task.topics.entries()) print(await runPass(pass, topic))
process.exit(0)

async function runPass(pass: number, topic: string): Promise<PassResult> {
  const { records, reads, bytes, shape } = task
  if (task.work === 'produce') {
    const produce = client.produce ?? missing
    return { pass, topic, records, ...(await produce({ topic, count: records, bytes, shape })) }
  }
  const meter = new PassMeter(pass, topic, records)
  const consume = client.consume ?? missing
  await consume(topic, reads, meter)
  return meter.result()
}

function serveLatency(topic: string): Promise<void> {
  return serveLatencyBlocks({ relay: client.relay ?? missing }, topic, task.rate)
}

function missing(): never {
  throw new Error(`${task.client} has no way to ${task.work}.`)
}

function print(result: PassResult): void {
  process.stdout.write(`${JSON.stringify(result)}\n`)
}
