import type { Metrics, Runtime } from '@waybill/core'
import type { MetricKind, MetricMethod } from '@waybill/core/internal'

/** Wraps the runtime's metrics so that an exception thrown by them cannot interrupt a delivery. */
export function unfailingMetrics({ metrics, logger }: Pick<Runtime, 'metrics' | 'logger'>): Metrics {
  let hasFailed = false
  const contained =
    (method: MetricKind): MetricMethod =>
    (name, labels, value) => {
      try {
        metrics[method](name, labels, value)
      } catch (err) {
        if (hasFailed) return
        hasFailed = true
        logger.error({ err, metric: name }, 'Metrics threw; further errors are not logged')
      }
    }
  return Object.freeze<Metrics>({
    counter: contained('counter'),
    gauge: contained('gauge'),
    histogram: contained('histogram'),
  })
}
