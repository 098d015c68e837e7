import { once } from 'node:events'
import { finished } from 'node:stream/promises'
import { Consumer, Producer } from '@platformatic/kafka'
import { bootstrap, type Contestant, costOf, measureProduce, newGroupId } from './contestant.ts'
import { takeWith } from './fetched-fields.ts'
import { headers, keyOf, payloads } from './payloads.ts'

const headerMap = new Map(headers.map(([name, value]) => [Buffer.from(name), value]))

/** A record of a fetch, or a message of a stream. */
interface Fetched {
  readonly key: Buffer
  readonly value: Buffer
  readonly headers: Iterable<readonly [Buffer, Buffer]>
}

function sizeOfHeaders({ headers: pairs }: Fetched): number {
  let bytes = 0
  for (const [name, value] of pairs) bytes += name.length + value.length
  return bytes
}

/** Reads with the library's fetch call in a loop over all partitions, its fastest way. */
async function fetchLoop(topic: string, take: (record: Fetched) => void, isDone: () => boolean): Promise<void> {
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
            take(record as Fetched)
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

/** @platformatic/kafka: its fetch call, and its `send`. */
export const platformatic: Contestant = {
  consume: (topic, reads, meter) => fetchLoop(topic, takeWith(meter, reads, sizeOfHeaders), () => meter.isFinished),

  async produce(task) {
    const producer = openProducer()
    const cost = await measureProduce(
      task,
      (key, value) => ({ topic: task.topic, key, value, headers: headerMap }),
      (messages) => producer.send({ messages }),
    )
    await producer.close(true)
    return cost
  },

  async relay(topic, take) {
    let isOver = false
    const receiving = fetchLoop(
      topic,
      ({ value }) => take(value),
      () => isOver,
    )
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

/** Batches of about 64 KiB, and its default wait of 10 ms. */
const streamBatches = { batchSize: 500, batchTime: 10, highWaterMark: 5_000 }

/** @platformatic/kafka: its stream of messages as a member of a group, and its stream that batches single records. */
export const platformaticStream: Contestant = {
  async consume(topic, reads, meter) {
    const consumer = new Consumer({ clientId: 'bench', groupId: newGroupId(), bootstrapBrokers: [bootstrap] })
    const limits = { maxBytesPerPartition: 1024 * 1024, maxWaitTime: 500 }
    const stream = await consumer.consume({ topics: [topic], mode: 'earliest', autocommit: false, ...limits })
    const take = takeWith(meter, reads, sizeOfHeaders)
    for await (const message of stream) {
      take(message)
      if (meter.isFinished) break
    }
    await consumer.close(true)
  },

  async produce({ topic, count, bytes }) {
    const producer = openProducer()
    const values = payloads(bytes)
    const make = (index: number) => ({
      topic,
      key: keyOf(index),
      value: values[index & 1_023] as Buffer,
      headers: headerMap,
    })
    await producer.send({ messages: [make(count)] })
    const stream = producer.asStream(streamBatches)
    const cost = await costOf(async () => {
      for (let index = 0; index < count; index++) if (!stream.write(make(index))) await once(stream, 'drain')
      stream.end()
      await finished(stream)
    })
    await producer.close(true)
    return cost
  },
}
