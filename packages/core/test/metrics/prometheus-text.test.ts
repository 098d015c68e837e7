import { createMetricsStore } from '@waybill/core'
import { expect, test } from 'vitest'
import { prometheusText } from '../../src/metrics/prometheus-text.ts'

test('writes counters, gauges and histograms in the text format', () => {
  using store = createMetricsStore()
  store.counter('eventbus.records.processed', { binding: 'ship', cluster: 'default', topic: 'o', partition: 3 }, 2)
  store.histogram('eventbus.retry.count', { binding: 'ship', cluster: 'default', tier: 0 }, 2)
  store.gauge('eventbus.health', {}, 1)
  expect(prometheusText(store)).toBe(`\
# HELP eventbus_records_processed_total Records settled because their handler succeeded
# TYPE eventbus_records_processed_total counter
eventbus_records_processed_total{binding="ship",cluster="default",partition="3",topic="o"} 2

# HELP eventbus_retry_count Handler calls of one delivery
# TYPE eventbus_retry_count histogram
eventbus_retry_count_bucket{binding="ship",cluster="default",tier="0",le="1"} 0
eventbus_retry_count_bucket{binding="ship",cluster="default",tier="0",le="2"} 1
eventbus_retry_count_bucket{binding="ship",cluster="default",tier="0",le="3"} 1
eventbus_retry_count_bucket{binding="ship",cluster="default",tier="0",le="4"} 1
eventbus_retry_count_bucket{binding="ship",cluster="default",tier="0",le="5"} 1
eventbus_retry_count_bucket{binding="ship",cluster="default",tier="0",le="8"} 1
eventbus_retry_count_bucket{binding="ship",cluster="default",tier="0",le="13"} 1
eventbus_retry_count_bucket{binding="ship",cluster="default",tier="0",le="+Inf"} 1
eventbus_retry_count_sum{binding="ship",cluster="default",tier="0"} 2
eventbus_retry_count_count{binding="ship",cluster="default",tier="0"} 1

# HELP eventbus_health Health of the connector: 0 UP, 1 DEGRADED, 2 DOWN
# TYPE eventbus_health gauge
eventbus_health 1
`)
})

test('escapes quotes, backslashes and line feeds of labels', () => {
  using store = createMetricsStore()
  store.counter('shop.orders', { note: 'a "b"\\\nc' }, 1)
  expect(prometheusText(store)).toContain('shop_orders_total{note="a \\"b\\"\\\\\\nc"} 1')
})

test('adds labels to every series, and lets those of the engine win', () => {
  using store = createMetricsStore()
  store.counter('shop.orders', { region: 'eu' }, 1)
  expect(prometheusText(store, { region: 'us', service: 'shop' })).toContain('{region="eu",service="shop"} 1')
})

test('is empty for a store without series', () => {
  using store = createMetricsStore()
  expect(prometheusText(store)).toBe('')
})
