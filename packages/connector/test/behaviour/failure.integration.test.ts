import { Buffer } from 'node:buffer'
import { NonRetryableError } from '@waybill/core'
import { createKafkaClient, type KafkaRecord, requireAllDone } from '@waybill/kafka'
import { describeWith } from '@waybill/test-support'
import { eventually } from '@waybill/testkit'
import { expect, test } from 'vitest'
import type { DeliveryContext } from '../../src/api/handler-types.ts'
import { readForeign } from '../delivery/foreign-reader.ts'
import { packedProducer, packedValue } from '../delivery/packed-value.ts'
import { committedOf, endOf, placeOf, startOne, write } from '../support/kafka-world.ts'

const soon = { deadlineMs: 60_000, everyMs: 100 }
const valueOf = (record: KafkaRecord): string => record.value?.toString() ?? ''
const onceInMemory = { tier0: { maxAttempts: 1 } }

describeWith('kafka')('failures on Apache Kafka', ({ kafka }) => {
  test('S0-111 a record that always fails is called 30 times, and any client reads its whole history', async () => {
    await using client = createKafkaClient({ brokers: kafka.bootstrap })
    const plain = await placeOf(kafka, 'doomed')
    let calls = 0
    const handler = (): void => {
      throw new TypeError(`no stock, call ${++calls}`)
    }
    const tiers = [{ delayMs: 50 }, { delayMs: 100 }, { delayMs: 200 }]
    await using _ = await startOne(client, {
      ...plain,
      handler,
      retry: { tier0: { initialBackoffMs: 5, maxBackoffMs: 20 }, tiers },
    })
    await using producer = client.producer('EVENT')
    const bytes = Buffer.from([0, 255, 1])
    const headers = [['tenant', Buffer.from('t-1')]] as const
    await producer.send({ topic: plain.topic, partition: 0, key: Buffer.from('o-1'), value: bytes, headers })
    await eventually(async () => expect(await endOf(client, `${plain.topic}.DLT`)).toBe(1n), soon)
    expect(calls).toBe(30)
    const [dead] = await readForeign(kafka.bootstrap, { topic: `${plain.topic}.DLT`, partition: 0 }, 1)
    expect([dead?.key.toString(), dead?.value]).toEqual(['o-1', bytes])
    expect(dead?.headers).toMatchObject({
      tenant: 't-1',
      'x-eventbus-original-topic': plain.topic,
      'x-eventbus-original-partition': '0',
      'x-eventbus-original-offset': '0',
      'x-eventbus-dlt-reason': 'RETRIES_EXHAUSTED',
      'x-eventbus-total-attempts': '30',
      'x-eventbus-retry-tier': '3',
      'x-eventbus-last-exception-class': 'TypeError',
      'x-eventbus-last-exception-message': 'no stock, call 30',
      'x-eventbus-tier0-exception': 'TypeError',
      'x-eventbus-tier1-exception': 'TypeError',
      'x-eventbus-tier2-exception': 'TypeError',
      'x-eventbus-tier3-exception': 'TypeError',
    })
    for (const name of ['original-timestamp', 'dlt-timestamp', 'first-failure-timestamp', 'tier3-exhausted-at'])
      expect(Number(dead?.headers[`x-eventbus-${name}`])).toBeGreaterThan(1_700_000_000_000)
    expect(dead?.headers['x-eventbus-last-exception-stacktrace']).toMatch(/TypeError: no stock, call 30\n/)
  })

  test('S0-085 a rejected dead letter blocks its partition without a commit, others continue, and it recovers by itself', async () => {
    await using client = createKafkaClient({ brokers: kafka.bootstrap })
    const plain = await placeOf(kafka, 'outage', 2)
    const deadLetters = `${plain.topic}.DLT`
    const handled: string[] = []
    const handler = (record: KafkaRecord): void => {
      if (valueOf(record) === 'bad') throw new NonRetryableError('no')
      handled.push(valueOf(record))
    }
    await using connector = await startOne(client, { ...plain, orderingMode: 'STRICT', handler })
    // A compacted topic takes no record without a key.
    const policy = async (value: string): Promise<void> =>
      void requireAllDone('the policy', await client.admin.alterConfigs({ [deadLetters]: { 'cleanup.policy': value } }))
    await policy('compact')
    await using producer = client.producer('EVENT')
    await producer.send({ topic: plain.topic, partition: 0, key: null, value: Buffer.from('bad') })
    await write(client, plain.topic, ['behind'], 0)
    await write(client, plain.topic, ['a'], 1)
    await eventually(() => expect(handled).toEqual(['a']), soon)
    await eventually(
      () =>
        expect(connector.health()).toMatchObject({
          status: 'DOWN',
          reasons: expect.arrayContaining([expect.stringContaining(deadLetters)]),
        }),
      soon,
    )
    await write(client, plain.topic, ['b'], 1)
    await eventually(() => expect(handled).toEqual(['a', 'b']), soon)
    expect((await committedOf(client, plain.groupId, plain.topic))[0] ?? 0n).toBe(0n)
    await policy('delete')
    await eventually(() => expect(handled).toEqual(['a', 'b', 'behind']), soon)
    expect((await endOf(client, deadLetters, 0)) + (await endOf(client, deadLetters, 1))).toBe(1n)
    await eventually(
      async () => expect(await committedOf(client, plain.groupId, plain.topic)).toEqual({ 0: 2n, 1: 2n }),
      soon,
    )
    await eventually(() => expect(connector.health()).toMatchObject({ status: 'UP', reasons: [] }), soon)
  })

  test('R7 a record that ZSTD made small and that its tier does not take is a dead letter by reference, and the rest goes on', async () => {
    await using client = createKafkaClient({ brokers: kafka.bootstrap })
    const plain = await placeOf(kafka, 'packed')
    const handled: string[] = []
    const handler = (record: KafkaRecord): void => {
      if (record.offset === 0n) throw new TypeError('no stock')
      handled.push(valueOf(record))
    }
    await using connector = await startOne(client, { ...plain, retry: onceInMemory, handler })
    await using producer = client.producer('EVENT', packedProducer)
    await producer.send({ topic: plain.topic, partition: 0, key: Buffer.from('o-1'), value: packedValue() })
    await write(client, plain.topic, ['b'])
    await eventually(() => expect(handled).toEqual(['b']), soon)
    await eventually(async () => expect(await committedOf(client, plain.groupId, plain.topic)).toEqual({ 0: 2n }), soon)
    const [dead] = await readForeign(kafka.bootstrap, { topic: `${plain.topic}.DLT`, partition: 0 }, 1)
    expect([dead?.key.toString(), dead?.value ?? null]).toEqual(['o-1', null])
    expect(dead?.headers).toMatchObject({
      'x-eventbus-dlt-reason': 'RETRIES_EXHAUSTED',
      'x-eventbus-dlt-parked': 'value',
      'x-eventbus-original-offset': '0',
      'x-eventbus-total-attempts': '1',
      'x-eventbus-last-exception-class': 'RetryTooLargeError',
    })
    expect(await endOf(client, `${plain.topic}.retry-1`)).toBe(0n)
    expect(connector.health()).toMatchObject({ status: 'UP', reasons: [] })
  })

  test('C-71 two groups on one topic see none of the retries of the other', async () => {
    await using client = createKafkaClient({ brokers: kafka.bootstrap })
    const { topic, groupId } = await placeOf(kafka, 'shared')
    const seen: string[] = []
    const handlerOf =
      (group: string, bad: string) =>
      (record: KafkaRecord, { tier }: DeliveryContext): void => {
        if (valueOf(record) === bad && tier === 0) throw new Error('not yet')
        seen.push(`${group} ${valueOf(record)} ${tier}`)
      }
    const retry = { ...onceInMemory, tiers: [{ delayMs: 100 }] }
    await using shipping = await startOne(client, { topic, groupId, retry, handler: handlerOf('shipping', 'a') })
    const billingGroup = kafka.named('billing')
    await using billing = await startOne(client, {
      topic,
      groupId: billingGroup,
      retry,
      handler: handlerOf('billing', 'b'),
    })
    await write(client, topic, ['a', 'b'])
    const expected = ['billing a 0', 'billing b 1', 'shipping a 1', 'shipping b 0']
    await eventually(() => expect(seen.toSorted()).toEqual(expected), soon)
    const tier = `${topic}.retry-1`
    for (const group of [groupId, billingGroup])
      await eventually(async () => expect(await committedOf(client, `${group}-retry-1`, tier)).toEqual({ 0: 2n }), soon)
    expect(seen).toHaveLength(4)
    await Promise.all([shipping.stop(), billing.stop()])
  })

  test('S2-035 a broken record in the middle: what is before it is committed, it is dead, and the rest is handled', async () => {
    await using client = createKafkaClient({ brokers: kafka.bootstrap })
    const plain = await placeOf(kafka, 'broken')
    const handled: string[] = []
    const handler = (record: KafkaRecord): void => {
      if (record.offset === 3n) throw new NonRetryableError('not JSON')
      handled.push(`${record.offset}`)
    }
    await using _ = await startOne(client, { ...plain, handler })
    await write(client, plain.topic, ['0', '1', '2', '3', '4'])
    await eventually(async () => expect(await committedOf(client, plain.groupId, plain.topic)).toEqual({ 0: 5n }), soon)
    expect(handled).toEqual(['0', '1', '2', '4'])
    expect(await endOf(client, `${plain.topic}.DLT`)).toBe(1n)
  })

  test('S3-012 BLOCKING_UNLIMITED keeps a record first until it succeeds, without a dead letter', async () => {
    await using client = createKafkaClient({ brokers: kafka.bootstrap })
    const plain = await placeOf(kafka, 'blocking')
    const handled: string[] = []
    let failures = 0
    const handler = (record: KafkaRecord): void => {
      if (valueOf(record) === 'a' && failures < 8) throw new Error(`away ${++failures}`)
      handled.push(valueOf(record))
    }
    await using _ = await startOne(client, {
      ...plain,
      failureProfile: 'BLOCKING_UNLIMITED',
      retry: { ...onceInMemory, blocking: { initialBackoffMs: 20, maxBackoffMs: 100 } },
      handler,
    })
    await write(client, plain.topic, ['a'])
    await write(client, plain.topic, ['b'])
    await eventually(() => expect(handled).toEqual(['a', 'b']), soon)
    expect([failures, await endOf(client, `${plain.topic}.DLT`)]).toEqual([8, 0n])
  })

  test('S0-101 C-09 an open circuit pauses the binding, keeps its place in the group, and closes by itself', async () => {
    await using client = createKafkaClient({ brokers: kafka.bootstrap })
    const plain = await placeOf(kafka, 'circuit')
    const handled: string[] = []
    let isDown = true
    const handler = (record: KafkaRecord): void => {
      if (isDown) throw new Error('away')
      handled.push(valueOf(record))
    }
    await using connector = await startOne(client, {
      ...plain,
      handler,
      retry: { ...onceInMemory, tiers: [{ delayMs: 100, maxAttempts: 100 }] },
      circuitBreaker: {
        enabled: true,
        minimumNumberOfCalls: 3,
        slidingWindowSize: 3,
        waitDurationInOpenStateMs: 500,
        permittedNumberOfCallsInHalfOpenState: 1,
      },
    })
    const values = Array.from({ length: 20 }, (_, index) => `order-${index}`)
    await write(client, plain.topic, values)
    await eventually(() => expect(connector.getState('shipping')).toBe('PAUSED'), soon)
    const [group] = requireAllDone('the group', await client.admin.describeGroups([plain.groupId]))
    expect([group?.groupState, group?.members?.length]).toEqual(['Stable', 1])
    isDown = false
    await eventually(() => expect(handled.toSorted()).toEqual(values.toSorted()), soon)
    expect(await endOf(client, `${plain.topic}.DLT`)).toBe(0n)
    await eventually(() => expect(connector.health()).toMatchObject({ status: 'UP' }), soon)
  })
})
