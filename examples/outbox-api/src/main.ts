/**
 * The composition root: opens the resources of the service, starts it, and stops it in order.
 *
 *     PORT             the port to listen on; 3000 by default
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
    // Rows claimed by a killed process wait this long for another one.
    claimLocking: { timeoutMs: 10_000 },
  })
  const app = createApp({ orders, outbox })
  const http = createService({
    name: 'http',
    start: async () => {
      say(`listening on ${await app.listen({ port: Number(PORT) })}`)
    },
    stop: () => app.close(), // Waits for pending requests.
  })
  const service = createSupervisor({ services: { outbox, http }, resources: { orders, kafka } })

  const stop = async (signal: string): Promise<void> => {
    try {
      await service.stop({ deadlineMs: 20_000 })
      say(`stopped on ${signal}`)
    } catch (error) {
      say(String(error)) // Names the services that still ran. Undelivered events are in the table.
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

/** Describes a failed start in a sentence, without a stack. */
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
