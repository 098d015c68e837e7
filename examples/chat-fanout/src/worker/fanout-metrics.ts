/** The metrics of the fan-out service under the names of its dashboards, made of those of the engine. */

import type { MetricLabels, Metrics } from '@waybill/core'

/** Metrics of the engine that have a counterpart. */
const counterparts: Readonly<Record<string, string>> = {
  'eventbus.records.processed': 'fanout_events_processed_total',
  'eventbus.records.skipped': 'fanout_events_processed_total',
  'eventbus.records.dlq': 'fanout_dlq_events_total',
  'eventbus.consumer.lag': 'fanout_consumer_lag',
  'eventbus.batch.size': 'fanout_batch_size',
}

/** A delivery to one gateway: none listens there, or its clients have the frame. */
export type DeliveryOutcome = 'delivered' | 'unreachable'

/** Counts deliveries to gateways. `seconds` is the time since the fact, where it is known. */
export type CountDelivery = (outcome: DeliveryOutcome, seconds: number | null) => void

/** Returns metrics that also measure under the names of the service. */
export function fanoutMetrics(metrics: Metrics): Metrics {
  const also =
    (kind: 'counter' | 'gauge' | 'histogram') =>
    (name: string, labels: MetricLabels, value: number): void => {
      metrics[kind](name, labels, value)
      const own = Object.hasOwn(counterparts, name) ? counterparts[name] : undefined
      if (own === undefined) return
      metrics[kind](own, ownLabels(labels), value)
      if (own === 'fanout_batch_size') metrics.counter('fanout_events_consumed_total', {}, value)
    }
  return { counter: also('counter'), gauge: also('gauge'), histogram: also('histogram') }
}

/** Returns a function that counts deliveries. Chats, users and messages are no labels: each would be a series of its own. */
export function deliveryCounter(metrics: Metrics): CountDelivery {
  return (outcome, seconds) => {
    metrics.counter('fanout_delivery_total', { outcome }, 1)
    if (seconds !== null) metrics.histogram('fanout_delivery_latency_seconds', { outcome }, seconds)
  }
}

function ownLabels({ topic, partition, cause }: MetricLabels): MetricLabels {
  return {
    ...(topic === undefined ? {} : { topic }),
    ...(partition === undefined ? {} : { partition }),
    ...(cause === undefined ? {} : { skipped: cause }),
  }
}
