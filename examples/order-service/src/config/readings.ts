/** The readings that health and pressure are judged by. */

import type { MetricsStore } from '@waybill/core'
import type { DependencyCheck } from '../region/region-failover.ts'
import type { Resources } from './resources.ts'

/** An outbox whose rows are counted. */
interface CountedOutbox {
  health(): { readonly table: { readonly pending: number } | null }
}

/** Returns the checks of the services that an instance runs on. */
export function checksOf<Tx>({ orders, kafka, redis }: Resources<Tx>): Readonly<Record<string, DependencyCheck>> {
  return {
    database: async () => void (await orders.reads.query('SELECT 1 AS up')),
    kafka: async () => void (await kafka.admin.listTopics()),
    ...(redis === null ? {} : { redis: async () => void (await redis.ping()) }),
  }
}

/** Returns the age of the oldest record that waits to be consumed here. */
export function lagMsOf(metrics: Pick<MetricsStore, 'read'>): number {
  let most = 0
  for (const { name, value } of metrics.read())
    if (name === 'eventbus.consumer.lag.seconds') most = Math.max(most, value)
  return most * 1_000
}

/** Returns the number of events that are not published yet, also those that are retried. Dead ones wait for an operator, not for this service. */
export function backlogOf(outbox: CountedOutbox): number {
  const { table } = outbox.health()
  return table?.pending ?? 0
}
