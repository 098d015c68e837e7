/**
 * The composition root: opens what the service needs, starts it, and stops it in order.
 *
 *     PORT             where to listen: 3000
 *     DATABASE_URL     a PostgreSQL; without it SQLite, in DATABASE_FILE or orders.db
 *     KAFKA_BOOTSTRAP  brokers that have the topic orders.events; without it a simulated Kafka in this process
 */

import { createService, createSupervisor, describeThrown } from '@waybill/core'
import { createKafkaClient, type KafkaClient, publishEvents } from '@waybill/kafka'
import { Outbox } from '@waybill/outbox'
import { createSimCluster } from '@waybill/sim'
import { createOutboxStore, migrate } from '@waybill/sql'
import { createApp } from './app.ts'
import { events } from './events.ts'
import type { OrderTable } from './orders/order-table.ts'
import { openPostgresOrders } from './orders/postgres-orders.ts'
import { openSqliteOrders } from './orders/sqlite-orders.ts'

const { PORT = '3000', DATABASE_URL, DATABASE_FILE = 'orders.db', KAFKA_BOOTSTRAP } = process.env

if (DATABASE_URL === undefined) await run(openSqliteOrders(DATABASE_FILE))
else await run(openPostgresOrders(DATABASE_URL))

async function run<Tx>(orders: OrderTable<Tx>): Promise<void> {
  const kafka = openKafka()
  const { database } = orders
  const outbox = Outbox.multiNode({
    events,
    database,
    store: createOutboxStore(database),
    listeners: publishEvents(kafka, events),
    // The rows that a killed process had claimed wait this long for another one.
    claimLocking: { timeoutMs: 10_000 },
  })
  const app = createApp({ orders, outbox })
  const http = createService({
    name: 'http',
    start: async () => {
      say(`listening on ${await app.listen({ port: Number(PORT) })}`)
    },
    stop: () => app.close(), // Requests under way end first.
  })
  const service = createSupervisor({ services: { outbox, http }, resources: { orders, kafka } })

  const stop = async (signal: string): Promise<void> => {
    try {
      await service.stop({ deadlineMs: 20_000 })
      say(`stopped on ${signal}`)
    } catch (error) {
      say(String(error)) // Names what still ran. What was not delivered is in the table.
      process.exit(1)
    }
  }
  process.once('SIGTERM', (signal) => void stop(signal))
  process.once('SIGINT', (signal) => void stop(signal))

  try {
    await orders.create()
    await migrate(database)
    await service.start()
  } catch (error) {
    say(whyNotStarted(error))
    process.exit(1)
  }
}

/** A sentence, since whoever starts a service reads no stack. */
function whyNotStarted(error: unknown): string {
  const isTaken = error instanceof Error && 'code' in error && error.code === 'EADDRINUSE'
  return isTaken ? `Port ${PORT} is taken: set PORT to another one.` : `Cannot start: ${describeThrown(error)}`
}

function openKafka(): KafkaClient {
  if (KAFKA_BOOTSTRAP !== undefined) return createKafkaClient({ brokers: KAFKA_BOOTSTRAP.split(',') })
  const cluster = createSimCluster()
  cluster.createTopic('orders.events', { partitions: 4 })
  return createKafkaClient({ brokers: cluster.brokers, transport: cluster.transport('outbox-api') })
}

function say(text: string): void {
  process.stdout.write(`${text}\n`)
}
