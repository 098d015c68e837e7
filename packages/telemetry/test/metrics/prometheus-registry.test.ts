import { createMetricsStore } from '@waybill/core'
import { prometheusText } from '@waybill/core/internal'
import { Counter, Registry } from 'prom-client'
import { describe, expect, test } from 'vitest'
import { prometheusRegistry } from '../../src/metrics/prometheus-registry.ts'

const labels = { binding: 'ship', cluster: 'default' }

/** The samples of a page, without comments. */
function samples(page: string): string[] {
  return page.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
}

describe('the registry', () => {
  test('prints the samples that the own text format prints', async () => {
    using store = createMetricsStore()
    store.counter('eventbus.records.processed', { ...labels, topic: 'o', partition: 3 }, 2)
    store.histogram('eventbus.processing.duration', { ...labels, listenerType: 'SINGLE' }, 3)
    store.gauge('billing.outbox.lag.oldest.ms', {}, 1_500)
    const page = await prometheusRegistry(store).metrics()
    expect(samples(page).toSorted()).toEqual(samples(prometheusText(store)).toSorted())
    expect(samples(page)).toHaveLength(1 + 18 + 1)
  })

  test('reads the store at every scrape', async () => {
    using store = createMetricsStore()
    const registry = prometheusRegistry(store)
    store.counter('eventbus.circuit.opened', labels, 1)
    expect(await registry.metrics()).toContain('eventbus_circuit_opened_total{binding="ship",cluster="default"} 1')
    store.counter('eventbus.circuit.opened', labels, 1)
    expect(await registry.metrics()).toContain('eventbus_circuit_opened_total{binding="ship",cluster="default"} 2')
  })

  test('of an application keeps its own metrics', async () => {
    using store = createMetricsStore()
    store.gauge('eventbus.health', {}, 0)
    const registry = new Registry()
    new Counter({ name: 'orders', help: 'Orders.', registers: [registry] }).inc()
    expect(prometheusRegistry(store, { registry, labels: { service: 'shop' } })).toBe(registry)
    expect(samples(await registry.metrics())).toEqual(['orders 1', 'eventbus_health{service="shop"} 0'])
  })

  test('shows a metric of the application that came later with the second scrape', async () => {
    using store = createMetricsStore()
    const registry = prometheusRegistry(store)
    store.counter('shop.orders', {}, 1)
    await registry.metrics()
    expect(await registry.metrics()).toContain('shop_orders_total 1')
  })

  test('reads the store once for a scrape', async () => {
    using store = createMetricsStore()
    let reads = 0
    const counted = {
      ...store,
      refused: 0,
      history: store.history.bind(store),
      [Symbol.dispose]: () => {},
      read: () => (reads++, store.read()),
    }
    const registry = prometheusRegistry(counted)
    const atRegistration = reads
    await registry.metrics()
    expect(reads - atRegistration).toBe(1)
  })

  test('gives no metric a name of the process metrics of prom-client', async () => {
    using store = createMetricsStore()
    const { collectDefaultMetrics } = await import('prom-client')
    const registry = new Registry()
    collectDefaultMetrics({ register: registry })
    expect(() => prometheusRegistry(store, { registry })).not.toThrow()
    registry.clear()
  })
})
