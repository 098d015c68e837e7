import type { ListenerRegistry, Runtime } from '@waybill/core'
import { unfailingMetrics } from '../loops/unfailing-metrics.ts'
import { Destinations } from './destinations.ts'

/** A destination that fails and recovers all the time logs one line per interval. */
const lineEveryMs = 10_000
/** The limit of destinations whose last line is remembered. */
const maxLines = 1_000

/**
 * Creates the destinations of one outbox, with its log lines and its gauge.
 *
 * @param prefix the prefix of its metrics
 * @param isInSequence whether events are tried in one order
 */
export function createDestinations(
  prefix: string,
  listeners: ListenerRegistry,
  runtime: Pick<Runtime, 'clock' | 'random' | 'logger' | 'metrics'>,
  isInSequence = false,
): Destinations {
  const { clock, random, logger } = runtime
  const metrics = unfailingMetrics(runtime)
  const none = Object.freeze({})
  const gauge = (count: number): void => metrics.gauge(`${prefix}.destination.unavailable`, none, count)
  /** When the last line about each destination was written. */
  const lines = new Map<string, number>()
  const silent = new Set<string>()
  return new Destinations({
    destinationsOf:
      listeners.destinationsOf === undefined ? undefined : (event) => listeners.destinationsOf?.(event) ?? [],
    clock,
    random,
    isInSequence,
    closed({ destination, reason }, count) {
      gauge(count)
      const now = clock.monotonic()
      if (now - (lines.get(destination) ?? Number.NEGATIVE_INFINITY) < lineEveryMs) {
        silent.add(destination)
        return
      }
      if (lines.size >= maxLines) lines.clear()
      lines.set(destination, now)
      logger.warn({ outbox: prefix, destination, error: reason }, 'Destination unavailable; its events wait')
    },
    opened({ destination, since, probes, waiting }, count) {
      gauge(count)
      if (silent.delete(destination)) return
      const fields = { outbox: prefix, destination, unavailableMs: clock.now() - since, failedProbes: probes, waiting }
      logger.info(fields, 'Destination available again')
    },
  })
}
