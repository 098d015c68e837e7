/** librdkafka through node-rdkafka, with its callbacks. */

import { once } from 'node:events'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { bootstrap, type Contestant, costOf, newGroupId } from './contestant.ts'
import { takeWith } from './fetched-fields.ts'
import { loadLibrdkafka } from './librdkafka-project.ts'
import { headers, keyOf, payloads } from './payloads.ts'

/** A record as the library returns it: an object for each header. */
interface Message {
  readonly key: Buffer
  readonly value: Buffer
  readonly headers: readonly Readonly<Record<string, Buffer>>[]
}

/** The used part of its API. */
interface Client extends NodeJS.EventEmitter {
  connect(): void
  disconnect(): void
}

interface Consumer extends Client {
  subscribe(topics: readonly string[]): void
  consume(count: number, done: (error: Error | null, messages: Message[]) => void): void
}

interface Producer extends Client {
  setPollInterval(ms: number): void
  poll(): void
  produce(
    topic: string,
    partition: null,
    value: Buffer,
    key: Buffer,
    timestamp: null,
    opaque: null,
    headers: readonly Readonly<Record<string, Buffer>>[],
  ): void
}

interface Library {
  readonly KafkaConsumer: new (options: object, topicOptions: object) => Consumer
  readonly Producer: new (options: object, topicOptions: object) => Producer
}

const queueFull = -184
const headerList = headers.map(([name, value]) => ({ [name]: value }))

function sizeOfHeaders(message: Message): number {
  let bytes = 0
  for (const header of message.headers)
    for (const name in header) bytes += name.length + (header[name] as Buffer).length
  return bytes
}

async function connect<C extends Client>(client: C): Promise<C> {
  const ready = once(client, 'ready')
  client.connect()
  await ready
  return client
}

async function disconnect(client: Client): Promise<void> {
  const ended = once(client, 'disconnected')
  client.disconnect()
  await ended
}

/** Creates the client. */
export function librdkafka(): Contestant {
  const { KafkaConsumer, Producer: KafkaProducer } = loadLibrdkafka() as Library
  const shared = { 'bootstrap.servers': bootstrap }
  return {
    async consume(topic, reads, meter) {
      const options = { ...shared, 'group.id': newGroupId(), 'enable.auto.commit': false }
      const consumer = await connect(new KafkaConsumer(options, { 'auto.offset.reset': 'earliest' }))
      consumer.subscribe([topic])
      const take = takeWith(meter, reads, sizeOfHeaders)
      const poll = (): Promise<Message[]> =>
        new Promise((resolve, reject) =>
          consumer.consume(5_000, (error, messages) => (error ? reject(error) : resolve(messages))),
        )
      while (!meter.isFinished) for (const message of await poll()) take(message)
      await disconnect(consumer)
    },

    async produce({ topic, count, bytes }) {
      const options = { ...shared, 'enable.idempotence': true, partitioner: 'murmur2_random', dr_cb: true }
      const producer = await connect(new KafkaProducer(options, {}))
      producer.setPollInterval(5)
      const values = payloads(bytes)
      let written = 0
      let failure: Error | undefined
      producer.on('delivery-report', (error: Error | null) => {
        if (error) failure = error
        else written++
      })
      const sendRange = async (from: number, to: number): Promise<void> => {
        const target = written + to - from
        for (let index = from; index < to; index++) await send(index)
        while (written < target && failure === undefined) await nextTurn()
        if (failure !== undefined) throw failure
      }
      const send = async (index: number): Promise<void> => {
        for (;;) {
          try {
            const value = values[index & 1_023] as Buffer
            return producer.produce(topic, null, value, keyOf(index), null, null, headerList)
          } catch (error) {
            if ((error as { code?: number }).code !== queueFull) throw error
            producer.poll()
            await nextTurn()
          }
        }
      }
      await sendRange(count, count + 1)
      const cost = await costOf(() => sendRange(0, count))
      await disconnect(producer)
      return cost
    },
  }
}
