import { type EachBatchPayload, Kafka, logLevel, Partitioners } from 'kafkajs'
import { bootstrap, type Contestant, measureProduce, newGroupId } from './contestant.ts'
import { takeWith } from './fetched-fields.ts'
import { headers, keyOf } from './payloads.ts'

const kafka = new Kafka({ brokers: [bootstrap], logLevel: logLevel.NOTHING })
const headerObject = Object.fromEntries(headers)

type Message = EachBatchPayload['batch']['messages'][number] & { readonly key: Buffer; readonly value: Buffer }

function sizeOfHeaders(message: Message): number {
  let bytes = 0
  for (const name in message.headers) bytes += name.length + (message.headers[name] as Buffer).length
  return bytes
}

/** kafkajs, with its batch callback. */
export const kafkajs: Contestant = {
  async consume(topic, reads, meter) {
    const consumer = kafka.consumer({ groupId: newGroupId() })
    await consumer.connect()
    await consumer.subscribe({ topic, fromBeginning: true })
    const take = takeWith(meter, reads, sizeOfHeaders)
    await consumer.run({
      autoCommit: false,
      eachBatch: async ({ batch }) => {
        for (const message of batch.messages) take(message as Message)
      },
    })
    await meter.finished
    await consumer.disconnect()
  },

  async produce(task) {
    const producer = kafka.producer({ idempotent: true, createPartitioner: Partitioners.DefaultPartitioner })
    await producer.connect()
    const cost = await measureProduce(
      task,
      (key, value) => ({ key, value, headers: headerObject }),
      (messages) => producer.send({ topic: task.topic, acks: -1, messages }),
    )
    await producer.disconnect()
    return cost
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
