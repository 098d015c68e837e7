import { createKafkaClient } from '@waybill/kafka'
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

/** Our own client, as the connector uses it. */
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
    // Whoever hands over whole batches waits for nobody, as with the two that have no linger at all.
    const linger = shape === 'BATCH' ? { lingerMs: 0 } : {}
    const producer = client.producer('EVENT', { compression: 'NONE', ...linger })
    const values = payloads(bytes)
    await producer.send({ topic, key: keyOf(0), value: values[0] as Buffer, headers })
    const meter = new Meter()
    await sendAll(shape, count, (from, to) => {
      const sends: Promise<unknown>[] = []
      for (let index = from; index < to; index++) {
        sends.push(producer.send({ topic, key: keyOf(index), value: values[index & 1_023] as Buffer, headers }))
      }
      return Promise.all(sends)
    })
    return meter.stop(count)
  },

  async latency(topic, perSecond, seconds) {
    await using client = createKafkaClient({ brokers: [bootstrap] })
    const consumer = client.consumer({ groupId: newGroupId(), topics: [topic] })
    await consumer.start()
    const total = perSecond * (seconds + 1)
    const arrivals = new Arrivals(total)
    let isDone = false
    const receiving = (async () => {
      while (!isDone) for (const record of await consumer.poll(500, 200)) arrivals.take(record.value as Buffer)
    })()
    const producer = client.producer('EVENT', { compression: 'NONE' })
    await new Promise((resolve) => setTimeout(resolve, 1_000))
    await atRate(perSecond, total, (index) => {
      void producer.send({ topic, key: keyOf(index), value: stamped(index), headers })
    })
    await arrivals.all
    isDone = true
    await receiving
    return summarise(arrivals.delaysMs, perSecond)
  },
}
