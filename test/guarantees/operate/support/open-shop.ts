import { createAdmin, createAdminServer } from '@waybill/admin'
import { type ConnectorOptions, createConnector, createFleetControl } from '@waybill/connector'
import { createMetricsStore, defineEvents, noopLogger, runtimeWith } from '@waybill/core'
import { createKafkaClient, type KafkaClient, publishEvents } from '@waybill/kafka'
import { createDeadEvents, Outbox } from '@waybill/outbox'
import {
  createAuditLog,
  createDeadLetterIndex,
  createOperationStore,
  createOutboxStore,
  createSharedLog,
  migrate,
} from '@waybill/sql'
import { z } from 'zod'
import { type DatabaseAddress, openDatabase } from '../../outbox/support/open-database.ts'

/** A service with a binding, an outbox and a console, in this process. */
export interface Shop extends AsyncDisposable {
  /** With a final slash. */
  readonly url: string
  readonly kafka: KafkaClient
  /** Writes an order in a transaction of the database; the outbox publishes it. */
  readonly place: (order: string) => Promise<void>
}

/** The parts of a shop that differ. */
export interface ShopOptions {
  readonly brokers: readonly string[]
  readonly database: DatabaseAddress
  /** The topic of orders, which exists. */
  readonly topic: string
  readonly binding: Omit<NonNullable<ConnectorOptions['bindings']>[string], 'topic' | 'groupId'>
}

const order = z.object({ order: z.string() })

/** Starts a shop whose binding `shipping` reads orders, and whose outbox `orders` writes them. */
export async function openShop({ brokers, database: address, topic, binding }: ShopOptions): Promise<Shop> {
  const stack = new AsyncDisposableStack()
  try {
    const metrics = stack.use(createMetricsStore())
    const runtime = runtimeWith({ logger: noopLogger, metrics })
    const kafka = stack.use(createKafkaClient({ brokers, runtime }))
    const { database } = stack.use(openDatabase(address))
    await migrate(database, { tables: { outbox: 'outbox_event', inbox: false, admin: 'waybill' } })
    const auditLog = createAuditLog(database)
    const administration = { auditLog, permits: () => true }
    const control = createFleetControl({ log: createSharedLog(database), version: '1.8.2', runtime })
    stack.defer(() => control.stop())
    const connector = createConnector({
      instance: 'shop-0',
      clusters: { default: kafka },
      control,
      runtime,
      administration,
      bindings: {
        shipping: {
          ...binding,
          topic,
          groupId: `${topic}-shipping`,
          sessionTimeoutMs: 6_000,
          heartbeatIntervalMs: 500,
        },
      },
    })
    stack.defer(() => connector.stop({ deadlineMs: 10_000 }))
    const events = defineEvents({ 'order.placed': { topic, schema: order, key: (one) => one.order } })
    const store = createOutboxStore(database)
    const outbox = stack.use(
      Outbox.keyed({ events, database, store, listeners: publishEvents(kafka, events), runtime }),
    )
    const deadEvents = createDeadEvents({ database, store, throwOnError: true, administration, outbox, runtime })
    const admin = stack.use(
      createAdmin({
        connector,
        clusters: { default: kafka },
        outboxes: { orders: { database, store, deadEvents, mode: 'KEYED', health: () => outbox.health() } },
        metrics,
        operations: createOperationStore(database),
        auditLog,
        deadLetters: createDeadLetterIndex(database),
        editing: { headers: 'CUSTOM' },
        identify: ({ headers }) => {
          const by = /^Bearer (\w+)$/.exec(headers['authorization'] ?? '')?.[1]
          return by === undefined ? null : { by }
        },
        authorize: () => 'ALL',
        runtime,
      }),
    )
    const server = stack.use(createAdminServer(admin, { port: 0, isIdentified: true }))
    await connector.start()
    await outbox.start()
    await server.start()
    return {
      url: `${server.url}/`,
      kafka,
      place: (name) =>
        database.transaction(async (tx) => {
          await outbox.write(tx, 'order.placed', { order: name })
        }),
      [Symbol.asyncDispose]: () => stack.disposeAsync(),
    }
  } catch (error) {
    await stack.disposeAsync()
    throw error
  }
}
