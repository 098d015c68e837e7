import {
  createEnvelope,
  createMemoryLogger,
  createMemoryMetrics,
  defineEvents,
  NonRetryableError,
  runtimeWith,
} from '@waybill/core'
import {
  createListenerRegistry,
  createOutboxDispatcher,
  createOutboxPoller,
  createOutboxWriter,
  EventDeadError,
  Outbox,
} from '@waybill/outbox'
import { createOutboxStore, fromMysql2, fromPg, migrate, type SqlDatabase } from '@waybill/sql'
import { describeWith } from '@waybill/test-support'
import { eventually } from '@waybill/testkit'
import { expect, test } from 'vitest'

const anything = { '~standard': { version: 1, vendor: 'test', validate: (value: unknown) => ({ value }) } } as const
const definitions = { 'thing.made': { topic: 'things', schema: anything, key: () => 'thing' } } as const

const thing = (eventId: string) => createEnvelope({ eventId, eventType: 'thing.made', payloadJson: '{}' })

/** Checks health and hand composition on a real database. */
function behaves<Tx>(database: SqlDatabase<Tx>): void {
  test('counts dead and delayed rows at its start, which a restart has not lost', async () => {
    const events = defineEvents(definitions)
    await migrate(database)
    const store = createOutboxStore(database)
    const listeners = createListenerRegistry().register('thing.made', async () => {
      throw new NonRetryableError('refused')
    })
    const open = () => {
      const metrics = createMemoryMetrics()
      const runtime = runtimeWith({ metrics, logger: createMemoryLogger() })
      return { metrics, outbox: Outbox.keyed({ events, database, store, listeners, runtime }) }
    }
    const first = open().outbox
    await first.start()
    const id = await database.transaction((tx) => first.write(tx, 'thing.made', {}))
    await expect(first.published(id, { deadlineMs: 10_000 })).rejects.toThrow(EventDeadError)
    const availableAt = Date.now() + 3_600_000
    await database.transaction((tx) => first.write(tx, 'thing.made', {}, { availableAt }))
    await first.stop()

    const { outbox, metrics } = open()
    await outbox.start()
    await eventually(() => expect(outbox.health().table).toMatchObject({ pending: 1, retrying: 0, dead: 1 }))
    expect([outbox.ready(), outbox.health().status, outbox.health().reasons[0]?.kind]).toEqual([
      true,
      'DEGRADED',
      'DEAD_EVENTS',
    ])
    const gauges = ['rows.pending', 'rows.retrying', 'rows.dead', 'lag.oldest.ms'].map((name) =>
      metrics.latest(`outbox.${name}`),
    )
    expect(gauges).toEqual([1, 0, 1, 0])
    await outbox.stop()
  })

  test('delivers by parts composed by hand, with claims and from commits', async () => {
    const table = 'composed'
    await migrate(database, { tables: { outbox: table, inbox: false } })
    const store = createOutboxStore(database, { table })
    const runtime = runtimeWith({ logger: createMemoryLogger() })
    const delivered: string[] = []
    const listeners = createListenerRegistry().register('thing.made', async ({ eventId }) => {
      delivered.push(eventId)
    })
    const dispatcher = createOutboxDispatcher({ database, store, listeners, runtime })
    const poller = createOutboxPoller({
      database,
      store,
      handler: dispatcher,
      runtime,
      claimLocking: { timeoutMs: 5_000 },
    })
    const writer = createOutboxWriter({ database, store, hook: dispatcher.writerHook, runtime })
    await database.transaction(() => writer.writeAll([thing('a'), thing('b')]))
    await dispatcher.start()
    expect(await poller.poll()).toBe('DRAINED')
    await eventually(() => expect(delivered.toSorted()).toEqual(['a', 'b']))
    await database.transaction(() => writer.write(thing('c')))
    await eventually(() => expect(delivered.toSorted()).toEqual(['a', 'b', 'c']))
    await poller.stop()
    await dispatcher.stop()
    const left = await database.connection((connection) => store.backlog(connection, { countUpTo: 10 }))
    expect([left.pending, left.dead]).toEqual([0, 0])
  })
}

describeWith('postgres')('an outbox on PostgreSQL', ({ postgres }) => {
  behaves(fromPg(postgres.pool))
})

describeWith('mysql')('an outbox on MySQL or MariaDB', ({ mysql }) => {
  behaves(fromMysql2(mysql.pool))
})
