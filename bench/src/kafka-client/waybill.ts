import { createKafkaClient } from '@waybill/kafka'
import { lookWith } from '../connector/handlers.ts'
import { bootstrap, type Contestant, measureProduce, newGroupId } from './contestant.ts'
import { headers, keyOf } from './payloads.ts'

/** Waybill's client, as the connector uses it. */
export const waybill: Contestant = {
  async consume(topic, reads, meter) {
    await using client = createKafkaClient({ brokers: [bootstrap] })
    const consumer = client.consumer({
      groupId: newGroupId(),
      topics: [topic],
      prefetchRecords: 50_000,
    })
    await consumer.start()
    const look = lookWith(meter, reads)
    while (!meter.isFinished) {
      for (const record of await consumer.poll(5_000, 1_000)) {
        look(record)
        meter.done()
      }
    }
  },

  async produce(task) {
    await using client = createKafkaClient({ brokers: [bootstrap] })
    // Whole batches need no linger, as in the two clients that have none.
    const linger = task.shape === 'BATCH' ? { lingerMs: 0 } : {}
    const producer = client.producer('EVENT', { compression: 'NONE', ...linger })
    return await measureProduce(
      task,
      (key, value) => producer.send({ topic: task.topic, key, value, headers }),
      (sends) => Promise.all(sends),
    )
  },

  async relay(topic, take) {
    const client = createKafkaClient({ brokers: [bootstrap] })
    const consumer = client.consumer({ groupId: newGroupId(), topics: [topic] })
    await consumer.start()
    let isOver = false
    const receiving = (async () => {
      while (!isOver) for (const record of await consumer.poll(500, 200)) take(record.value as Buffer)
    })()
    const producer = client.producer('EVENT', { compression: 'NONE' })
    return {
      send: (index, value) => void producer.send({ topic, key: keyOf(index), value, headers }),
      async [Symbol.asyncDispose]() {
        isOver = true
        await receiving
        await client.close()
      },
    }
  },
}
