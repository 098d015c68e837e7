import { prometheusText as pageOf, type ReadableMetrics } from '@waybill/core/internal'

/** The content type of {@link prometheusText}. */
export const prometheusContentType = 'text/plain; version=0.0.4; charset=utf-8'

/**
 * Returns the page that Prometheus scrapes: `response.end(prometheusText(store))` with {@link prometheusContentType}.
 *
 * @param labels - added to every series; a label of the engine wins
 */
export function prometheusText(store: ReadableMetrics, labels: Readonly<Record<string, string>> = {}): string {
  return pageOf(store, labels)
}
