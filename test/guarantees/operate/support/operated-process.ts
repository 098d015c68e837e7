/** An instance of a service: a binding, the control of its fleet, and the admin API on a port of its own. */

import { createAdmin, createAdminServer } from '@waybill/admin'
import { createConnector, createFleetControl, type RecordHandler } from '@waybill/connector'
import { createMetricsStore, noopLogger, runtimeWith } from '@waybill/core'
import { createKafkaClient } from '@waybill/kafka'
import { createAuditLog, createDeadLetterIndex, createOperationStore, createSharedLog } from '@waybill/sql'
import { openDatabase } from '../../outbox/support/open-database.ts'
import { openJournal } from '../../support/journal-file.ts'
import type { OperatedMessage, OperatedTask, Order } from './operated-task.ts'

class CarrierError extends Error {}
class TotalError extends Error {}

const task = JSON.parse(process.argv[2] ?? '') as OperatedTask
const tell = (message: OperatedMessage): void => void (process.connected && process.send?.(message))
const note = openJournal(task.journal)

const handler: RecordHandler = ({ value }) => {
  const { order, carrier, total } = JSON.parse(String(value)) as Order
  if (task.version === '1.8.1' && carrier === 'north') throw new CarrierError(`502 from the carrier for order ${order}`)
  if (task.version !== '1.8.0' && !Number.isInteger(total))
    throw new TotalError(`total ${total} of order ${order} is no number of cents`)
  note({ order, total, instance: task.instance })
}

const metrics = createMetricsStore()
const runtime = runtimeWith({ logger: noopLogger, metrics })
const kafka = createKafkaClient({ brokers: task.brokers, runtime })
const open = openDatabase(task.database)
const control = createFleetControl({ log: createSharedLog(open.database), version: task.version, runtime })
const auditLog = createAuditLog(open.database)
const connector = createConnector({
  instance: task.instance,
  clusters: { default: kafka },
  control,
  runtime,
  administration: { auditLog, permits: () => true },
  bindings: {
    shipping: {
      topic: task.topic,
      groupId: task.groupId,
      sessionTimeoutMs: 6_000,
      heartbeatIntervalMs: 500,
      retry: { tier0: { maxAttempts: 2, initialBackoffMs: 1 }, tiers: [{ delayMs: 100, maxAttempts: 1 }] },
      handler,
    },
  },
})
const admin = createAdmin({
  connector,
  clusters: { default: kafka },
  metrics,
  operations: createOperationStore(open.database),
  operationLeaseMs: 6_000,
  auditLog,
  deadLetters: createDeadLetterIndex(open.database),
  editing: { headers: 'CUSTOM' },
  instance: task.instance,
  identify({ headers }) {
    const by = /^Bearer (\w+)$/.exec(headers['authorization'] ?? '')?.[1]
    return by === undefined ? null : { by }
  },
  authorize: ({ by }) => (by === 'ana' ? 'ALL' : 'READ_ONLY'),
  runtime,
})
const server = createAdminServer(admin, { port: 0, isIdentified: true })

const stopped = new Promise((resolve) => {
  process.once('SIGTERM', resolve)
  process.once('disconnect', () => process.exit(1))
})
await connector.start()
await server.start()
tell({ kind: 'LISTENING', url: server.url })
await stopped
await server.stop()
await connector.stop()
await control.stop()
await kafka.close()
await open[Symbol.asyncDispose]()
metrics[Symbol.dispose]()
process.exit(0)
