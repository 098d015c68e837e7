/**
 * Two data sources in one process, each with its own outbox. An order is in one database and its invoice in the other; no
 * transaction spans both, so an event connects them.
 */

import { createMemoryMetrics, runtimeWith } from '@waybill/core'
import { createListenerRegistry } from '@waybill/outbox'
import { billingEvents, orderEvents } from './events.ts'
import { openSource } from './source.ts'

const metrics = createMemoryMetrics()
const runtime = runtimeWith({ metrics })

await using billing = await openSource({
  name: 'billing',
  table: 'CREATE TABLE invoices (event_id TEXT PRIMARY KEY, order_id TEXT NOT NULL)',
  events: billingEvents,
  listeners: createListenerRegistry().register('invoice.issued', async ({ payloadJson }) => {
    say(`invoice.issued ${payloadJson}`)
  }),
  runtime,
})

const invoiceEvents: (string | null)[] = []
const issueInvoice = (eventId: string, orderId: string): Promise<void> =>
  billing.database.transaction(async (tx) => {
    // A listener may be called again for the same event. The event id makes the second call a no-op.
    const { changes } = tx
      .prepare('INSERT INTO invoices (event_id, order_id) VALUES (?, ?) ON CONFLICT DO NOTHING')
      .run(eventId, orderId)
    if (changes === 1) invoiceEvents.push(await billing.outbox.write(tx, 'invoice.issued', { orderId }))
  })

await using orders = await openSource({
  name: 'orders',
  table: 'CREATE TABLE orders (order_id TEXT PRIMARY KEY)',
  events: orderEvents,
  listeners: createListenerRegistry().register('order.placed', async ({ eventId, aggregateId, payloadJson }) => {
    say(`order.placed ${payloadJson}`)
    await issueInvoice(eventId, aggregateId ?? '')
  }),
  runtime,
})

const placeOrder = (orderId: string): Promise<string | null> =>
  orders.database.transaction(async (tx) => {
    tx.prepare('INSERT INTO orders (order_id) VALUES (?)').run(orderId)
    return orders.outbox.write(tx, 'order.placed', { orderId })
  })

const arrival = { deadlineMs: 10_000 }
for (const orderId of ['o-1', 'o-2']) {
  await orders.outbox.published(await placeOrder(orderId), arrival)
  await billing.outbox.published(invoiceEvents.at(-1) ?? null, arrival)
}

// Rolled back in one database: no event is published, so nothing happens in the other.
await placeOrder('o-1').catch((error: Error) => say(`o-1 again: ${error.message}`))

// The handle of one database is not a transaction of the other, and is rejected.
await orders.database
  .transaction((tx) => billing.outbox.write(tx, 'invoice.issued', { orderId: 'o-3' }))
  .catch((error: Error) => say(`${error.name}: ${error.message}`))

for (const [name, { handle }] of Object.entries({ orders, billing })) {
  const { rows } = handle.prepare('SELECT count(*) AS rows FROM outbox_event').get() as { rows: number }
  const [hot, done] = ['enqueue.hot', 'dispatch.success'].map((metric) => metrics.total(`${name}.outbox.${metric}`))
  say(`${name}: ${rows} rows, ${name}.outbox.enqueue.hot ${hot}, ${name}.outbox.dispatch.success ${done}`)
}

function say(text: string): void {
  process.stdout.write(`${text}\n`)
}
