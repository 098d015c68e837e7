import type { Metrics, Runtime } from '@waybill/core'
import type { MetricMethod } from '@waybill/core/internal'

/**
 * The runtime's metrics, which are not to throw. One that does all the same must not cost an event: what is counted
 * between two steps of a delivery would leave the second one undone.
 */
export function unfailingMetrics({ metrics, logger }: Pick<Runtime, 'metrics' | 'logger'>): Metrics {
  let hasFailed = false
  const contained =
    (method: keyof Metrics): MetricMethod =>
    (name, labels, value) => {
      try {
        metrics[method](name, labels, value)
      } catch (err) {
        if (hasFailed) return
        hasFailed = true
        logger.error({ err, metric: name }, 'The metrics threw; deliveries go on, and this is said once')
      }
    }
  return Object.freeze<Metrics>({
    counter: contained('counter'),
    gauge: contained('gauge'),
    histogram: contained('histogram'),
  })
}
