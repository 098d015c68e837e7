import { Kafka, logLevel, Partitioners } from 'kafkajs'
import {
  Arrivals,
  atRate,
  bootstrap,
  type Contestant,
  Meter,
  newGroupId,
  sendAll,
  stamped,
  summarise,
} from './contestant.ts'
import { headers, keyOf, payloads } from './payloads.ts'

const kafka = new Kafka({ brokers: [bootstrap], logLevel: logLevel.NOTHING })
const headerObject = Object.fromEntries(headers)

/** kafkajs, with its batch callback. */
export const kafkajs: Contestant = {
  async consume(topic, count) {
    const consumer = kafka.consumer({ groupId: newGroupId() })
    await consumer.connect()
    await consumer.subscribe({ topic, fromBeginning: true })
    const meter = new Meter()
    let seen = 0
    let bytes = 0
    const done = Promise.withResolvers<ReturnType<Meter['stop']>>()
    await consumer.run({
      autoCommit: false,
      eachBatch: async ({ batch }) => {
        meter.first()
        for (const { value } of batch.messages) {
          seen++
          bytes += value?.length ?? 0
        }
        if (seen >= count) done.resolve(meter.stop(seen))
      },
    })
    const result = await done.promise
    await consumer.disconnect()
    if (bytes === 0) throw new Error('Nothing was read.')
    return result
  },

  async produce(topic, count, bytes, shape) {
    const producer = kafka.producer({ idempotent: true, createPartitioner: Partitioners.DefaultPartitioner })
    await producer.connect()
    const values = payloads(bytes)
    const send = async (from: number, to: number): Promise<void> => {
      const messages = []
      for (let index = from; index < to; index++) {
        messages.push({ key: keyOf(index), value: values[index & 1_023] as Buffer, headers: headerObject })
      }
      await producer.send({ topic, acks: -1, messages })
    }
    await send(0, 1)
    const meter = new Meter()
    await sendAll(shape, count, send)
    const result = meter.stop(count)
    await producer.disconnect()
    return result
  },

  async latency(topic, perSecond, seconds) {
    const total = perSecond * (seconds + 1)
    const arrivals = new Arrivals(total)
    const consumer = kafka.consumer({ groupId: newGroupId() })
    await consumer.connect()
    await consumer.subscribe({ topic, fromBeginning: true })
    await consumer.run({ eachMessage: async ({ message }) => arrivals.take(message.value as Buffer) })
    const producer = kafka.producer({ createPartitioner: Partitioners.DefaultPartitioner })
    await producer.connect()
    await new Promise((resolve) => setTimeout(resolve, 4_000))
    await atRate(perSecond, total, (index) => {
      void producer.send({ topic, messages: [{ key: keyOf(index), value: stamped(index), headers: headerObject }] })
    })
    await arrivals.all
    await Promise.all([consumer.disconnect(), producer.disconnect()])
    return summarise(arrivals.delaysMs, perSecond)
  },
}
