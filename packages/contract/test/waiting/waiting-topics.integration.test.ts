import { createConnector, handleEvents } from '@waybill/connector'
import { checkWaiting, inventoryOf, type WaitingTopicsOptions, waitingTopics } from '@waybill/contract/waiting'
import { NonRetryableError, noopLogger, runtimeWith } from '@waybill/core'
import { createKafkaClient, createPublisher, type KafkaClient, requireAllDone } from '@waybill/kafka'
import { createSimCluster } from '@waybill/sim'
import { describeWith } from '@waybill/test-support'
import { eventually } from '@waybill/testkit'
import { describe, expect, test } from 'vitest'
import { careless, released, stepped } from './shop-catalogs.ts'

/** A place for topics, and a client of it. */
interface Cluster extends AsyncDisposable {
  readonly client: KafkaClient
  readonly topic: string
  readonly groupId: string
}

/** What fails here is meant to. */
const runtime = runtimeWith({ logger: noopLogger })

async function sizeOf({ admin }: KafkaClient, topic: string): Promise<bigint> {
  const described = await admin.describeTopics([topic])
  const partitions = described.flatMap((view) => (view.outcome === 'DONE' ? view.partitions : []))
  const places = partitions.map((_, partition) => ({ topic, partition }))
  const ends = requireAllDone('ends', await admin.listOffsets(places, 'LATEST'))
  return ends.reduce((sum, { offset }) => sum + (offset ?? 0n), 0n)
}

/** Runs a connector until three events wait for a retry, two are dead letters, and so is a record that is no event. */
async function fill({ client, topic, groupId }: Cluster): Promise<void> {
  const events = released(topic)
  const connector = createConnector({
    clusters: { default: client },
    runtime,
    bindings: {
      orders: {
        topic,
        groupId,
        retry: {
          tier0: { maxAttempts: 1 },
          tiers: [{ delayMs: 3_600_000 }],
        },
        handler: handleEvents(events, {
          OrderPlaced({ payload }) {
            if (payload.id.startsWith('dead')) throw new NonRetryableError('never')
            if (payload.id.startsWith('later')) throw new Error('later')
          },
        }),
      },
    },
  })
  await connector.start()
  await using publisher = createPublisher(client, events)
  for (const id of ['later-1', 'dead-1', 'fine', 'later-2', 'dead-2', 'later-3'])
    await publisher.publish('OrderPlaced', { id })
  await using producer = client.producer('EVENT')
  await producer.send({ topic, key: null, value: Buffer.from('no event') })
  await eventually(
    async () => {
      expect(await sizeOf(client, `${topic}.retry-1`)).toBe(3n)
      expect(await sizeOf(client, `${topic}.DLT`)).toBe(3n)
    },
    { deadlineMs: 60_000, everyMs: 100 },
  )
  await connector.stop()
}

