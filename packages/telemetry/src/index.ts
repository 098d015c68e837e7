export { prometheusContentType, prometheusText } from './metrics/prometheus-text.ts'
