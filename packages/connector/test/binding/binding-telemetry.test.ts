import { createMemoryMetrics } from '@waybill/core'
import { describe, expect, test } from 'vitest'
import { BindingTelemetry, metricName } from '../../src/binding/binding-telemetry.ts'

function setUp() {
  const metrics = createMemoryMetrics()
  return {
    metrics,
    telemetry: new BindingTelemetry({ name: 'orders', cluster: 'eu', listenerType: 'SINGLE' }, metrics),
  }
}

describe('a binding measures under the specified names and labels', () => {
  test('records that were handled, by topic and partition', () => {
    const { metrics, telemetry } = setUp()
    telemetry.processed('orders.events', 3)
    telemetry.processed('orders.events', 3, 5)
    telemetry.processed('orders.events.retry-1', 0)
    const name = 'eventbus.records.processed'
    expect(metrics.total(name, { binding: 'orders', topic: 'orders.events', partition: 3 })).toBe(6)
    expect(metrics.total(name, { topic: 'orders.events.retry-1', partition: 0 })).toBe(1)
  })

  test('failures by exception, dead letters by reason, skips by cause', () => {
    const { metrics, telemetry } = setUp()
    telemetry.failed('orders.events', 'TimeoutError')
    telemetry.deadLettered('orders.events', 'NON_RETRYABLE')
    telemetry.skipped('orders.events', 'UNHANDLED')
    const place = { binding: 'orders', topic: 'orders.events' }
    expect(metrics.total('eventbus.records.failed', { ...place, exception: 'TimeoutError' })).toBe(1)
    expect(metrics.total('eventbus.records.dlq', { ...place, reason: 'NON_RETRYABLE' })).toBe(1)
    expect(metrics.total('eventbus.records.skipped', { ...place, cause: 'UNHANDLED' })).toBe(1)
  })

  test('rebalances by outcome, and partitions that were given up by cause', () => {
    const { metrics, telemetry } = setUp()
    telemetry.rebalanced('orders.events', 'completed')
    telemetry.rebalanced('orders.events', 'failed')
    telemetry.revoked('orders.events', 'revoked', 3)
    telemetry.revoked('orders.events', 'lost', 1)
    const place = { binding: 'orders', topic: 'orders.events' }
    expect(metrics.total('eventbus.rebalances', { ...place, outcome: 'completed' })).toBe(1)
    expect(metrics.total('eventbus.rebalances', { ...place, outcome: 'failed' })).toBe(1)
    expect(metrics.total('eventbus.partitions.revoked', { ...place, cause: 'revoked' })).toBe(3)
    expect(metrics.total('eventbus.partitions.revoked', { ...place, cause: 'lost' })).toBe(1)
  })

  test('attempts by tier, durations, sizes of polls and trips of the safety valve', () => {
    const { metrics, telemetry } = setUp()
    telemetry.attempts(0, 3)
    telemetry.attempts(2, 1)
    telemetry.duration(12)
    telemetry.batchSize(50)
    telemetry.safetyTriggered()
    expect(metrics.distribution('eventbus.retry.count', { binding: 'orders', tier: 0 }).values).toEqual([3])
    expect(metrics.distribution('eventbus.retry.count', { tier: 2 }).count).toBe(1)
    expect(
      metrics.distribution('eventbus.processing.duration', { binding: 'orders', listenerType: 'SINGLE' }).sum,
    ).toBe(12)
    expect(metrics.distribution('eventbus.batch.size', { binding: 'orders' }).values).toEqual([50])
    expect(metrics.total('eventbus.poll.interval.safety.triggered', { binding: 'orders' })).toBe(1)
  })

  test('with its cluster on each of them', () => {
    const { metrics, telemetry } = setUp()
    telemetry.processed('t', 0)
    telemetry.failed('t', 'TimeoutError')
    telemetry.deadLettered('t', 'NON_RETRYABLE')
    telemetry.skipped('t', 'UNHANDLED')
    telemetry.attempts(0, 1)
    telemetry.duration(1)
    telemetry.batchSize(1)
    telemetry.safetyTriggered()
    telemetry.rebalanced('t', 'completed')
    telemetry.revoked('t', 'lost', 1)
    const series = Object.values(metricName).flatMap((name) => metrics.series(name))
    expect(series).toHaveLength(10)
    expect(series.map(({ binding, cluster }) => [binding, cluster])).toEqual(series.map(() => ['orders', 'eu']))
  })
})

test('after fifty different exceptions the others are counted together', () => {
  const { metrics, telemetry } = setUp()
  for (let kind = 0; kind < 60; kind++) telemetry.failed('orders.events', `Error${kind}`)
  expect(metrics.series(metricName.failed)).toHaveLength(51)
  expect(metrics.total(metricName.failed, { exception: 'other' })).toBe(10)
  expect(metrics.total(metricName.failed)).toBe(60)
})
