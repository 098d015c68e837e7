import { Kafka, logLevel, Partitioners } from 'kafkajs'
import { bootstrap, type Contestant, Meter, measureProduce, newGroupId } from './contestant.ts'
import { headers, keyOf } from './payloads.ts'

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
    const result = await measureProduce(
      { count, bytes, shape },
      (key, value) => ({ key, value, headers: headerObject }),
      (messages) => producer.send({ topic, acks: -1, messages }),
    )
    await producer.disconnect()
    return result
  },

  async relay(topic, take) {
    const consumer = kafka.consumer({ groupId: newGroupId() })
    await consumer.connect()
    await consumer.subscribe({ topic, fromBeginning: true })
    await consumer.run({ eachMessage: async ({ message }) => take(message.value as Buffer) })
    const producer = kafka.producer({ idempotent: true, createPartitioner: Partitioners.DefaultPartitioner })
    await producer.connect()
    return {
      send: (index, value) =>
        void producer.send({ topic, acks: -1, messages: [{ key: keyOf(index), value, headers: headerObject }] }),
      async [Symbol.asyncDispose]() {
        await Promise.all([consumer.disconnect(), producer.disconnect()])
      },
    }
  },
}
