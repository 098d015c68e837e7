export { prometheusContentType, prometheusText } from './metrics/prometheus-page.ts'
