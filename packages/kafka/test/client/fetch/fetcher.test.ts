import { Buffer } from 'node:buffer'
import { createKafkaClient } from '@waybill/kafka'
import { errorCode, type FetchResponse, type RequestOf, type ResponseOf } from '@waybill/kafka/wire'
import { type Interceptor, RequestLog } from '@waybill/test-support/kafka'
import { describe, expect, test } from 'vitest'
import type { KafkaRecord } from '../../../src/client/cluster/kafka-record.ts'
import type { TopicPartition } from '../../../src/client/cluster/topic-partition.ts'
import type { Consumer } from '../../../src/client/consume/consumer.ts'
import { simRun } from '../consume/sim-run.ts'

async function take(consumer: Consumer, count: number): Promise<KafkaRecord[]> {
  const records: KafkaRecord[] = []
  for (let turn = 0; records.length < count && turn < 200; turn++)
    records.push(...(await consumer.poll(count - records.length, 200)))
  return records
}

const asked = (request: RequestOf<'Fetch'>): number => request.topics.flatMap(({ partitions }) => partitions).length
const values = (records: readonly KafkaRecord[]): string[] => records.map(({ value }) => String(value))
const offsets = (records: readonly KafkaRecord[]): bigint[] => records.map(({ offset }) => offset)

/** Changes what is answered for one partition while `isOn` says so. */
function changing(
  partition: number,
  isOn: () => boolean,
  change: (answer: FetchResponse['topics'][number]['partitions'][number]) => object,
): Interceptor {
  return async (api, _request, pass) => {
    const answer = await pass()
    if (api !== 'Fetch' || !isOn()) return answer
    const response = answer as ResponseOf<'Fetch'>
    const topics = response.topics.map((topic) => ({
      ...topic,
      partitions: topic.partitions.map((one) => (one.partitionIndex === partition ? { ...one, ...change(one) } : one)),
    }))
    return { ...response, topics } as typeof answer
  }
}

/** Four partitions with a batch each of ten records, together of some kilobytes packed and two megabytes unpacked. */
const packed = (
  prefetchBytes: number,
  program: (consumer: Consumer, hint: (count: number) => Promise<number[]>) => Promise<void>,
): Promise<void> =>
  simRun(async ({ sim, runtime, cluster, owning }) => {
    const topic = await cluster.createTopic('t', 4)
    await using client = createKafkaClient({ brokers: sim.brokers, transport: sim.transport('packer'), runtime })
    const producer = client.producer('EVENT', { compression: 'GZIP', lingerMs: 50, batchBytes: 1_000_000 })
    const value = Buffer.alloc(50_000)
    const one = (index: number) => producer.send({ topic, partition: index % 4, key: null, value })
    await Promise.all(Array.from({ length: 40 }, (_, index) => one(index)))
    const consumer = cluster.consumer({ groupId: 'g', topics: [topic], prefetchBytes })
    await consumer.start()
    await owning(consumer, 4)
    const next = async (count: number): Promise<number[]> => {
      const partitions: number[] = []
      for (let poll = 0; poll < count; poll++)
        partitions.push(...(await consumer.poll(1, 1_000)).map(({ partition }) => partition))
      return partitions
    }
    await program(consumer, next)
  })