function waitingTopicsSuite(open: () => Promise<Cluster>): void {
  test('reads retry and dead letter topics with a new catalog, and changes nothing', async () => {
    await using cluster = await open()
    await fill(cluster)
    const { client, topic, groupId } = cluster
    const check = (events: ReturnType<typeof careless>, options: WaitingTopicsOptions = {}, maxRecords = 10_000) =>
      checkWaiting({ events, sources: [waitingTopics(client, { sources: [topic], ...options })], maxRecords })

    const bad = await check(careless(topic))
    expect(bad).toMatchObject({ passes: false, isComplete: true })
    expect(bad.readings.map(({ name, read, unread }) => [name, read, unread])).toEqual([
      [`topic ${topic}.DLT`, 3, 0],
      [`topic ${topic}.retry-1`, 3, 0],
    ])
    expect(bad.counts).toMatchObject([
      { event: null, count: 1, failed: 1, knownUnreadable: 1 },
      { event: 'OrderPlaced', version: 1, count: 5, failed: 5, failure: { code: 'WAYBILL_SCHEMA_VIOLATION' } },
    ])
    expect(bad.counts[1]?.failure?.place).toMatch(/\.DLT-\d@\d$/)

    const good = await check(stepped(topic), { groupIds: [groupId] })
    expect(good).toMatchObject({ passes: true, isComplete: true })
    expect(inventoryOf(good, new Date(0))).toEqual({
      format: 'waybill-waiting/1',
      takenAt: '1970-01-01T00:00:00.000Z',
      complete: true,
      counts: [{ event: 'OrderPlaced', version: 1, count: 5 }],
    })

    const bounded = await check(stepped(topic), {}, 2)
    expect(bounded.isComplete).toBe(false)
    expect(bounded.readings.map(({ endedBy }) => endedBy)).toEqual(['maxRecords', 'maxRecords'])
    expect(bounded.readings.reduce((sum, { read, unread }) => sum + read + (unread ?? 0), 0)).toBe(6)

    const named = await check(stepped(topic), { sources: [], topics: [`${topic}.retry-1`, `${topic}.gone`] })
    expect(named.readings).toMatchObject([{ name: `topic ${topic}.retry-1`, read: 3 }])

    // What the groups have handled no longer waits.
    const partitions = named.readings.length
    await client.admin.alterGroupOffsets(`${groupId}-retry-1`, [
      { topic: `${topic}.retry-1`, partition: 0, offset: await sizeOf(client, `${topic}.retry-1`) },
    ])
    expect(partitions).toBe(1)
    const left = await check(stepped(topic), { sources: [], topics: [`${topic}.retry-1`], groupIds: [groupId] })
    expect(left.readings).toMatchObject([{ read: 0, unread: 0, endedBy: null }])
  })
}

describe('records that wait in topics of a simulated cluster', () => {
  waitingTopicsSuite(async () => {
    const sim = createSimCluster({ brokers: 1 })
    sim.createTopic('orders', { partitions: 1 })
    const client = createKafkaClient({ brokers: sim.brokers, transport: sim.transport('waiting'), runtime })
    return { client, topic: 'orders', groupId: 'billing', [Symbol.asyncDispose]: () => client[Symbol.asyncDispose]() }
  })
})

test('records of a topic whose name begins alike are not read', async () => {
  const sim = createSimCluster({ brokers: 1 })
  const names = [
    'orders',
    'orders.v2',
    'orders.DLT',
    'orders.billing.DLT',
    'orders.v2.DLT',
    'orders.v2.billing.retry-1',
    // A group may be called as the suffix of a topic is.
    'payments.waiting',
    'payments.waiting.DLT',
  ]
  for (const name of names) sim.createTopic(name, { partitions: 1 })
  await using client = createKafkaClient({ brokers: sim.brokers, transport: sim.transport('waiting'), runtime })
  const read = async (options: WaitingTopicsOptions): Promise<string[]> => {
    const report = await checkWaiting({ events: released('orders'), sources: [waitingTopics(client, options)] })
    return report.readings.map(({ name }) => name.replace('topic ', ''))
  }
  const own = ['orders.DLT', 'orders.billing.DLT']
  expect(await read({ sources: ['orders'] })).toEqual(own)
  expect(await read({ sources: ['orders'], groupIds: ['billing'] })).toEqual(own)
  expect(await read({ sources: ['orders'], groupIds: ['shipping'] })).toEqual(['orders.DLT'])
  expect(await read({ sources: ['orders.v2'] })).toEqual(['orders.v2.DLT', 'orders.v2.billing.retry-1'])
  expect(await read({ sources: ['payments'] })).toEqual(['payments.waiting', 'payments.waiting.DLT'])
})

describeWith('kafka')('records that wait in topics of Apache Kafka', ({ kafka }) => {
  waitingTopicsSuite(async () => {
    const client = createKafkaClient({ brokers: kafka.bootstrap, runtime })
    const topic = await kafka.createTopic('waiting', { partitions: 1 })
    const groupId = kafka.named('billing')
    return { client, topic, groupId, [Symbol.asyncDispose]: () => client[Symbol.asyncDispose]() }
  })
})
