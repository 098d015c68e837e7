export { type MetricProducerOptions, otelMetricProducer } from './metrics/metric-producer.ts'
export { type OpenTelemetryTracerOptions, openTelemetryTracer } from './tracing/open-telemetry-tracer.ts'
