/** A worker: a gateway for clients, and a member of the group that fans events out. */

import { createConnector, createThresholdMonitor, type ThresholdStatus } from '@waybill/connector'
import { createMemoryMetrics, noopLogger, runtimeWith } from '@waybill/core'
import type { KafkaClient } from '@waybill/kafka'
import type { ChatStore } from '../chat/chat-store.ts'
import { chatEvents } from '../events.ts'
import type { Presence } from '../presence/presence.ts'
import type { ChatTopics } from '../topology.ts'
import { fanOut } from './fan-out.ts'
import { deliveryCounter, fanoutMetrics } from './fanout-metrics.ts'
import { Gateway } from './gateway.ts'

/** The resources of a worker, which its owner closes. */
export interface WorkerParts<Tx> {
  readonly name: string
  readonly kafka: KafkaClient
  readonly topics: ChatTopics
  readonly groupId: string
  readonly store: ChatStore<Tx>
  readonly presence: Presence
}

/** The numbers of a worker. */
export interface WorkerCounts {
  /** Deliveries to gateways, and those that found none. */
  readonly delivered: number
  readonly unreachable: number
  /** Records whose delivery was not attempted in full. */
  readonly skipped: number
  readonly status: ThresholdStatus
  /** Totals of the service's own metrics. */
  readonly consumed: number
  readonly processed: number
  readonly deadLetters: number
  /** Times from events to their deliveries. */
  readonly deliverySeconds: readonly number[]
}

/** A worker that runs. */
export interface Worker {
  /** The address of its gateway. */
  readonly url: string
  counts(): WorkerCounts
  /** Cuts the connections, and leaves the group. */
  stop(): Promise<void>
}

/** Starts a worker. */
export async function startWorker<Tx>(parts: WorkerParts<Tx>): Promise<Worker> {
  const { name, kafka, topics, groupId, store, presence } = parts
  const counted = createMemoryMetrics()
  const monitor = createThresholdMonitor({ metrics: fanoutMetrics(counted) })
  const runtime = runtimeWith({ metrics: monitor.metrics, logger: noopLogger })
  const gateway = new Gateway(name, store, presence)
  const url = await gateway.start()
  const connector = createConnector({
    clusters: { default: kafka },
    bindings: {
      fanout: {
        preset: 'FANOUT',
        topic: [topics.messages, topics.memberships],
        groupId,
        dlt: { topic: topics.deadLetters },
        // A delivery that fails is not repeated: it would hold up the chat, and the clients sync.
        retry: { tier0: { maxAttempts: 1 } },
        handler: fanOut(chatEvents(topics), store, presence, deliveryCounter(counted)),
      },
    },
    runtime,
  })
  await connector.start()
  return {
    url,
    counts: () => ({
      delivered: counted.total('fanout_delivery_total', { outcome: 'delivered' }),
      unreachable: counted.total('fanout_delivery_total', { outcome: 'unreachable' }),
      skipped: counted.total('eventbus.records.skipped', { cause: 'BEST_EFFORT' }),
      status: monitor.report().status,
      consumed: counted.total('fanout_events_consumed_total'),
      processed: counted.total('fanout_events_processed_total'),
      deadLetters: counted.total('fanout_dlq_events_total'),
      deliverySeconds: counted.distribution('fanout_delivery_latency_seconds', { outcome: 'delivered' }).values,
    }),
    async stop() {
      await gateway.stop()
      await connector.stop()
    },
  }
}
