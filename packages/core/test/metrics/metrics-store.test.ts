import { createMemoryMetrics, createMetricsStore, type MetricsStore } from '@waybill/core'
import { identifyMetric, metricCatalog } from '@waybill/core/internal'
import { createVirtualRuntime } from '@waybill/sim'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'

const binding = { binding: 'shipping', cluster: 'default' }

function readingsOf(store: MetricsStore, name: string): (readonly [Readonly<Record<string, string>>, number])[] {
  return [...store.read()].filter((one) => one.name === name).map(({ labels, value }) => [labels, value] as const)
}

describe('a series', () => {
  test('counts, whether it is bound, looked up by the same labels or by equal ones', () => {
    const store = createMetricsStore({ runtime: createVirtualRuntime(1) })
    store.counter('eventbus.records.processed', binding, 2)
    store.counter('eventbus.records.processed', { cluster: 'default', binding: 'shipping' }, 3)
    store.bind('counter', 'eventbus.records.processed', binding)(4)
    expect(readingsOf(store, 'eventbus.records.processed')).toEqual([[binding, 9]])
  })

  test('has label values as text, so that 1 and "1" are the same', () => {
    const store = createMetricsStore({ runtime: createVirtualRuntime(1) })
    store.gauge('eventbus.consumer.lag', { partition: 1 }, 5)
    store.gauge('eventbus.consumer.lag', { partition: '1' }, 7)
    expect(readingsOf(store, 'eventbus.consumer.lag')).toEqual([[{ partition: '1' }, 7]])
  })

  test('of a histogram has the buckets of the catalog', () => {
    const store = createMetricsStore({ runtime: createVirtualRuntime(1) })
    for (const calls of [1, 1, 3, 6, 40]) store.histogram('eventbus.retry.count', { tier: 0 }, calls)
    const [reading] = [...store.read()]
    expect(reading?.buckets).toEqual({
      bounds: [1, 2, 3, 4, 5, 8, 13],
      cumulative: [2, 2, 3, 3, 3, 4, 4],
      count: 5,
      sum: 51,
    })
  })

  test('of any histogram keeps cumulative counts that equal a recount', () => {
    fc.assert(
      fc.property(fc.array(fc.double({ min: -10, max: 70_000, noNaN: true })), (values) => {
        const store = createMetricsStore({ runtime: createVirtualRuntime(1) })
        const observe = store.bind('histogram', 'eventbus.processing.duration', binding)
        for (const value of values) observe(value)
        const buckets = [...store.read()][0]?.buckets
        expect(buckets?.count).toBe(values.length)
        expect(buckets?.cumulative).toEqual(
          buckets?.bounds.map((bound) => values.filter((value) => value <= bound).length),
        )
      }),
    )
  })

  test('of a gauge is left out once it was not set for a minute, and comes back', async () => {
    const runtime = createVirtualRuntime(1)
    const store = createMetricsStore({ runtime })
    store.gauge('eventbus.consumer.lag', binding, 5)
    store.counter('eventbus.records.processed', binding, 1)
    await runtime.advance(60_000)
    expect(readingsOf(store, 'eventbus.consumer.lag')).toHaveLength(1)
    await runtime.advance(10_000)
    expect(readingsOf(store, 'eventbus.consumer.lag')).toEqual([])
    expect(readingsOf(store, 'eventbus.records.processed')).toHaveLength(1)
    store.gauge('eventbus.consumer.lag', binding, 6)
    expect(readingsOf(store, 'eventbus.consumer.lag')).toEqual([[binding, 6]])
  })
})

test('a gauge that engines set only when it changes stays', async () => {
  const runtime = createVirtualRuntime(1)
  const store = createMetricsStore({ runtime })
  store.gauge('billing.outbox.keyed.saturated', {}, 1)
  store.gauge('projection.quarantined.keys', { projection: 'balances' }, 2)
  await runtime.advance(3_600_000)
  expect(readingsOf(store, 'billing.outbox.keyed.saturated')).toEqual([[{}, 1]])
  expect(readingsOf(store, 'projection.quarantined.keys')).toEqual([[{ projection: 'balances' }, 2]])
})

