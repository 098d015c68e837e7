/** Runs one case with one client and prints the results, in a process of its own: no client warms up another's code. */

import { parseArgs } from 'node:util'
import type { Contestant, ProduceShape } from './contestant.ts'
import { serveLatencyBlocks } from './latency-blocks.ts'

const { values } = parseArgs({
  options: {
    client: { type: 'string', default: 'waybill' },
    task: { type: 'string', default: 'consume' },
    topic: { type: 'string', default: '' },
    count: { type: 'string', default: '100000' },
    bytes: { type: 'string', default: '100' },
    shape: { type: 'string', default: 'BATCH' },
    rate: { type: 'string', default: '200' },
  },
})

const clients: Readonly<Record<string, () => Promise<Contestant>>> = {
  waybill: async () => (await import('./waybill.ts')).waybill,
  platformatic: async () => (await import('./platformatic.ts')).platformatic,
  kafkajs: async () => (await import('./kafkajs.ts')).kafkajs,
}

const open = clients[values.client]
if (open === undefined) throw new Error(`No client ${values.client}: there are ${Object.keys(clients).join(', ')}.`)
const client = await open()
const count = Number(values.count)

async function run(): Promise<void> {
  switch (values.task) {
    case 'consume':
      return print(await client.consume(values.topic, count))
    case 'produce':
      return print(await client.produce(values.topic, count, Number(values.bytes), values.shape as ProduceShape))
    case 'latency':
      return serveLatencyBlocks(client, values.topic, Number(values.rate))
    default:
      throw new Error(`No task ${values.task}: there are consume, produce, latency.`)
  }
}

function print(result: object): void {
  process.stdout.write(`${JSON.stringify(result)}\n`)
}

await run()
process.exit(0)
