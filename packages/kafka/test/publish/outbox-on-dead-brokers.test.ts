import { defineEvents } from '@waybill/core'
import { createKafkaClient, publishEvents } from '@waybill/kafka'
import { Outbox } from '@waybill/outbox'
import { createSimCluster, createVirtualRuntime, type SimCluster } from '@waybill/sim'
import { createSimSqlServer, type SimOutboxRow } from '@waybill/sim/internal'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'

const events = defineEvents({
  'order.placed': { topic: 'orders', schema: z.object({ orderId: z.string() }), key: (order) => order.orderId },
})
const drainTimeoutMs = 5_000
/** A signal is looked at every so often, and some statements follow. */
const moment = 300

/** A service whose brokers do not answer at the moment when it has an event to publish. */
function publishing(
  { mode, transactionalId }: { readonly mode: 'multiNode' | 'keyed'; readonly transactionalId?: string },
  disturb: (cluster: SimCluster) => Disposable,
): Promise<void> {
  const runtime = createVirtualRuntime(1)
  return runtime.run(async () => {
    const cluster = createSimCluster({ runtime })
    cluster.createTopic('orders')
    const server = createSimSqlServer({ runtime })
    const database = server.database()
    const rowOf = (id: string | null): SimOutboxRow | undefined => server.table.find(id ?? '')
    const open = () => {
      const kafka = createKafkaClient({ brokers: cluster.brokers, transport: cluster.transport('shop'), runtime })
      const listeners = publishEvents(kafka, events, { transactionalId })
      const claimLocking = { timeoutMs: 60_000 }
      const outbox = Outbox[mode]({
        events,
        database,
        store: server.store,
        listeners,
        runtime,
        drainTimeoutMs,
        claimLocking,
      })
      return { kafka, outbox }
    }

    const { kafka, outbox } = open()
    await outbox.start()
    const write = (orderId: string) => database.transaction((tx) => outbox.write(tx, 'order.placed', { orderId }))
    await outbox.published(await write('o-1'), { deadlineMs: 5_000 })
    const trouble = disturb(cluster)
    const id = await write('o-1')
    await runtime.timers.sleep(1_000)
    const start = runtime.clock.monotonic()
    await outbox.stop()
    expect(runtime.clock.monotonic() - start).toBeLessThanOrEqual(drainTimeoutMs + moment)
    expect(rowOf(id)).toMatchObject({ status: 'NEW', attempts: 0 })
    trouble[Symbol.dispose]()
    await kafka.close()

    const next = open()
    await next.outbox.start()
    await next.outbox.published(id, { deadlineMs: 120_000 })
    expect(rowOf(id)).toMatchObject({ status: 'DONE', attempts: 0 })
    await next.outbox.stop()
    const until = cluster.partition('orders', 0).highWatermark
    await using reader = next.kafka.reader([{ topic: 'orders', partition: 0, from: 0n, until }])
    const ids: (string | undefined)[] = []
    for (let records = await reader.next(100); records !== undefined; records = await reader.next(100))
      ids.push(...records.map(({ headers }) => headers.text('id')))
    expect(ids).toContain(id)
    await next.kafka.close()
  })
}

describe.each(['multiNode', 'keyed'] as const)('an outbox (%s) whose brokers do not answer', (mode) => {
  test.each([undefined, 'relay-1'])(
    'stops within its drain time, and the event is published by its next start (transactional id %s)',
    (transactionalId) =>
      publishing({ mode, ...(transactionalId === undefined ? {} : { transactionalId }) }, (cluster) => {
        cluster.killBroker(1)
        return { [Symbol.dispose]: () => cluster.restartBroker(1) }
      }),
  )

  test('stops within its drain time while a send is in flight, and does not count it as success', () =>
    publishing({ mode }, (cluster) => cluster.dropResponses({ api: 'Produce' })))
})
