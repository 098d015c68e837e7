export { type MetricProducerOptions, otelMetricProducer } from './metrics/metric-producer.ts'
