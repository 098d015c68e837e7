import { Consumer, Producer } from '@platformatic/kafka'
import { bootstrap, type Contestant, Meter, measureProduce, newGroupId } from './contestant.ts'
import { headers, keyOf } from './payloads.ts'

const headerMap = new Map(headers.map(([name, value]) => [Buffer.from(name), value]))

/** Reads with the library's fetch call in a loop over all partitions, its fastest way. */
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

function openProducer(): Producer {
  return new Producer({
    clientId: 'bench',
    bootstrapBrokers: [bootstrap],
    idempotent: true,
    acks: -1,
    autocreateTopics: false,
  })
}

/** @platformatic/kafka. */
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
    const producer = openProducer()
    const result = await measureProduce(
      { count, bytes, shape },
      (key, value) => ({ topic, key, value, headers: headerMap }),
      (messages) => producer.send({ messages }),
    )
    await producer.close(true)
    return result
  },

  async relay(topic, take) {
    let isOver = false
    const receiving = fetchLoop(topic, take, () => isOver)
    const producer = openProducer()
    return {
      send: (index, value) =>
        void producer.send({ messages: [{ topic, key: keyOf(index), value, headers: headerMap }] }),
      async [Symbol.asyncDispose]() {
        isOver = true
        await receiving
        await producer.close(true)
      },
    }
  },
}
