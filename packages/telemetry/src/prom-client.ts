export { type PrometheusRegistryOptions, prometheusRegistry } from './metrics/prometheus-registry.ts'