describe('a measurement is refused', () => {
  test.each([
    ['counter', -1],
    ['counter', Number.NaN],
    ['counter', Number.POSITIVE_INFINITY],
    ['gauge', Number.NaN],
    ['histogram', Number.POSITIVE_INFINITY],
  ] as const)('when a %s receives %d', (kind, value) => {
    const store = createMetricsStore({ runtime: createVirtualRuntime(1) })
    store[kind]('x', binding, value)
    expect([store.refused, [...store.read()].find(({ name }) => name === 'x')?.value]).toEqual([1, 0])
    expect(readingsOf(store, 'waybill.metrics.refused')).toEqual([[{}, 1]])
  })

  test('when its series is beyond the bound, bound or not', () => {
    const store = createMetricsStore({ maxSeries: 2, runtime: createVirtualRuntime(1) })
    for (const id of [1, 2, 3, 4]) store.counter('x', { id }, 1)
    store.bind('counter', 'x', { id: 5 })(1)
    expect(readingsOf(store, 'x')).toHaveLength(2)
    expect(store.refused).toBe(3)
  })
})

describe('the history', () => {
  test('has a point each ten seconds, summed over the series with these labels', async () => {
    const runtime = createVirtualRuntime(1)
    const store = createMetricsStore({ runtime })
    const add = (partition: number, value: number): void =>
      store.counter('eventbus.records.processed', { ...binding, partition }, value)
    add(0, 1)
    await runtime.advance(10_000)
    add(1, 5)
    await runtime.advance(10_000)
    const points = store.history('eventbus.records.processed', binding, 3_600_000)
    expect(points.map(({ value }) => value)).toEqual([1, 6])
    expect((points[1]?.atMs ?? 0) - (points[0]?.atMs ?? 0)).toBe(10_000)
    expect(store.history('eventbus.records.processed', { ...binding, partition: 1 }, 3_600_000)).toHaveLength(1)
    expect(store.history('eventbus.records.processed', binding, 10_000).map(({ value }) => value)).toEqual([6])
  })

  test('keeps its length, whatever time passes', async () => {
    const runtime = createVirtualRuntime(1)
    const store = createMetricsStore({ runtime, historyMs: 60_000 })
    const set = store.bind('gauge', 'eventbus.dlt.depth', binding)
    for (let at = 0; at < 20; at++) {
      set(at)
      await runtime.advance(10_000)
    }
    expect(store.history('eventbus.dlt.depth', binding, 3_600_000).map(({ value }) => value)).toEqual([
      14, 15, 16, 17, 18, 19,
    ])
  })

  test('ends with the store', async () => {
    const runtime = createVirtualRuntime(1)
    const store = createMetricsStore({ runtime })
    store.counter('x', binding, 1)
    store[Symbol.dispose]()
    await runtime.advance(60_000)
    expect(store.history('x', binding, 3_600_000)).toEqual([])
  })
})

test('other metrics receive every measurement, too', () => {
  const also = createMemoryMetrics()
  const store = createMetricsStore({ also, runtime: createVirtualRuntime(1) })
  store.counter('x', binding, 1)
  store.bind('counter', 'x', binding)(2)
  expect(also.total('x', binding)).toBe(3)
})

describe('the catalog', () => {
  test('names each metric once', () => {
    const names = metricCatalog.map(({ name }) => name)
    expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([])
  })

  test('recognizes metrics of any outbox by their end', () => {
    const found = identifyMetric('billing.outbox.enqueue.hot.dropped')
    expect([found?.info.name, found?.prefix]).toEqual(['enqueue.hot.dropped', 'billing.outbox'])
    expect(identifyMetric('eventbus.health')?.prefix).toBeUndefined()
    expect(identifyMetric('outbox.health')?.prefix).toBe('outbox')
    expect(identifyMetric('shop.orders.placed')).toBeUndefined()
  })

  test('has rising buckets for each histogram', () => {
    for (const { kind, buckets = [] } of metricCatalog.filter((one) => one.kind === 'histogram')) {
      expect([kind, buckets.length > 0]).toEqual(['histogram', true])
      expect(buckets).toEqual(buckets.toSorted((one, other) => one - other))
    }
  })
})
