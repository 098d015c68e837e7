import { DatabaseSync } from 'node:sqlite'
import { createConnector } from '@waybill/connector'
import { createMetricsStore, defineEvents, NonRetryableError } from '@waybill/core'
import { createKafkaClient } from '@waybill/kafka'
import { createDeadEvents, createListenerRegistry, Outbox } from '@waybill/outbox'
import { createSimCluster, createVirtualRuntime } from '@waybill/sim'
import { createOutboxStore, fromSqlite, migrate } from '@waybill/sql'
import { z } from 'zod'
import { RecordedSeries } from './recorded-series.ts'

/**
 * Runs a connector and an outbox through trouble and back, in virtual time. Returns the recorded series and what has to fire
 * at each time, as a test of promtool.
 */
export async function recordTrouble(ruleFile: string): Promise<string> {
  const base = createVirtualRuntime(11)
  using store = createMetricsStore({ runtime: base })
  const runtime = { ...base, metrics: store }
  return await base.run(async () => {
    using series = new RecordedSeries(store, base)
    const firing: { at: string; alerts: string[] }[] = []
    const expectFiring = (...alerts: string[]): void => void firing.push({ at: series.now, alerts: alerts.toSorted() })
    const schema = z.object({ orderId: z.string() })
    const events = defineEvents({
      'order.placed': { topic: 'orders.events', schema, key: ({ orderId }: { orderId: string }) => orderId },
    })
    const database = fromSqlite(new DatabaseSync(':memory:'))
    await migrate(database)
    const outboxStore = createOutboxStore(database)
    let isBroken = false
    const outbox = Outbox.singleNode({
      events,
      database,
      store: outboxStore,
      listeners: createListenerRegistry().register('order.placed', async () => {
        if (isBroken) throw new NonRetryableError('refused')
      }),
      metricsPrefix: 'billing.outbox',
      intervalMs: 10_000,
      runtime,
    })
    const cluster = createSimCluster({ runtime })
    cluster.createTopic('orders.events')
    const kafka = createKafkaClient({ brokers: cluster.brokers, transport: cluster.transport('shop'), runtime })
    const connector = createConnector({
      clusters: { default: kafka },
      bindings: {
        shipping: {
          topic: 'orders.events',
          groupId: 'shipping',
          handler: () => {
            if (isBroken) throw new NonRetryableError('refused')
          },
        },
      },
      runtime,
    })
    await outbox.start()
    await connector.start()
    const producer = kafka.producer('EVENT')
    const trade = async (minutes: number): Promise<void> => {
      for (let second = 0; second < minutes * 60; second += 4) {
        await producer.send({ topic: 'orders.events', key: null, value: Buffer.from('{}') })
        await base.timers.sleep(4_000)
      }
    }
    await trade(2)
    expectFiring()

    isBroken = true
    await database.transaction((tx) => outbox.write(tx, 'order.placed', { orderId: 'o-1' }))
    await trade(6)
    expectFiring('WaybillDeadLettersWarning', 'WaybillOutboxDead')
    isBroken = false
    const dead = createDeadEvents({ database, store: outboxStore, administration: { permits: () => true }, runtime })
    await dead.replayAll({}, { by: 'anna', reason: 'fixed' })
    await trade(10)
    expectFiring()

    await connector.pause('shipping')
    await trade(12)
    expectFiring('WaybillLagSecondsWarning', 'WaybillNotConsuming')
    await connector.resume('shipping')
    await trade(10)
    expectFiring()
    await connector.stop()
    await outbox.stop()
    await kafka.close()
    return series.promtoolTest(ruleFile, firing)
  })
}
