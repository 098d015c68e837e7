/** Runs one case with one client and prints the result: a process of its own, so that nobody warms up another's code. */

import { parseArgs } from 'node:util'
import type { Contestant, ProduceShape } from './contestant.ts'

const { values } = parseArgs({
  options: {
    client: { type: 'string', default: 'waybill' },
    task: { type: 'string', default: 'consume' },
    topic: { type: 'string', default: '' },
    count: { type: 'string', default: '100000' },
    bytes: { type: 'string', default: '100' },
    shape: { type: 'string', default: 'BATCH' },
    rate: { type: 'string', default: '200' },
    seconds: { type: 'string', default: '5' },
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

async function run(): Promise<object> {
  switch (values.task) {
    case 'consume':
      return client.consume(values.topic, count)
    case 'produce':
      return client.produce(values.topic, count, Number(values.bytes), values.shape as ProduceShape)
    case 'latency':
      return client.latency(values.topic, Number(values.rate), Number(values.seconds))
    default:
      throw new Error(`No task ${values.task}: there are consume, produce, latency.`)
  }
}

process.stdout.write(`${JSON.stringify(await run())}\n`)
process.exit(0)