describe('a fetcher', () => {
  test('discards what a fetch brings that was under way when its position was sought', () =>
    simRun(async ({ sim, cluster, sleep, owning }) => {
      const topic = await cluster.createTopic('t')
      await cluster.produce(topic, 0, ['a', 'b', 'c'])
      const consumer = cluster.consumer({ groupId: 'g', topics: [topic] })
      await consumer.start()
      expect(await take(consumer, 3)).toHaveLength(3)
      const stall = sim.stall({ api: 'Fetch' })
      await sleep(1_000)
      consumer.seek({ topic, partition: 0 }, 2n)
      await sleep(100)
      consumer.seek({ topic, partition: 0 }, 0n)
      await cluster.produce(topic, 0, ['d'])
      stall[Symbol.dispose]()
      expect(values(await take(consumer, 4))).toEqual(['a', 'b', 'c', 'd'])
      await owning(consumer, 1)
    }))

  test('hands out nothing of a partition that went away while its fetch was under way', () =>
    simRun(async ({ sim, cluster, sleep, owning }) => {
      const topic = await cluster.createTopic('t')
      const options = { groupId: 'g', topics: [topic], sessionTimeoutMs: 60_000 }
      const consumer = cluster.consumer(options)
      await consumer.start()
      await owning(consumer, 1)
      const first = consumer.assignment()[0]?.epoch ?? 0
      const stall = sim.stall({ api: 'Fetch' })
      await cluster.produce(topic, 0, ['a'])
      await sleep(500)
      sim.expireMember('g', sim.group('g').members[0]?.memberId ?? '')
      await sleep(1_000)
      stall[Symbol.dispose]()
      const records = await take(consumer, 1)
      expect(records.map(({ epoch }) => epoch > first)).toEqual([true])
      expect(await consumer.poll(10, 1_000)).toEqual([])
    }))

  test('continues with the others while one partition is refused, reports it once, and recovers by itself', () => {
    let isRefused = true
    const intercept = changing(
      0,
      () => isRefused,
      () => ({ errorCode: errorCode.TOPIC_AUTHORIZATION_FAILED, records: Buffer.alloc(0) }),
    )
    return simRun(
      async ({ cluster, sleep }) => {
        const topic = await cluster.createTopic('t', 2)
        const failed: [TopicPartition, Error][] = []
        const consumer = cluster.consumer({
          groupId: 'g',
          topics: [topic],
          onPartitionFailed: (partition, error) => failed.push([partition, error]),
        })
        await consumer.start()
        await cluster.produce(topic, 0, ['refused'])
        for (let turn = 0; turn < 20; turn++) {
          await cluster.produce(topic, 1, [`v${turn}`])
          expect(values(await take(consumer, 1))).toEqual([`v${turn}`])
          await sleep(300)
        }
        expect(failed.map(([partition, error]) => [partition, (error as { reason?: string }).reason])).toEqual([
          [{ topic, partition: 0 }, 'TOPIC_AUTHORIZATION_FAILED'],
        ])
        isRefused = false
        expect(values(await take(consumer, 1))).toEqual(['refused'])
      },
      { intercept },
    )
  })

  test('fetches a damaged batch again and skips nothing of it', () => {
    let isDamaged = true
    const intercept = changing(
      0,
      () => isDamaged,
      ({ records }) => {
        const damaged = Buffer.from(records)
        if (damaged.length > 0) damaged.writeUInt8(damaged.readUInt8(damaged.length - 2) ^ 1, damaged.length - 2)
        return { records: damaged }
      },
    )
    return simRun(
      async ({ cluster, sleep }) => {
        const topic = await cluster.createTopic('t', 2)
        const failed: TopicPartition[] = []
        const consumer = cluster.consumer({
          groupId: 'g',
          topics: [topic],
          onPartitionFailed: (partition) => failed.push(partition),
        })
        await consumer.start()
        await cluster.produce(topic, 0, ['a', 'b'])
        for (let turn = 0; turn < 10; turn++) {
          await cluster.produce(topic, 1, ['beside'])
          expect(values(await take(consumer, 1))).toEqual(['beside'])
          await sleep(500)
        }
        expect(failed).toEqual([{ topic, partition: 0 }])
        isDamaged = false
        expect(values(await take(consumer, 2))).toEqual(['a', 'b'])
        expect(consumer.position({ topic, partition: 0 })).toBe(2n)
      },
      { intercept },
    )
  })

  test('asks again, after a while, for a partition that an answer leaves out', () => {
    let leftOut = 3
    const log = new RequestLog()
    const intercept: Interceptor = async (api, request, pass) => {
      const answer = await log.watch(api, request, pass)
      if (api !== 'Fetch' || leftOut === 0) return answer
      leftOut--
      return { ...answer, topics: [] }
    }
    return simRun(
      async ({ cluster }) => {
        const topic = await cluster.createTopic('t')
        await cluster.produce(topic, 0, ['a'])
        const consumer = cluster.consumer({ groupId: 'g', topics: [topic] })
        await consumer.start()
        expect(values(await take(consumer, 1))).toEqual(['a'])
        expect(log.of('Fetch').length).toBeLessThan(10)
      },
      { intercept },
    )
  })

  test('reads a companion uncommitted and its source committed, in requests of their own', () => {
    const log = new RequestLog()
    return simRun(
      async ({ cluster, owning, sleep }) => {
        const topic = await cluster.createTopic('t')
        const beside = await cluster.createTopic('beside')
        const consumer = cluster.consumer({ groupId: 'g', topics: [topic], companion: () => beside })
        await consumer.start()
        await owning(consumer, 2)
        await sleep(2_000)
        const levels = new Map<string, Set<string>>()
        for (const { isolationLevel, topics } of log.of('Fetch'))
          for (const { topicId } of topics) levels.set(topicId, (levels.get(topicId) ?? new Set()).add(isolationLevel))
        expect([...levels.values()].map((set) => [...set].join()).toSorted()).toEqual([
          'READ_COMMITTED',
          'READ_UNCOMMITTED',
        ])
      },
      { intercept: log.watch },
    )
  })

  test('does not storm a broker that says of every position that it is gone', () => {
    const log = new RequestLog()
    const gone = changing(
      0,
      () => true,
      () => ({ errorCode: errorCode.OFFSET_OUT_OF_RANGE }),
    )
    return simRun(
      async ({ cluster, sleep }) => {
        const topic = await cluster.createTopic('t')
        let reported = 0
        const consumer = cluster.consumer({ groupId: 'g', topics: [topic], onPositionLost: () => void reported++ })
        await consumer.start()
        await sleep(20_000)
        expect(reported).toBeGreaterThan(5)
        expect(log.of('Fetch').length).toBeLessThan(40)
      },
      { intercept: (api, request, pass) => log.watch(api, request, () => gone(api, request, pass)) },
    )
  })

  describe('with packed batches', () => {
    test('unpacks one at a time when two are too much for its bounds', () =>
      packed(100_000, async (_, next) => {
        const partitions = await next(40)
        for (let first = 0; first < 40; first += 10) expect(new Set(partitions.slice(first, first + 10)).size).toBe(1)
        expect(new Set(partitions).size).toBe(4)
      }))

    test('hands out in turn what fits', () =>
      packed(64_000_000, async (_, next) => {
        expect(new Set(await next(4)).size).toBe(4)
        expect(await next(36)).toHaveLength(36)
      }))

    test('continues with the others when a decompressed partition is paused, and loses none of its records', () =>
      packed(100_000, async (consumer, next) => {
        const [first = -1, ...rest] = await next(5)
        expect(rest).toEqual([first, first, first, first])
        consumer.pause([{ topic: 't', partition: first }])
        const others = await next(30)
        expect(others).toHaveLength(30)
        expect(others).not.toContain(first)
        consumer.resume([{ topic: 't', partition: first }])
        expect(await next(5)).toEqual([first, first, first, first, first])
      }))
  })

  test('asks for a resumed partition at once, not only when the wait for the others is over', () =>
    simRun(async ({ cluster, runtime, owning, sleep }) => {
      const topic = await cluster.createTopic('t', 2)
      const consumer = cluster.consumer({ groupId: 'g', topics: [topic], maxWaitMs: 30_000 })
      await consumer.start()
      await owning(consumer, 2)
      consumer.pause([{ topic, partition: 1 }])
      // A record for the other lets the wait that holds both of them end.
      await cluster.produce(topic, 0, ['a'])
      await take(consumer, 1)
      await sleep(100)
      await cluster.produce(topic, 1, ['b'])
      await sleep(1_000)
      const resumedAt = runtime.clock.monotonic()
      consumer.resume([{ topic, partition: 1 }])
      expect(values(await take(consumer, 1))).toEqual(['b'])
      expect(runtime.clock.monotonic() - resumedAt).toBeLessThan(100)
    }))

  test('costs an idle partition no more than one request for each wait', () => {
    const log = new RequestLog()
    return simRun(
      async ({ cluster, owning, sleep }) => {
        const topic = await cluster.createTopic('t', 8)
        const consumer = cluster.consumer({ groupId: 'g', topics: [topic], maxWaitMs: 500 })
        await consumer.start()
        await owning(consumer, 8)
        await sleep(1_000)
        const before = log.of('Fetch').length
        await sleep(10_000)
        const fetches = log.of('Fetch').slice(before)
        expect(fetches.length).toBeLessThanOrEqual(21)
        expect(new Set(fetches.map(asked))).toEqual(new Set([8]))
      },
      { intercept: log.watch },
    )
  })

  test('resolves waiting polls before it sends the next request', () => {
    const events: string[] = []
    const intercept: Interceptor = (api, _request, pass) => {
      if (api === 'Fetch') events.push('asked')
      return pass()
    }
    return simRun(
      async ({ cluster, owning, sleep }) => {
        const topic = await cluster.createTopic('t')
        const consumer = cluster.consumer({ groupId: 'g', topics: [topic] })
        await consumer.start()
        await owning(consumer, 1)
        const polling = consumer.poll(1, 10_000).then((records) => void events.push(...values(records)))
        await sleep(100)
        events.length = 0
        await cluster.produce(topic, 0, ['handed'])
        await polling
        await sleep(1)
        expect(events.slice(0, 2)).toEqual(['handed', 'asked'])
      },
      { intercept },
    )
  })

  test('follows a partition to its new leader', () =>
    simRun(
      async ({ sim, cluster }) => {
        const topic = 't'
        sim.createTopic(topic)
        const consumer = cluster.consumer({ groupId: 'g', topics: [topic] })
        await consumer.start()
        for (let turn = 0; turn < 6; turn++) {
          await cluster.produce(topic, 0, [`v${turn}`])
          expect(offsets(await take(consumer, 1))).toEqual([BigInt(turn)])
          sim.moveLeader(topic, 0, 1 + (turn % 3))
        }
      },
      { brokers: 3 },
    ))

  test('continues after all connections are cut, and after a broker was down', () =>
    simRun(
      async ({ sim, cluster, sleep }) => {
        const topic = 't'
        sim.createTopic(topic, { partitions: 3 })
        const consumer = cluster.consumer({ groupId: 'g', topics: [topic], requestTimeoutMs: 2_000 })
        await consumer.start()
        await cluster.produce(topic, 0, ['a'])
        await take(consumer, 1)
        sim.cut({})
        await cluster.produce(topic, 1, ['b'])
        expect(values(await take(consumer, 1))).toEqual(['b'])
        sim.killBroker(2)
        await sleep(2_000)
        for (const partition of [0, 1, 2]) await cluster.produce(topic, partition, ['c'])
        expect(values(await take(consumer, 3))).toEqual(['c', 'c', 'c'])
        sim.restartBroker(2)
        await cluster.produce(topic, 2, ['d'])
        expect(values(await take(consumer, 1))).toEqual(['d'])
      },
      { brokers: 3 },
    ))
})
