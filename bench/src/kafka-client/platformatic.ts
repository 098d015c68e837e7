import { Consumer, Producer } from '@platformatic/kafka'
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

const headerMap = new Map(headers.map(([name, value]) => [Buffer.from(name), value]))

/** Its fetch call in a loop over all partitions: the fastest way to read with it. */
async function fetchLoop(topic: string, take: (value: Buffer) => void, isDone: () => boolean): Promise<void> {
  const consumer = new Consumer({
    clientId: 'bench',
    groupId: newGroupId(),
    bootstrapBrokers: [bootstrap],
  })
  consumer.topics.track(topic)
  const metadata = await consumer.metadata({ topics: [topic] })
  const description = metadata.topics.get(topic)
  if (description === undefined) throw new Error(`No topic ${topic}.`)
  const node = (description.partitions[0] as { leader: number }).leader
  const offsets = description.partitions.map(() => 0n)
  while (!isDone()) {
    const answer = await consumer.fetch({
      node,
      maxWaitTime: 500,
      minBytes: 1,
      maxBytes: 50 * 1024 * 1024,
      topics: [
        {
          topicId: description.id,
          partitions: offsets.map((fetchOffset, partition) => ({
            partition,
            fetchOffset,
            partitionMaxBytes: 1024 * 1024,
            currentLeaderEpoch: -1,
            lastFetchedEpoch: -1,
          })),
        },
      ],
    })
    for (const { partitions } of answer.responses) {
      for (const { partitionIndex, records } of partitions) {
        for (const batch of records ?? []) {
          for (const record of batch.records) {
            const offset = batch.firstOffset + BigInt(record.offsetDelta)
            if (offset < (offsets[partitionIndex] as bigint)) continue
            take(record.value as Buffer)
          }
          offsets[partitionIndex] = batch.firstOffset + BigInt(batch.lastOffsetDelta) + 1n
        }
      }
    }
  }
  await consumer.close(true)
}

/** The library our transport borrows its encoding from, used directly. */
export const platformatic: Contestant = {
  async consume(topic, count) {
    const meter = new Meter()
    let seen = 0
    let bytes = 0
    let result = meter.stop(1)
    await fetchLoop(
      topic,
      (value) => {
        meter.first()
        bytes += value.length
        if (++seen === count) result = meter.stop(seen)
      },
      () => seen >= count,
    )
    if (bytes === 0) throw new Error('Nothing was read.')
    return result
  },

  async produce(topic, count, bytes, shape) {
    const producer = new Producer({
      clientId: 'bench',
      bootstrapBrokers: [bootstrap],
      idempotent: true,
      acks: -1,
      autocreateTopics: false,
    })
    const values = payloads(bytes)
    const send = async (from: number, to: number): Promise<void> => {
      const messages = []
      for (let index = from; index < to; index++) {
        messages.push({ topic, key: keyOf(index), value: values[index & 1_023] as Buffer, headers: headerMap })
      }
      await producer.send({ messages })
    }
    await send(0, 1)
    const meter = new Meter()
    await sendAll(shape, count, send)
    const result = meter.stop(count)
    await producer.close(true)
    return result
  },

  async latency(topic, perSecond, seconds) {
    const total = perSecond * (seconds + 1)
    const arrivals = new Arrivals(total)
    let isDone = false
    const receiving = fetchLoop(
      topic,
      (value) => arrivals.take(value),
      () => isDone,
    )
    const producer = new Producer({ clientId: 'bench', bootstrapBrokers: [bootstrap] })
    await new Promise((resolve) => setTimeout(resolve, 1_000))
    await atRate(perSecond, total, (index) => {
      void producer.send({
        messages: [{ topic, key: keyOf(index), value: stamped(index), headers: headerMap }],
        acks: -1,
      })
    })
    await arrivals.all
    isDone = true
    await receiving
    await producer.close(true)
    return summarise(arrivals.delaysMs, perSecond)
  },
}
