import { createKafkaClient } from '@waybill/kafka'
import { bootstrap, type Contestant, Meter, measureProduce, newGroupId } from './contestant.ts'
import { headers, keyOf } from './payloads.ts'

/** Waybill's client, as the connector uses it. */
export const waybill: Contestant = {
  async consume(topic, count) {
    await using client = createKafkaClient({ brokers: [bootstrap] })
    const consumer = client.consumer({
      groupId: newGroupId(),
      topics: [topic],
      prefetchRecords: 50_000,
    })
    await consumer.start()
    const meter = new Meter()
    let seen = 0
    let bytes = 0
    while (seen < count) {
      for (const record of await consumer.poll(5_000, 1_000)) {
        meter.first()
        seen++
        bytes += record.value?.length ?? 0
      }
    }
    if (bytes === 0) throw new Error('Nothing was read.')
    return meter.stop(seen)
  },

  async produce(topic, count, bytes, shape) {
    await using client = createKafkaClient({ brokers: [bootstrap] })
    // Whole batches need no linger, as in the two clients that have none.
    const linger = shape === 'BATCH' ? { lingerMs: 0 } : {}
    const producer = client.producer('EVENT', { compression: 'NONE', ...linger })
    return await measureProduce(
      { count, bytes, shape },
      (key, value) => producer.send({ topic, key, value, headers }),
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
