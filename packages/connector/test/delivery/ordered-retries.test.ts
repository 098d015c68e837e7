import { metricCatalog } from '@waybill/core/internal'
import type { KafkaRecord } from '@waybill/kafka'
import { watchRejections } from '@waybill/test-support/kafka'
import { describe, expect, test } from 'vitest'
import { connectorWorld } from '../support/connector-world.ts'
import { committedOffsets, topicValues } from './topic-records.ts'

watchRejections()

const plain = { topic: 'orders', groupId: 'shipping' }

describe('C-43 a topic whose records stay in order', () => {
  test.each([
    ['STRICT', { orderingMode: 'STRICT' }],
    ['BLOCKING_UNLIMITED', { failureProfile: 'BLOCKING_UNLIMITED', orderingMode: 'STRICT' }],
    ['FANOUT', { preset: 'FANOUT', retry: { tier0: { maxAttempts: 3 } }, dlt: { topic: 'dead_letters' } }],
  ] as const)('gets no retry of its own records: %s', (_, options) =>
    connectorWorld(async ({ sim, connector, write, eventually }) => {
      sim.createTopic('orders')
      const calls = new Map<string, number>()
      const handler = (record: KafkaRecord): void => {
        const value = record.value?.toString() ?? ''
        calls.set(value, (calls.get(value) ?? 0) + 1)
        if (value === 'bad' && (calls.get(value) ?? 0) < 3) throw new Error('for a moment')
      }
      const bus = connector({ bindings: { shipping: { ...plain, ...options, handler } } })
      await bus.start()
      await write('orders', ['a', 'bad', 'b'])
      await eventually(() => expect(committedOffsets(sim, 'shipping', 'orders')).toEqual({ 0: 3n }))
      expect(calls.get('bad')).toBe(3)
      expect(topicValues(sim, 'orders')).toEqual(['a', 'bad', 'b'])
    }),
  )
})

const failEachThird = (record: KafkaRecord): void => {
  const value = record.value?.toString() ?? ''
  if (Number(value.slice(6)) % 3 === 0) throw new Error(`chat ${value} of user ${value}`)
}

/** Returns the series of all metrics after this many records, each with a key, a value and an error of its own. */
async function seriesAfter(records: number): Promise<string[]> {
  const found: string[] = []
  await connectorWorld(async ({ sim, connector, write, eventually, metrics }) => {
    sim.createTopic('orders')
    const bus = connector({ bindings: { shipping: { ...plain, preset: 'FANOUT', handler: failEachThird } } })
    await bus.start()
    await write(
      'orders',
      Array.from({ length: records }, (_, n) => `chat-_${n}`),
    )
    await eventually(() => expect(committedOffsets(sim, 'shipping', 'orders')).toEqual({ 0: BigInt(records) }))
    // The connector measures itself every five seconds.
    await eventually(() => expect(metrics.latest('eventbus.consumer.lag')).toBe(0))
    await eventually(() => expect(metrics.latest('eventbus.poll.idle.ratio')).toBeDefined())
    await bus.stop()
    for (const { name } of metricCatalog)
      for (const labels of metrics.series(name)) found.push(JSON.stringify([name, labels]))
  })
  return found.toSorted()
}

describe('S2-079 the series of a binding', () => {
  test('do not grow with records, keys and the texts of errors', async () => {
    const few = await seriesAfter(6)
    expect(few.length).toBeGreaterThan(5)
    const many = await seriesAfter(120)
    expect(many.filter((each) => !few.includes(each))).toEqual([])
  })

  test('have labels from small closed sets only', () => {
    const labels = new Set(metricCatalog.flatMap((metric) => metric.labels))
    expect(
      [...labels].filter((label) => /key|event|message|user|chat|tenant|offset|trace|(?:^|_)id$/i.test(label)),
    ).toEqual([])
  })
})
