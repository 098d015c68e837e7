import { createMemoryMetrics, OptionsError } from '@waybill/core'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'

const processed = 'eventbus.records.processed'

describe('counters', () => {
  test('add up for each set of labels', () => {
    const metrics = createMemoryMetrics()
    metrics.counter(processed, { binding: 'orders', partition: 0 }, 2)
    metrics.counter(processed, { binding: 'orders', partition: 1 }, 3)
    metrics.counter(processed, { partition: 0, binding: 'orders' }, 5)
    metrics.counter(processed, { binding: 'stock', partition: 0 }, 7)
    expect(metrics.total(processed, { binding: 'orders', partition: 0 })).toBe(7)
    expect(metrics.total(processed, { binding: 'orders' })).toBe(10)
    expect(metrics.total(processed)).toBe(17)
    expect(metrics.series(processed)).toEqual([
      { binding: 'orders', partition: '0' },
      { binding: 'orders', partition: '1' },
      { binding: 'stock', partition: '0' },
    ])
  })

  test('never counted are zero', () => {
    expect(createMemoryMetrics().total(processed, { binding: 'orders' })).toBe(0)
  })

  test('total over any split of the labels is the sum of what was added', () => {
    const label = fc.constantFrom('a', 'b', 'c')
    const increment = fc.record({ binding: label, partition: fc.nat(3), value: fc.nat(1_000) })
    fc.assert(
      fc.property(fc.array(increment), (increments) => {
        const metrics = createMemoryMetrics()
        for (const { value, ...labels } of increments) metrics.counter(processed, labels, value)
        const sumOf = (list: typeof increments): number => list.reduce((sum, { value }) => sum + value, 0)
        expect(metrics.total(processed)).toBe(sumOf(increments))
        for (const binding of ['a', 'b', 'c'])
          expect(metrics.total(processed, { binding })).toBe(sumOf(increments.filter((one) => one.binding === binding)))
      }),
    )
  })
})

test('a gauge is what it was set to last; over several series the newest', () => {
  const metrics = createMemoryMetrics()
  expect(metrics.latest('eventbus.circuit.state', { binding: 'orders' })).toBeUndefined()
  metrics.gauge('eventbus.circuit.state', { binding: 'orders' }, 1)
  metrics.gauge('eventbus.circuit.state', { binding: 'stock' }, 2)
  metrics.gauge('eventbus.circuit.state', { binding: 'orders' }, 0)
  expect(metrics.latest('eventbus.circuit.state', { binding: 'orders' })).toBe(0)
  expect(metrics.latest('eventbus.circuit.state', { binding: 'stock' })).toBe(2)
  expect(metrics.latest('eventbus.circuit.state')).toBe(0)
})

test('a histogram keeps its newest observations, and count and sum of all', () => {
  const metrics = createMemoryMetrics({ maxObservations: 2 })
  for (const value of [5, 7, 9]) metrics.histogram('eventbus.batch.size', { binding: 'orders' }, value)
  metrics.histogram('eventbus.batch.size', { binding: 'stock' }, 1)
  expect(metrics.distribution('eventbus.batch.size', { binding: 'orders' })).toEqual({
    count: 3,
    sum: 21,
    values: [7, 9],
  })
  expect(metrics.distribution('eventbus.batch.size')).toEqual({ count: 4, sum: 22, values: [7, 9, 1] })
  expect(metrics.distribution('unknown')).toEqual({ count: 0, sum: 0, values: [] })
})

test('the same name as counter, gauge and histogram is three metrics', () => {
  const metrics = createMemoryMetrics()
  metrics.counter('x', {}, 1)
  metrics.gauge('x', {}, 2)
  metrics.histogram('x', {}, 3)
  expect([metrics.total('x'), metrics.latest('x'), metrics.distribution('x').sum]).toEqual([1, 2, 3])
})

test.each([
  ['counter', Number.NaN],
  ['counter', -1],
  ['gauge', Number.POSITIVE_INFINITY],
  ['histogram', Number.NaN],
] as const)('a %s refuses %d, without a throw on the hot path', (kind, value) => {
  const metrics = createMemoryMetrics()
  metrics[kind]('x', {}, value)
  expect(metrics.refused).toBe(1)
  expect(metrics.series('x')).toEqual([])
})

test('a gauge goes below zero', () => {
  const metrics = createMemoryMetrics()
  metrics.gauge('x', {}, -1)
  expect([metrics.latest('x'), metrics.refused]).toEqual([-1, 0])
})

test('series beyond the bound are refused and counted; known ones continue', () => {
  const metrics = createMemoryMetrics({ maxSeries: 2 })
  for (const partition of [0, 1, 2, 3, 0]) metrics.counter('x', { partition }, 1)
  expect(metrics.series('x')).toHaveLength(2)
  expect(metrics.total('x', { partition: 0 })).toBe(2)
  expect(metrics.refused).toBe(2)
})

test('labels that only look alike stay apart', () => {
  const metrics = createMemoryMetrics()
  metrics.counter('x', { a: '1","b":"2' }, 1)
  metrics.counter('x', { a: '1', b: '2' }, 1)
  expect(metrics.series('x')).toHaveLength(2)
})

test('refuses bounds that keep nothing', () => {
  expect(() => createMemoryMetrics({ maxSeries: 0, maxObservations: 0 })).toThrow(OptionsError)
})
