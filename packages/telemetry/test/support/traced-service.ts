/**
 * A service in a process of its own that exports its spans: a shop that writes orders to its outbox, or a warehouse whose
 * handler fails until it is fixed. The parent sends orders, and is told what happened.
 */

import { DatabaseSync } from 'node:sqlite'
import { context, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { BatchSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { createConnector, handleEvents } from '@waybill/connector'
import { defineEvents, onEngineEvent, runtimeWith } from '@waybill/core'
import { createKafkaClient, type KafkaClient, publishEvents } from '@waybill/kafka'
import { Outbox } from '@waybill/outbox'
import { parentTransport } from '@waybill/sim'
import { createOutboxStore, fromSqlite, migrate } from '@waybill/sql'
import { openTelemetryTracer } from '@waybill/telemetry/opentelemetry'
import { z } from 'zod'

/** The task of a service, its only argument. */
export interface TracedServiceTask {
  readonly role: 'shop' | 'warehouse'
  readonly collectorUrl: string
  readonly brokers: readonly string[]
  /** Whether the cluster is simulated by the parent. */
  readonly isSimulated: boolean
  /** In front of topics and groups. */
  readonly prefix: string
}

/** What the parent asks for, and what it is told. */
export type ServiceOrder = { readonly order: 'PLACE' | 'FIX_AND_REPLAY' | 'STOP' }
export type ServiceNews = { readonly news: 'READY' | 'PLACED' | 'DEAD' | 'HANDLED' | 'STOPPED' }

const task = JSON.parse(process.argv[2] ?? '') as TracedServiceTask
const { role, prefix, isSimulated } = task
context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
const exporter = new OTLPTraceExporter({ url: task.collectorUrl })
const provider = new TracerProvider({ spanProcessors: [new BatchSpanProcessor({ exporter })] })
const tracer = provider.getTracer(role)
const runtime = runtimeWith({ tracer: openTelemetryTracer({ tracer }) })
const schema = z.object({ orderId: z.string() })
const key = ({ orderId }: { readonly orderId: string }): string => orderId
const events = defineEvents({
  'order.placed': { topic: `${prefix}orders`, schema, key },
  'order.shipped': { topic: `${prefix}shipments`, schema, key },
})
const kafka = createKafkaClient({
  brokers: task.brokers,
  ...(isSimulated ? { transport: parentTransport() } : {}),
  runtime,
})

function tell(news: ServiceNews['news']): void {
  process.send?.({ news } satisfies ServiceNews)
}

interface RunningService {
  readonly place?: () => Promise<void>
  readonly fixAndReplay?: () => Promise<void>
  readonly stop: () => Promise<void>
}

async function startShop(client: KafkaClient): Promise<RunningService> {
  const database = fromSqlite(new DatabaseSync(':memory:'))
  await migrate(database)
  const listeners = publishEvents(client, events)
  const outbox = Outbox.keyed({ events, database, store: createOutboxStore(database), listeners, runtime })
  await outbox.start()
  return {
    async place() {
      const request = tracer.startSpan('POST /orders')
      const id = await context.with(trace.setSpan(context.active(), request), () =>
        database.transaction((tx) => outbox.write(tx, 'order.placed', { orderId: 'o-1' })),
      )
      request.end()
      await outbox.published(id, { deadlineMs: 100_000 })
      tell('PLACED')
    },
    stop: () => outbox.stop(),
  }
}

async function startWarehouse(client: KafkaClient): Promise<RunningService> {
  let isFixed = false
  const tiers = [200, 300, 400].map((delayMs) => ({ delayMs, maxAttempts: 1 }))
  const connector = createConnector({
    clusters: { default: client },
    bindings: {
      shipping: {
        topic: `${prefix}orders`,
        groupId: `${prefix}shipping`,
        retry: { tier0: { maxAttempts: 1 }, tiers },
        handler: handleEvents(events, {
          'order.placed': async ({ payload }, { publisher }) => {
            if (!isFixed) throw new Error('the carrier does not answer')
            await publisher.publish('order.shipped', payload)
            tell('HANDLED')
          },
        }),
      },
    },
    administration: { permits: () => true },
    runtime,
  })
  onEngineEvent('record:dead-lettered', () => tell('DEAD'))
  await connector.start()
  return {
    async fixAndReplay() {
      isFixed = true
      await connector.admin.replayDlt('shipping', { count: 10 }, { by: 'anna', reason: 'fixed' })
    },
    stop: () => connector.stop(),
  }
}

const service = await (role === 'shop' ? startShop(kafka) : startWarehouse(kafka))

async function obey({ order }: ServiceOrder): Promise<void> {
  if (order === 'PLACE') await service.place?.()
  else if (order === 'FIX_AND_REPLAY') await service.fixAndReplay?.()
  else {
    await service.stop()
    await kafka.close()
    await provider.forceFlush()
    tell('STOPPED')
    process.disconnect()
  }
}

process.on('message', (message: Partial<ServiceOrder>) => {
  // The simulated cluster uses the same channel.
  if (message.order !== undefined) void obey(message as ServiceOrder).catch(fail)
})

function fail(error: unknown): void {
  process.stderr.write(`${role}: ${String(error)}\n`)
  process.exit(1)
}

tell('READY')
