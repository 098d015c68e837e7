import { createEnvelope, type EventEnvelope, type Metrics, type Runtime, UnavailableError } from '@waybill/core'
import { Outbox } from '@waybill/outbox'
import { describe, expect, test } from 'vitest'
import { createHarness, type OutboxHarness } from '../support/outbox-harness.ts'

/** The smallest bound that the options accept. */
const maxBufferedBytes = 65_536
const readBytes = maxBufferedBytes / 8

function sizedEvent(n: number, bytes: number, key = `order-${n}`): EventEnvelope {
  return createEnvelope({
    eventId: `event-${n}`,
    eventType: 'order.placed',
    aggregateId: key,
    payloadJson: `"${'x'.repeat(bytes - 2)}"`,
  })
}

type AnyOutbox = Pick<Outbox<never, never>, 'start' | 'stop' | 'writer'>

const timeoutMs = 30_000
type Base = Omit<OutboxHarness['base'], 'runtime'> & { readonly runtime: Runtime }
const modes: Readonly<Record<string, (base: Base) => AnyOutbox>> = {
  singleNode: (base) => Outbox.singleNode({ ...base, maxBufferedBytes, intervalMs: 200 }),
  multiNode: (base) => Outbox.multiNode({ ...base, maxBufferedBytes, intervalMs: 200, claimLocking: { timeoutMs } }),
  ordered: (base) => Outbox.ordered({ ...base, maxBufferedBytes, intervalMs: 200 }),
  keyed: (base) => Outbox.keyed({ ...base, maxBufferedBytes }),
  leasing: (base) => Outbox.leasing({ ...base, maxBufferedBytes }),
}

/** Each event has a destination of its own. */
function destinationsOf({ eventId }: EventEnvelope): string[] {
  return [eventId]
}

/** Runs an outbox in virtual time until the test's part is over, and returns the most bytes it measured. */
async function running(
  mode: string,
  during: (harness: OutboxHarness, outbox: AnyOutbox) => Promise<void>,
): Promise<number> {
  const harness = createHarness()
  let most = 0
  const metrics: Metrics = {
    ...harness.metrics,
    gauge: (name, labels, value) => {
      if (name === 'outbox.buffered.bytes') most = Math.max(most, value)
      harness.metrics.gauge(name, labels, value)
    },
  }
  const listeners = { ...harness.listeners, destinationsOf }
  const base = { ...harness.base, listeners, runtime: { ...harness.runtime, metrics } }
  const outbox = modes[mode]?.(base) as AnyOutbox
  await harness.runtime.run(async () => {
    await outbox.start()
    await during(harness, outbox)
    await outbox.stop()
  })
  return most
}

describe.each(Object.keys(modes))('Outbox.%s', (mode) => {
  test('I24 keeps the bytes in memory below its bound and one read, and delivers everything once', async () => {
    const most = await running(mode, async (harness) => {
      harness.behaviour = () => harness.runtime.timers.sleep(10)
      harness.outbox.add(...Array.from({ length: 60 }, (_, n) => sizedEvent(n, 5_000, `order-${n % 9}`)))
      await harness.until(() => harness.delivered.length === 60)
      expect(new Set(harness.deliveredIds()).size).toBe(60)
    })
    expect(most).toBeGreaterThanOrEqual(readBytes)
    expect(most).toBeLessThanOrEqual(maxBufferedBytes + 2 * readBytes + 5_000)
  })

  test('I24 delivers events that are larger than the whole bound', async () => {
    await running(mode, async (harness) => {
      harness.behaviour = () => harness.runtime.timers.sleep(10)
      harness.outbox.add(...Array.from({ length: 9 }, (_, n) => sizedEvent(n, n % 3 === 0 ? 100_000 : 10)))
      await harness.until(() => harness.delivered.length === 9)
    })
  })

  test('I24 has no bytes in memory once everything is settled', async () => {
    const harness = createHarness()
    const outbox = modes[mode]?.(harness.base) as AnyOutbox
    await harness.runtime.run(async () => {
      await outbox.start()
      harness.outbox.add(...Array.from({ length: 9 }, (_, n) => sizedEvent(n, 9_000)))
      await harness.until(() => harness.delivered.length === 9)
      await harness.runtime.timers.sleep(10_000)
      await outbox.stop()
    })
    expect(harness.metrics.latest('outbox.buffered.bytes')).toBe(0)
  })
})

