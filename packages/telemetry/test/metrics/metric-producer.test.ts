import {
  AggregationTemporality,
  DataPointType,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import { createMetricsStore } from '@waybill/core'
import { expect, test } from 'vitest'
import { otelMetricProducer } from '../../src/metrics/metric-producer.ts'

test('a metric reader exports the cells of the store beside the instruments of the application', async () => {
  using store = createMetricsStore()
  store.counter('eventbus.records.dlq', { binding: 'ship', cluster: 'default', topic: 'o', reason: 'MANUAL' }, 2)
  store.gauge('eventbus.health', {}, 1)
  for (const ms of [0.5, 7, 70_000])
    store.histogram('eventbus.processing.duration', { binding: 'ship', cluster: 'default', listenerType: 'SINGLE' }, ms)
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
  const reader = new PeriodicExportingMetricReader({ exporter, metricProducers: [otelMetricProducer(store)] })
  const provider = new MeterProvider({ readers: [reader] })
  provider.getMeter('shop').createCounter('orders').add(1)
  await reader.forceFlush()
  const metrics = exporter.getMetrics()[0]?.scopeMetrics.flatMap((scope) => scope.metrics) ?? []
  await provider.shutdown()

  const found = (name: string): unknown => metrics.find(({ descriptor }) => descriptor.name === name)
  expect(found('orders')).toBeDefined()
  expect(found('eventbus.records.dlq')).toMatchObject({
    descriptor: { unit: '{record}' },
    dataPointType: DataPointType.SUM,
    isMonotonic: true,
    dataPoints: [{ value: 2, attributes: { binding: 'ship', reason: 'MANUAL' } }],
  })
  expect(found('eventbus.health')).toMatchObject({ dataPointType: DataPointType.GAUGE, dataPoints: [{ value: 1 }] })
  expect(found('eventbus.processing.duration')).toMatchObject({
    descriptor: { unit: 's' },
    dataPoints: [
      { value: { count: 3, sum: 70.0075, buckets: { counts: [1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1] } } },
    ],
  })
})
