/**
 * The shop: places orders, and ships them when their events arrive. It may be killed at any moment and continues after a
 * restart. This is the program a user would write; the rest of the demo observes and kills it.
 */

import { appendFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { type AuditRow, createConnector, handleEvents } from '@waybill/connector'
import { applicationOperator, createTextLogger, describeThrown, NonRetryableError, runtimeWith } from '@waybill/core'
import { createKafkaClient, publishEvents } from '@waybill/kafka'
import { Outbox } from '@waybill/outbox'
import { parentTransport } from '@waybill/sim'
import { createInbox, createOutboxStore, migrate } from '@waybill/sql'
import { type Carrier, shopEvents } from './events.ts'
import type { PrintableRow, ShopCommand, ShopMessage, ShopTask } from './shop-task.ts'
import { withStore } from './store/open-store.ts'
import type { ShopStore } from './store/shop-store.ts'

const task = JSON.parse(process.argv[2] ?? '') as ShopTask
const tell = (message: ShopMessage): void => void process.send?.(message)
const stopping = new AbortController()
const replaying = Promise.withResolvers<void>()
process.on('message', (command: ShopCommand) => {
  if (command === 'stop') stopping.abort()
  else if (command === 'replay') replaying.resolve()
})

// Without its parent there is no receiver of its messages, and no cluster.
const onOrphaned = (): never => process.exit(1)
process.once('disconnect', onOrphaned)

process.on('SIGINT', () => {}) // Ctrl-C reaches both processes: the parent decides when this one ends.

try {
  await withStore(task.store, runShop)
  process.off('disconnect', onOrphaned)
  process.disconnect() // An open channel would keep this process alive.
} catch (error) {
  note(error instanceof Error ? String(error.stack) : describeThrown(error))
  process.send?.({ kind: 'broken', why: describeThrown(error) } satisfies ShopMessage, () => process.exit(1))
}

function note(text: string): void {
  appendFileSync(task.logFile, `${new Date().toISOString()} ${text}\n`)
}

async function runShop<Tx>(shop: ShopStore<Tx>): Promise<void> {
  const runtime = runtimeWith({ logger: createTextLogger({ write: note }) })
  const events = shopEvents(task.topic)
  const transport = task.brokers === null ? { transport: parentTransport() } : {}
  await using kafka = createKafkaClient({ brokers: task.brokers ?? task.clusterNodes, runtime, ...transport })
  await shop.createTables()
  await migrate(shop.database)

  await using outbox = Outbox.multiNode({
    events,
    database: shop.database,
    store: createOutboxStore(shop.database),
    listeners: publishEvents(kafka, events),
    // Rows claimed by a killed process wait this long for another one.
    claimLocking: { timeoutMs: 3_000 },
    intervalMs: 500,
    runtime,
  })

  let isCarrierBack = false
  const handler = handleEvents(
    events,
    {
      'order.placed': async ({ payload: { orderId, carrier } }, { tx, tier }) => {
        if (carrier === 'NONE') throw new NonRetryableError(`There is no carrier for ${orderId}.`)
        if ((carrier === 'AWAY' && !isCarrierBack) || (carrier === 'FLAKY' && tier === 0)) {
          tell({ kind: 'failed', orderId, tier })
          throw new Error(`The carrier of ${orderId} does not answer.`)
        }
        await shop.addShipment(tx, orderId)
      },
    },
    // The mark of a handled event commits together with the shipment, so a repeat ships nothing.
    { inbox: createInbox(shop.database) },
  )
  await using connector = createConnector({
    clusters: { default: kafka },
    bindings: {
      shipping: {
        topic: task.topic,
        groupId: `${task.topic}.shipping`,
        handler,
        // A restarted process takes the place of the killed one at once.
        staticMembership: true,
        instanceId: 'shop-1',
        parallelism: 'KEY',
        retry: {
          tier0: { maxAttempts: 2, initialBackoffMs: 20 },
          // The defaults are 10 s, 60 s and 300 s with three deliveries each: too long to watch.
          tiers: [
            { delayMs: 1_000, maxAttempts: 1 },
            { delayMs: 1_500, maxAttempts: 1 },
            { delayMs: 2_000, maxAttempts: 1 },
          ],
        },
      },
    },
    runtime,
  })
  await connector.start()
  await outbox.start()
  tell({ kind: 'open' })

  const stopped = new Promise((resolve) => stopping.signal.addEventListener('abort', resolve, { once: true }))
  await placeOrders()
  const replay = replaying.promise.then(replayDeadLetters)
  await Promise.race([stopped, replay]) // A failed replay fails the shop.
  await stopped
  await outbox.stop()
  await connector.stop()
  tell({ kind: 'stopped', audit: (await connector.audit()).map(printable) })

  async function replayDeadLetters(): Promise<void> {
    isCarrierBack = true
    const { replayed } = await connector.admin.replayDlt('shipping', { count: 10 }, applicationOperator('demo'))
    tell({ kind: 'replayed', count: replayed })
  }

  async function placeOrders(): Promise<void> {
    const { orders } = await shop.counts() // After a kill, continues after the last committed transaction.
    for (let number = orders + 1; number <= task.orders && !stopping.signal.aborted; number++) {
      const orderId = `order-${String(number).padStart(3, '0')}`
      await shop.database.transaction(async (tx) => {
        await shop.addOrder(tx, orderId)
        await outbox.write(tx, 'order.placed', { orderId, carrier: carrierOf(number) })
      })
      await sleep(1_000 / task.ordersPerSecond)
    }
  }
}

/** Every twelfth order is retried; two become dead letters, and one of these is shipped after its carrier is back. */
function carrierOf(number: number): Carrier {
  if (number === 20) return 'AWAY'
  if (number === 40) return 'NONE'
  return number % 12 === 0 ? 'FLAKY' : 'GOOD'
}

function printable({ topic, partition, problem, ...row }: AuditRow): PrintableRow {
  const [committed, ok, retried] = [Number(row.committed), Number(row.ok), Number(row.retried)]
  return { topic, partition, problem, committed, ok, retried, dead: Number(row.dead), skipped: Number(row.skipped) }
}
