/** `npm run demo -- --console`: a shop on a simulated Kafka and SQLite that runs until Ctrl-C, with the console to look at it. */

import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { promisify } from 'node:util'
import { createAdmin, createAdminServer } from '@waybill/admin'
import { createConnector, createThresholdMonitor } from '@waybill/connector'
import { createMetricsStore, noopLogger, runtimeWith } from '@waybill/core'
import { createKafkaClient, publishEvents } from '@waybill/kafka'
import { createDeadEvents, Outbox } from '@waybill/outbox'
import { createProjector } from '@waybill/projection'
import { createSimCluster } from '@waybill/sim'
import {
  createAuditLog,
  createDeadLetterIndex,
  createOperationStore,
  createOutboxStore,
  createProjectionStore,
  fromSqlite,
  migrate,
} from '@waybill/sql'
import { consoleBindings, type Dependencies } from './console-bindings.ts'
import { shopEvents, topics, writtenEvents } from './console-events.ts'
import { playOperator } from './console-operator.ts'
import { openOrders } from './console-projection.ts'
import { runTraffic, writeBrokenRecords } from './console-traffic.ts'

const builder = join(import.meta.dirname, '..', '..', '..', '..', 'scripts', 'build-console.ts')

/** Runs the shop. Calls `onOpen` with the address once the console answers, and with the function that fixes shipping. */
export async function runConsole(
  port: number,
  signal: AbortSignal,
  onOpen: (url: string, fixShipping: () => void) => void,
): Promise<void> {
  await promisify(execFile)(process.execPath, [builder])
  await using stack = new AsyncDisposableStack()
  const thresholds = createThresholdMonitor()
  const metrics = stack.use(createMetricsStore({ also: thresholds.metrics }))
  const runtime = runtimeWith({ logger: noopLogger, metrics })
  const cluster = createSimCluster({ runtime })
  for (const topic of Object.values(topics)) cluster.createTopic(topic, { partitions: 6 })
  const kafka = stack.use(
    createKafkaClient({ brokers: cluster.brokers, transport: cluster.transport('shop'), runtime }),
  )
  const handle = new DatabaseSync(':memory:')
  stack.defer(() => handle.close())
  const database = fromSqlite(handle)
  await migrate(database, { tables: { outbox: 'outbox_event', admin: 'waybill', projection: 'projection' } })

  const auditLog = createAuditLog(database)
  const administration = { permits: () => true, auditLog }
  const projectionStore = createProjectionStore(database)
  const projector = createProjector(openOrders, { store: projectionStore, runtime })
  await projector.prepare()
  const dependencies: Dependencies = { isFraudCheckUp: false, isShippingFixed: false }
  const connector = createConnector({
    clusters: { default: kafka },
    bindings: {
      ...consoleBindings(dependencies),
      'open-orders': projector.binding({ groupId: 'open-orders', retryTopicNaming: 'PER_GROUP' }),
    },
    administration,
    instance: 'shop-1',
    runtime,
  })
  stack.defer(() => connector.stop({ deadlineMs: 2_000 }).catch(() => {}))

  const store = createOutboxStore(database)
  const outbox = stack.use(
    Outbox.singleNode({ events: writtenEvents, database, store, listeners: publishEvents(kafka, shopEvents), runtime }),
  )
  const deadEvents = createDeadEvents({ database, store, throwOnError: true, administration, outbox, runtime })
  const admin = stack.use(
    createAdmin({
      connector,
      clusters: { default: kafka },
      outboxes: { orders: { database, store, deadEvents, mode: 'SINGLE_NODE', health: () => outbox.health() } },
      projections: { open_orders: { projection: openOrders, store: projectionStore, binding: 'open-orders' } },
      operations: createOperationStore(database),
      deadLetters: createDeadLetterIndex(database),
      editing: { headers: 'CUSTOM' },
      catalogs: { shop: shopEvents },
      auditLog,
      metrics,
      thresholds,
      runtime,
    }),
  )
  const server = stack.use(createAdminServer(admin, { port }))
  await connector.start()
  await outbox.start()
  await server.start()
  await writeBrokenRecords(kafka)
  let version = 0
  const place = (order: Parameters<Parameters<typeof runTraffic>[1]>[0]): Promise<void> =>
    database.transaction(async (tx) => {
      await outbox.write(tx, 'order.placed', order, { aggregateVersion: 1 })
      // Nothing listens to this one: it is DEAD at once, and waits for an operator.
      if (++version % 100 === 1) await outbox.write(tx, 'stock.counted', { item: 'cup', pieces: version })
    })
  const traffic = runTraffic(kafka, place, dependencies, signal)
  onOpen(server.url, () => {
    dependencies.isShippingFixed = true
  })
  const operator = playOperator(server.url, connector, signal)
  await Promise.race([once(signal, 'abort'), traffic, operator.then(() => once(signal, 'abort'))])
  await traffic
}
