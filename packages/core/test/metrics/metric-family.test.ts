import { createMetricsStore } from '@waybill/core'
import { metricCatalog } from '@waybill/core/internal'
import { describe, expect, test } from 'vitest'
import { exportedMetric, metricFamilies, prometheusName } from '../../src/metrics/metric-family.ts'

describe('the exported name', () => {
  test.each([
    ['eventbus.records.processed', 'counter', 'eventbus_records_processed_total', '{record}'],
    ['eventbus.retry.count', 'histogram', 'eventbus_retry_count', '{call}'],
    ['eventbus.processing.duration', 'histogram', 'eventbus_processing_duration_seconds', 's'],
    ['eventbus.consumer.lag.seconds', 'gauge', 'eventbus_consumer_lag_seconds', 's'],
    ['billing.outbox.lag.oldest.ms', 'gauge', 'outbox_lag_oldest_seconds', 's'],
    ['billing.outbox.enqueue.hot.dropped', 'counter', 'outbox_enqueue_hot_dropped_total', '{event}'],
    ['shop.ordersPlaced', 'counter', 'shop_orders_placed_total', '1'],
  ] as const)('of %s follows the rules', (name, kind, exported, unit) => {
    expect(exportedMetric(name, kind)).toMatchObject({ name: exported, unit })
  })

  test('of every metric in the catalog is legal and its own', () => {
    const names = metricCatalog.map(
      ({ name, owner, kind }) => exportedMetric(owner === 'OUTBOX' ? `outbox.${name}` : name, kind).name,
    )
    for (const name of names) expect(name).toMatch(/^[a-z_][a-z0-9_]*$/)
    expect(new Set(names).size).toBe(names.length)
  })

  test('starts with no digit', () => {
    expect(prometheusName('2nd.attempt')).toBe('_2nd_attempt')
  })
})

test('exports the prefix of an outbox as a label, and milliseconds as seconds', () => {
  using store = createMetricsStore()
  store.counter('outbox.dispatch.dead', {}, 1)
  store.counter('billing.outbox.dispatch.dead', {}, 2)
  store.gauge('billing.outbox.lag.oldest.ms', {}, 1_500)
  expect(
    metricFamilies(store).map(({ name, series }) => ({
      name,
      series: series.map(({ labels, value }) => ({ labels, value })),
    })),
  ).toEqual([
    {
      name: 'outbox_dispatch_dead_total',
      series: [
        { labels: { outbox: 'outbox' }, value: 1 },
        { labels: { outbox: 'billing.outbox' }, value: 2 },
      ],
    },
    { name: 'outbox_lag_oldest_seconds', series: [{ labels: { outbox: 'billing.outbox' }, value: 1.5 }] },
  ])
})

test('keeps the first of two metrics that share a name and differ in kind', () => {
  using store = createMetricsStore()
  store.gauge('a.b', {}, 1)
  store.histogram('a_b', {}, 2)
  expect(metricFamilies(store)).toMatchObject([{ name: 'a_b', kind: 'gauge', series: [{ value: 1 }] }])
})
