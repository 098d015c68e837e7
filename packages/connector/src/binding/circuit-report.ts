import type { Runtime } from '@waybill/core'
import type { CircuitEvent } from '@waybill/core/internal'
import { type BindingName, bindingLabels } from './binding-label.ts'
import { circuitStateCode, metricName } from './binding-telemetry.ts'

/** Reports a state change of a binding's circuit as a gauge, a counter and a log line. */
export function reportCircuit(
  binding: BindingName,
  { metrics, logger }: Pick<Runtime, 'metrics' | 'logger'>,
  { from, to, reason, failureRate, slowCallRate }: Extract<CircuitEvent, { type: 'STATE_CHANGED' }>,
): void {
  const labels = bindingLabels(binding)
  const fields = { ...labels, from, to, reason, failureRate, slowCallRate }
  metrics.gauge(metricName.circuitState, labels, circuitStateCode[to])
  if (to === 'OPEN') {
    metrics.counter(metricName.circuitOpened, labels, 1)
    logger.warn(fields, 'Circuit opened')
  } else if (to === 'CLOSED') {
    metrics.counter(metricName.circuitRecovered, labels, 1)
    logger.info(fields, 'Circuit closed')
  } else logger.info(fields, 'Circuit half-opened')
}
