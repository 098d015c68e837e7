import { createEnvelope, createMemoryLogger, type EventEnvelope, PermissionError } from '@waybill/core'
import { Outbox } from '@waybill/outbox'
import { shardOf } from '@waybill/outbox/internal'
import { createVirtualRuntime } from '@waybill/sim'
import { expect, test } from 'vitest'
import { MemoryOutbox } from '../support/memory-outbox.ts'
import { events } from '../support/outbox-harness.ts'

function eventOf(key: string, name: string): EventEnvelope {
  return createEnvelope({ eventType: name, aggregateType: 'order', aggregateId: key, payloadJson: '{}' })
}

/** Another key of the same shard: a shard is what is read, and what is complete. */
const neighbour = Array.from({ length: 1_000 }, (_, n) => `neighbour-${n}`).find(
  (key) => shardOf(eventOf(key, 'any')) === shardOf(eventOf('order', 'any')),
) as string

/** A node, and transactions of others that the test ends. */
function setup() {
  const logger = createMemoryLogger()
  const runtime = createVirtualRuntime(1, { logger })
  const table = new MemoryOutbox(runtime)
  const delivered: string[] = []
  const outbox = Outbox.keyed({
    events,
    database: table,
    store: table.store,
    runtime,
    purge: false,
    intervalMs: 10,
    listeners: {
      listenerFor:
        () =>
        async ({ eventType }) => {
          delivered.push(eventType)
          // While it is pending, reads begin above it.
          if (eventType === 'long') await runtime.timers.sleep(5_000)
        },
    },
  })
  const open = async (...written: readonly EventEnvelope[]) => {
    const { tx, ...ends } = table.open()
    await table.store.insertNew(tx.context.currentConnection(), written, { lease: null, availableAt: null })
    return ends
  }
  return { logger, runtime, table, delivered, outbox, open }
}

/** Looks from the start come every second, and find everything: most of these fall between two of them. */
const offsets = [100, 300, 500, 700, 900]

test.each(offsets)(
  'I7 after a fail-over that gives numbers anew, an event that commits late keeps its place (%i ms)',
  async (ms) => {
    const { runtime, table, delivered, outbox, open } = setup()
    await runtime.run(async () => {
      await outbox.start()
      table.add(eventOf(neighbour, 'before'))
      const lost = await open(...Array.from({ length: 30 }, (_, n) => eventOf('order', `lost ${n}`)))
      await runtime.timers.sleep(2_000)
      lost.rollback()
      table.failOver()
      const late = await open(eventOf('order', 'first'))
      await runtime.timers.sleep(500)
      table.add(eventOf(neighbour, 'long'))
      await runtime.timers.sleep(500 + ms)
      late.commit()
      table.add(eventOf('order', 'second'))
      await runtime.timers.sleep(5_000)
      await outbox.stop()
    })
    expect(delivered).toEqual(['before', 'long', 'first', 'second'])
  },
)

test.each(offsets)(
  'I7 without the right to see open transactions order is kept, and it is said once (%i ms)',
  async (ms) => {
    const { runtime, table, delivered, outbox, open, logger } = setup()
    table.before = (call) => {
      if (call === 'openNumbers') throw new PermissionError('You may not see it.')
    }
    await runtime.run(async () => {
      await outbox.start()
      const late = await open(eventOf('order', 'first'))
      table.add(eventOf(neighbour, 'long'))
      await runtime.timers.sleep(2_000 + ms)
      late.commit()
      table.add(eventOf('order', 'second'))
      await runtime.timers.sleep(3_000)
      await outbox.stop()
    })
    expect(delivered).toEqual(['long', 'first', 'second'])
    expect(table.calls.filter((call) => call === 'openNumbers')).toHaveLength(1)
    const told = logger.lines.filter(({ level }) => level === 'WARN' || level === 'ERROR').map(({ text }) => text)
    expect(told).toEqual(['Open transactions not visible to this user; reads scan further back'])
  },
)
