import { DatabaseSync } from 'node:sqlite'
import { createConnector, handleEvents } from '@waybill/connector'
import { defineEvents, type Logger, noopLogger, type Tracer } from '@waybill/core'
import { createKafkaClient, publishEvents } from '@waybill/kafka'
import { Outbox } from '@waybill/outbox'
import { createSimCluster, createVirtualRuntime } from '@waybill/sim'
import { createOutboxStore, fromSqlite, migrate } from '@waybill/sql'
import { z } from 'zod'

export const events = defineEvents({
  'order.placed': {
    topic: 'orders.events',
    schema: z.object({ orderId: z.string() }),
    key: (order) => order.orderId,
  },
  'order.shipped': {
    topic: 'shipments.events',
    schema: z.object({ orderId: z.string() }),
    key: (order) => order.orderId,
  },
})

export interface TwoServices {
  /** Places an order: a row in the outbox of the shop. */
  readonly place: (orderId: string, headers?: Readonly<Record<string, string>>) => Promise<void>
  /** Lets virtual time pass. */
  readonly pass: (ms: number) => Promise<void>
  /** Replays all dead letters. */
  readonly replay: () => Promise<void>
  /** Lets the handler succeed from now on. */
  readonly fix: () => void
  /** Returns the headers of the first record of a topic. */
  readonly headersIn: (topic: string) => Promise<ReadonlyMap<string, string>>
}

export interface TwoServicesOptions {
  /** Of the shop, which writes and publishes. */
  readonly shopTracer?: Tracer
  /** Of the warehouse, which handles. */
  readonly warehouseTracer?: Tracer
  readonly logger?: Logger
  readonly dlt?: { readonly format: 'HEADERS' | 'ENVELOPE' }
  /** Called within the handler. */
  readonly handled?: (logger: Logger) => void
}

/** Runs a shop with an outbox and a warehouse with a binding of three tiers, in virtual time. */
export async function withTwoServices(
  { shopTracer, warehouseTracer, logger = noopLogger, dlt, handled }: TwoServicesOptions,
  run: (services: TwoServices) => Promise<void>,
): Promise<void> {
  const runtime = createVirtualRuntime(7)
  const cluster = createSimCluster({ runtime })
  for (const topic of ['orders.events', 'shipments.events']) cluster.createTopic(topic)
  const shopRuntime = { ...runtime, logger, tracer: shopTracer }
  const warehouseRuntime = { ...runtime, logger, tracer: warehouseTracer }
  const clientOf = (name: string, own: typeof shopRuntime): ReturnType<typeof createKafkaClient> =>
    createKafkaClient({ brokers: cluster.brokers, transport: cluster.transport(name), runtime: own })
  let isFixed = false
  await runtime.run(async () => {
    const database = fromSqlite(new DatabaseSync(':memory:'))
    await migrate(database)
    const shop = clientOf('shop', shopRuntime)
    const warehouse = clientOf('warehouse', warehouseRuntime)
    const outbox = Outbox.keyed({
      events,
      database,
      store: createOutboxStore(database),
      listeners: publishEvents(shop, events),
      runtime: shopRuntime,
    })
    const connector = createConnector({
      clusters: { default: warehouse },
      bindings: {
        shipping: {
          topic: 'orders.events',
          groupId: 'shipping',
          ...(dlt === undefined ? {} : { dlt }),
          retry: {
            tier0: { maxAttempts: 2 },
            tiers: [
              { delayMs: 1_000, maxAttempts: 1 },
              { delayMs: 2_000, maxAttempts: 1 },
              { delayMs: 3_000, maxAttempts: 1 },
            ],
          },
          handler: handleEvents(events, {
            'order.placed': async ({ payload }, { publisher, logger: own }) => {
              handled?.(own)
              if (!isFixed) throw new Error('the carrier does not answer')
              await publisher.publish('order.shipped', payload)
            },
          }),
        },
      },
      administration: { permits: () => true },
      runtime: warehouseRuntime,
    })
    await outbox.start()
    await connector.start()
    await run({
      headersIn: async (topic) => {
        const reader = warehouse.reader([{ topic, partition: 0, from: 0n, until: 1n }])
        const [record] = (await reader.next(1)) ?? []
        await reader.close()
        return new Map([...(record?.headers ?? [])].map(([name, value]) => [name, value?.toString() ?? '']))
      },
      place: async (orderId, headers) => {
        await database.transaction(async (tx) => {
          await outbox.write(tx, 'order.placed', { orderId }, headers === undefined ? undefined : { headers })
        })
      },
      pass: (ms) => runtime.timers.sleep(ms),
      replay: async () => {
        await connector.admin.replayDlt('shipping', { count: 100 }, { by: 'anna', reason: 'fixed' })
      },
      fix: () => {
        isFixed = true
      },
    })
    await outbox.stop()
    await connector.stop()
    await Promise.all([shop.close(), warehouse.close()])
  })
}
