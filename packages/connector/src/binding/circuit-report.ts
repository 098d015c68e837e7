import type { Runtime } from '@waybill/core'
import type { CircuitEvent } from '@waybill/core/internal'
import { circuitStateCode, metricName } from './binding-telemetry.ts'

/** What operators see of a binding's circuit when it changes: a gauge, counters and a line of the log. */
export function reportCircuit(
  binding: string,
  { metrics, logger }: Pick<Runtime, 'metrics' | 'logger'>,
  { from, to, reason, failureRate, slowCallRate }: Extract<CircuitEvent, { type: 'STATE_CHANGED' }>,
): void {
  const labels = { binding }
  const fields = { ...labels, from, to, reason, failureRate, slowCallRate }
  metrics.gauge(metricName.circuitState, labels, circuitStateCode[to])
  if (to === 'OPEN') {
    metrics.counter(metricName.circuitOpened, labels, 1)
    logger.warn(fields, 'Circuit opened: records wait until calls succeed again')
  } else if (to === 'CLOSED') {
    metrics.counter(metricName.circuitRecovered, labels, 1)
    logger.info(fields, 'Circuit closed: calls succeed again')
  } else logger.info(fields, 'Circuit half-open: a few records probe')
}