describe.each(['singleNode', 'multiNode', 'keyed', 'leasing'])('Outbox.%s', (mode) => {
  test('L2 delivers small events while listeners hold large ones', async () => {
    await running(mode, async (harness) => {
      const stuck = Promise.withResolvers<void>()
      harness.behaviour = async ({ payloadJson }) => {
        if (payloadJson.length > 1_000) await stuck.promise
      }
      harness.outbox.add(...Array.from({ length: 3 }, (_, n) => sizedEvent(n, 15_000, 'slow')))
      await harness.runtime.timers.sleep(1_000)
      harness.outbox.add(...Array.from({ length: 40 }, (_, n) => sizedEvent(100 + n, 500)))
      await harness.until(() => harness.delivered.filter(({ eventId }) => eventId.length > 8).length === 40)
      stuck.resolve()
      await harness.until(() => harness.delivered.length === 43)
    })
  })
})

describe.each(['singleNode', 'multiNode', 'keyed'])('Outbox.%s', (mode) => {
  test('I24 retries more bytes than fit into memory', async () => {
    await running(mode, async (harness) => {
      harness.behaviour = async (_, { attempt }) => {
        await harness.runtime.timers.sleep(5)
        if (attempt === 1) throw new Error('not yet')
      }
      harness.outbox.add(...Array.from({ length: 40 }, (_, n) => sizedEvent(n, 9_000)))
      await harness.until(() => harness.outbox.withStatus('DONE').length === 40)
    })
  })
})

describe('the hot path', () => {
  test('I24 leaves a transaction that is larger than half of the bound to the poller', async () => {
    await running('singleNode', async (harness, { writer }) => {
      await harness.outbox.transaction(() => writer.writeAll(Array.from({ length: 5 }, (_, n) => sizedEvent(n, 7_000))))
      expect(harness.metrics.total('outbox.enqueue.hot.dropped')).toBe(5)
      await harness.outbox.transaction(() => writer.writeAll([sizedEvent(10, 7_000)]))
      expect(harness.metrics.total('outbox.enqueue.hot.dropped')).toBe(5)
      await harness.until(() => harness.delivered.length === 6)
    })
  })

  test('I24 counts the events of open transactions, and frees their bytes after a rollback', async () => {
    const harness = createHarness()
    const outbox = modes['singleNode']?.(harness.base) as AnyOutbox
    await harness.runtime.run(async () => {
      await outbox.start()
      await harness.outbox
        .transaction(async () => {
          await outbox.writer.writeAll(Array.from({ length: 4 }, (_, n) => sizedEvent(n, 8_000)))
          await outbox.writer.writeAll([sizedEvent(4, 8_000)])
          // The poller is not stopped by what a transaction holds.
          harness.outbox.add(...Array.from({ length: 20 }, (_, n) => sizedEvent(100 + n, 8_000)))
          await harness.until(() => harness.delivered.length === 20)
          throw new Error('rolled back on purpose')
        })
        .catch(() => {})
      await harness.outbox.transaction(() => outbox.writer.writeAll([sizedEvent(5, 30_000)]))
      await harness.until(() => harness.delivered.length === 21)
      expect(harness.metrics.total('outbox.enqueue.hot.dropped')).toBe(0)
      await outbox.stop()
    })
  })
})

test.each(['singleNode', 'multiNode', 'keyed', 'leasing'])(
  'I24 in %s reads no probe while memory is full, and one as soon as there is room',
  async (mode) => {
    const [away, slow] = [sizedEvent(1, 50_000), sizedEvent(2, 70_000)]
    const most = await running(mode, async (harness) => {
      const { runtime, outbox: table } = harness
      let isAway = true
      harness.behaviour = async ({ eventId }) => {
        if (eventId === slow.eventId) await runtime.timers.sleep(30_000)
        else if (isAway) throw new UnavailableError('The broker does not respond.')
      }
      table.add(away)
      await harness.until(() => harness.delivered.length === 1)
      table.add(slow)
      await harness.until(() => table.withStatus('DONE').length === 1)
      isAway = false
      await harness.until(() => table.withStatus('DONE').length === 2)
    })
    expect(most).toBeLessThan(70_000 + 1_000)
  },
)
