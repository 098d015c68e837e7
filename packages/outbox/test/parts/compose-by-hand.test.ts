import { OptionsError, UnavailableError } from '@waybill/core'
import {
  createInFlightTracker,
  createOutboxDispatcher,
  createOutboxPoller,
  createOutboxWriter,
  createPurgeScheduler,
  Outbox,
  OutboxModeError,
  type PollHandler,
} from '@waybill/outbox'
import type { OutboxRow } from '@waybill/outbox/internal'
import { describe, expect, test } from 'vitest'
import { createHarness, lines, type OutboxHarness, orderEvent } from '../support/outbox-harness.ts'

const numbers = (from: number, to: number): number[] => Array.from({ length: to - from + 1 }, (_, at) => from + at)
const ordersOf = (from: number, to: number) => numbers(from, to).map((n) => orderEvent(n))

/** Dispatcher, poller and writer, as an application puts them together. */
function compose(harness: OutboxHarness, options: { readonly claims?: boolean; readonly workerCount?: number } = {}) {
  const { database, store, listeners, runtime } = harness.base
  const shared = { database, store, runtime }
  const { workerCount } = options
  const dispatcher = createOutboxDispatcher({ ...shared, listeners, workerCount })
  const claimLocking = options.claims === true ? { timeoutMs: 10_000 } : undefined
  const poller = createOutboxPoller({ ...shared, handler: dispatcher, claimLocking })
  const writer = createOutboxWriter({ ...shared, hook: dispatcher.writerHook })
  return { dispatcher, poller, writer }
}

/** A handler that keeps the rows it is given. */
function keeping(capacity?: number): PollHandler & { readonly rows: OutboxRow[] } {
  const rows: OutboxRow[] = []
  return {
    rows,
    handle: (_event, _attempts, row) => rows.push(row) > 0,
    ...(capacity === undefined ? {} : { availableCapacity: () => capacity - rows.length }),
  }
}

describe.each([false, true])('parts composed by hand (claims: %s)', (claims) => {
  test('deliver committed events at once, and find the rest in the table', async () => {
    const harness = createHarness()
    await harness.runtime.run(async () => {
      const { dispatcher, poller, writer } = compose(harness, { claims })
      await dispatcher.start()
      if (!claims) {
        await harness.outbox.transaction(() => writer.writeAll(ordersOf(1, 3)))
        await harness.until(() => harness.outbox.withStatus('DONE').length === 3)
      }
      harness.outbox.add(...ordersOf(4, 6))
      await poller.start()
      await harness.until(() => harness.outbox.withStatus('DONE').length === harness.outbox.rows.length)
      await poller.stop()
      await dispatcher.stop()
    })
    expect(harness.deliveredIds().toSorted()).toEqual((claims ? numbers(4, 6) : numbers(1, 6)).map((n) => `event-${n}`))
  })

  test.each(['poller first', 'dispatcher first'] as const)(
    'stop in either order without a duplicate or a loss: %s',
    async (order) => {
      const harness = createHarness()
      harness.behaviour = () => harness.runtime.timers.sleep(1_000)
      await harness.runtime.run(async () => {
        const { dispatcher, poller } = compose(harness, { claims, workerCount: 2 })
        await dispatcher.start()
        await poller.start()
        harness.outbox.add(...ordersOf(1, 40))
        await harness.until(() => harness.delivered.length === 4)
        const parts = order === 'poller first' ? [poller, dispatcher] : [dispatcher, poller]
        for (const part of parts) await part.stop()
        const { length: polls } = harness.outbox.calls.filter((call) => call.endsWith('Pending'))
        await harness.runtime.timers.sleep(60_000)
        expect(harness.outbox.calls.filter((call) => call.endsWith('Pending'))).toHaveLength(polls)
        // A new pair goes on where this one ended.
        harness.behaviour = async () => {}
        const next = compose(harness, { claims })
        await next.dispatcher.start()
        await next.poller.start()
        await harness.until(() => harness.outbox.withStatus('DONE').length === 40)
        await next.poller.stop()
        await next.dispatcher.stop()
      })
      const ids = harness.deliveredIds()
      expect(new Set(ids).size).toBe(40)
      // The drain lets listeners finish: those cut off in the queue were never started.
      expect(ids).toHaveLength(40)
    },
  )

  test('keep the leases of a stopped poller until the dispatcher has ended', async () => {
    const harness = createHarness()
    harness.behaviour = () => harness.runtime.timers.sleep(30_000)
    await harness.runtime.run(async () => {
      const { dispatcher, poller } = compose(harness, { claims })
      await dispatcher.start()
      await poller.start()
      harness.outbox.add(orderEvent(1))
      await harness.until(() => harness.delivered.length === 1)
      await poller.stop()
      await harness.runtime.timers.sleep(28_000)
      await dispatcher.stop()
      expect(harness.outbox.rows.map(({ status, attempts }) => [status, attempts])).toEqual([['DONE', 0]])
      expect(harness.metrics.total('outbox.finish.fenced')).toBe(0)
      const { length: calls } = harness.outbox.calls
      await harness.runtime.timers.sleep(60_000)
      expect(harness.outbox.calls).toHaveLength(calls)
    })
  })

  test('retry a failed event when it is due, not at the next interval', async () => {
    const harness = createHarness()
    harness.behaviour = async (_, { attempt }) => {
      if (attempt < 3) throw new Error('broken')
    }
    await harness.runtime.run(async () => {
      const { dispatcher, poller } = compose(harness, { claims })
      await dispatcher.start()
      await poller.start()
      harness.outbox.add(orderEvent(1))
      await harness.until(() => harness.outbox.withStatus('DONE').length === 1)
      const [first, , last] = harness.delivered
      expect((last?.at ?? 0) - (first?.at ?? 0)).toBeLessThan(2_000)
      await poller.stop()
      await dispatcher.stop()
    })
  })
})

test('two composed nodes with claims share a table, and a third of another mode does not start', async () => {
  const harness = createHarness()
  await harness.runtime.run(async () => {
    const nodes = [compose(harness, { claims: true }), compose(harness, { claims: true })]
    for (const { dispatcher, poller } of nodes) await Promise.all([dispatcher.start(), poller.start()])
    harness.outbox.add(...ordersOf(1, 200))
    await harness.until(() => harness.outbox.withStatus('DONE').length === 200)
    expect(harness.delivered).toHaveLength(200)
    await expect(Outbox.keyed(harness.base).start()).rejects.toThrow(OutboxModeError)
    await expect(compose(harness).poller.poll()).rejects.toThrow(OutboxModeError)
    for (const { dispatcher, poller } of nodes) {
      await poller.stop()
      await dispatcher.stop()
    }
  })
})

describe('a dispatcher', () => {
  test('needs a database, a store and listeners, and names what is missing', () => {
    expect(() => createOutboxDispatcher({} as never)).toThrow(OptionsError)
    for (const option of ['database', 'store', 'listeners'])
      expect(() => createOutboxDispatcher({} as never)).toThrow(`${option} is required`)
  })

  test('has the defaults of the specification: 4 workers, queues of 1,000, 10 attempts', async () => {
    const harness = createHarness()
    const { database, store, listeners, runtime } = harness.base
    const hung: (() => void)[] = []
    harness.behaviour = () => new Promise((resolve) => void hung.push(resolve))
    await runtime.run(async () => {
      const dispatcher = createOutboxDispatcher({ database, store, listeners, runtime })
      const rows = harness.outbox.add(...ordersOf(1, 2_100))
      expect(dispatcher.enqueueCold(rows[0] as never)).toBe(false)
      await dispatcher.start()
      expect(dispatcher.coldQueueRemainingCapacity()).toBe(1_000)
      const cold = rows.slice(0, 1_050).filter((row) => dispatcher.enqueueCold(row)).length
      const hot = rows.slice(1_050).filter((row) => dispatcher.enqueueHot(row)).length
      expect([cold, hot, dispatcher.coldQueueRemainingCapacity()]).toEqual([1_004, 1_000, 0])
      expect(harness.delivered).toHaveLength(4)
      const stopped = dispatcher.stop({ deadlineMs: 10_000 })
      await runtime.timers.sleep(4_999)
      expect(dispatcher.enqueueHot(rows[2_000] as never)).toBe(false)
      for (const resolve of hung.splice(0)) resolve()
      await runtime.timers.sleep(100)
      for (const resolve of hung.splice(0)) resolve()
      await stopped
    })
    // What the drain did not reach stays in the table.
    expect(harness.outbox.withStatus('NEW').length).toBeGreaterThan(2_000)
  })

  test('makes an event DEAD at its tenth failure', async () => {
    const harness = createHarness()
    harness.behaviour = async () => {
      throw new Error('broken')
    }
    await harness.runtime.run(async () => {
      const { dispatcher, poller } = compose(harness)
      await dispatcher.start()
      await poller.start()
      harness.outbox.add(orderEvent(1))
      while (harness.outbox.withStatus('DEAD').length === 0) await harness.runtime.timers.sleep(1_000)
      expect(harness.delivered).toHaveLength(10)
      await poller.stop()
      await dispatcher.stop()
    })
  })

  test('drops an event that is in flight, by the tracker it is given', async () => {
    const harness = createHarness()
    const { database, store, listeners, runtime } = harness.base
    const inFlight = createInFlightTracker({ runtime })
    await runtime.run(async () => {
      const dispatcher = createOutboxDispatcher({ database, store, listeners, runtime, inFlight })
      await dispatcher.start()
      const [row] = harness.outbox.add(orderEvent(1))
      expect(inFlight.tryAcquire('event-1')).toBe(true)
      expect(dispatcher.enqueueHot(row as never)).toBe(true)
      await runtime.timers.sleep(1_000)
      expect(harness.delivered).toEqual([])
      inFlight.release('event-1')
      dispatcher.enqueueHot(row as never)
      await dispatcher.stop()
    })
    expect(harness.deliveredIds()).toEqual(['event-1'])
  })

  test('counts committed events that found no room, and leaves them to the poller', async () => {
    const harness = createHarness()
    const { database, store, listeners, runtime } = harness.base
    await runtime.run(async () => {
      const dispatcher = createOutboxDispatcher({
        database,
        store,
        listeners,
        runtime,
        hotQueueCapacity: 2,
        workerCount: 0,
      })
      const writer = createOutboxWriter({ database, store, runtime, hook: dispatcher.writerHook })
      await dispatcher.start()
      await harness.outbox.transaction(() => writer.writeAll(ordersOf(1, 5)))
      expect(harness.metrics.total('outbox.enqueue.hot')).toBe(2)
      expect(harness.metrics.total('outbox.enqueue.hot.dropped')).toBe(3)
      expect(lines(harness, 'WARN')).toEqual(['Hot queue full; events left to the poller'])
      await dispatcher.stop()
    })
    expect(harness.outbox.withStatus('NEW')).toHaveLength(5)
  })

  test('delivers no event that a savepoint has undone', async () => {
    const harness = createHarness()
    harness.outbox.hasSavepoints = true
    await harness.runtime.run(async () => {
      const { dispatcher, writer } = compose(harness)
      await dispatcher.start()
      await harness.outbox.transaction(async () => {
        await writer.writeAll(ordersOf(1, 2))
        harness.outbox.rows.splice(0, 1) // ROLLBACK TO SAVEPOINT
      })
      await harness.until(() => harness.delivered.length === 1)
      await dispatcher.stop()
    })
    expect(harness.deliveredIds()).toEqual(['event-2'])
    expect(harness.outbox.withStatus('DONE')).toHaveLength(1)
  })
})

const pollerOf = ({ base }: OutboxHarness, handler: PollHandler, options: object = {}) =>
  createOutboxPoller({ database: base.database, store: base.store, runtime: base.runtime, handler, ...options })

describe('a poller', () => {
  test('needs a database, a store and a handler, and names what is missing', () => {
    for (const option of ['database', 'store', 'handler'])
      expect(() => createOutboxPoller({} as never)).toThrow(`${option} is required`)
    const harness = createHarness()
    for (const wrong of [{ batchSize: 0 }, { intervalMs: 0 }, { skipRecentMs: -1 }, { claimLocking: { timeoutMs: 0 } }])
      expect(() => pollerOf(harness, keeping(), wrong)).toThrow(OptionsError)
  })

  test('reads 50 rows every five seconds, however young, by default', async () => {
    const harness = createHarness()
    const handler = keeping()
    await harness.runtime.run(async () => {
      const poller = pollerOf(harness, handler)
      harness.outbox.add(...ordersOf(1, 30))
      await poller.start()
      await harness.runtime.timers.sleep(1)
      expect(handler.rows).toHaveLength(30)
      harness.outbox.add(...ordersOf(31, 60))
      await harness.runtime.timers.sleep(4_990)
      expect(handler.rows).toHaveLength(30)
      await harness.runtime.timers.sleep(10)
      expect(handler.rows).toHaveLength(60)
      for (const row of handler.rows) row.release()
      await poller.stop()
    })
  })

  test('runs one cycle by hand, without start, and none after stop', async () => {
    const harness = createHarness()
    const handler = keeping()
    await harness.runtime.run(async () => {
      const poller = pollerOf(harness, handler)
      harness.outbox.add(...ordersOf(1, 51))
      expect(await poller.poll()).toBe('FULL')
      expect(handler.rows).toHaveLength(50)
      await harness.runtime.timers.sleep(6_000)
      expect(handler.rows).toHaveLength(50)
      expect(await poller.poll()).toBe('DRAINED')
      expect(handler.rows.map(({ seq }) => Number(seq))).toEqual(numbers(1, 51))
      for (const row of handler.rows) row.release()
      await poller.stop()
      expect(await poller.poll()).toBe('SKIPPED')
    })
  })

  test('asks nothing without room, and takes no more rows than there is room for', async () => {
    const harness = createHarness()
    const handler = keeping(7)
    await harness.runtime.run(async () => {
      const poller = pollerOf(harness, handler)
      harness.outbox.add(...ordersOf(1, 20))
      await poller.poll()
      expect(handler.rows).toHaveLength(7)
      harness.outbox.calls.length = 0
      expect(await poller.poll()).toBe('SKIPPED')
      expect(harness.outbox.calls.filter((call) => call === 'pollPending')).toEqual([])
      for (const row of handler.rows) row.release()
      await poller.stop()
    })
  })

  test('ends the cycle at the first row that its handler refuses, and offers it again', async () => {
    const harness = createHarness()
    const offered: string[] = []
    let room = 2
    const handler: PollHandler = {
      handle: ({ eventId }, _attempts, row) => {
        offered.push(eventId)
        row.release()
        return room-- > 0
      },
    }
    await harness.runtime.run(async () => {
      const poller = pollerOf(harness, handler, { claimLocking: { timeoutMs: 10_000 } })
      harness.outbox.add(...ordersOf(1, 5))
      await poller.poll()
      expect(offered).toEqual(['event-1', 'event-2', 'event-3'])
      await harness.runtime.timers.sleep(100)
      // All claims were released: other nodes may take the rows at once.
      expect(harness.outbox.rows.filter(({ lockedBy }) => lockedBy !== null)).toEqual([])
      await poller.stop()
    })
  })

  test('marks a row that cannot be read DEAD, and goes on with the others', async () => {
    const harness = createHarness()
    const handler = keeping()
    await harness.runtime.run(async () => {
      const poller = pollerOf(harness, handler)
      const rows = harness.outbox.add(...ordersOf(1, 3))
      if (rows[1] !== undefined) rows[1].isBroken = true
      await poller.poll()
      await harness.until(() => harness.outbox.withStatus('DEAD').length === 1)
      expect(handler.rows.map(({ eventId }) => eventId)).toEqual(['event-1', 'event-3'])
      for (const row of handler.rows) row.release()
      await poller.stop()
    })
  })

  test('lets a handler of your own settle rows in the store, under the fence of its claim', async () => {
    const harness = createHarness()
    const { database, store } = harness.base
    const handler = keeping()
    await harness.runtime.run(async () => {
      const poller = pollerOf(harness, handler, { claimLocking: { timeoutMs: 10_000 } })
      harness.outbox.add(...ordersOf(1, 2))
      await poller.poll()
      // The claim is renewed until the row is released.
      await harness.runtime.timers.sleep(60_000)
      for (const row of handler.rows) {
        await database.connection((c) => store.markDone(c, [row], row.fence, { whenDone: 'KEEP' }))
        row.release()
      }
      await poller.stop()
    })
    expect(harness.outbox.withStatus('DONE')).toHaveLength(2)
  })

  test('records the age of the oldest row it read', async () => {
    const harness = createHarness()
    const handler = keeping()
    await harness.runtime.run(async () => {
      const poller = pollerOf(harness, handler)
      await poller.poll()
      expect(harness.metrics.latest('outbox.lag.oldest.ms')).toBe(0)
      await poller.stop()
    })
  })
})

describe('a tracker', () => {
  test('holds an event once, until it is released', () => {
    const tracker = createInFlightTracker()
    expect([tracker.tryAcquire('a'), tracker.tryAcquire('a'), tracker.tryAcquire('b')]).toEqual([true, false, true])
    tracker.release('a')
    tracker.release('unknown')
    expect(tracker.tryAcquire('a')).toBe(true)
  })

  test('lets a stale event be taken again, if it has an expiry', async () => {
    const { runtime } = createHarness()
    const tracker = createInFlightTracker({ ttlMs: 1_000, runtime })
    tracker.tryAcquire('a')
    await runtime.advance(999)
    expect(tracker.tryAcquire('a')).toBe(false)
    await runtime.advance(1)
    expect(tracker.tryAcquire('a')).toBe(true)
  })

  test('keeps events released during a query in flight until it ends', async () => {
    const tracker = createInFlightTracker()
    tracker.tryAcquire('a')
    await tracker.duringQuery(async () => {
      tracker.release('a')
      expect(tracker.tryAcquire('a')).toBe(false)
    })
    expect(tracker.tryAcquire('a')).toBe(true)
  })
})

describe('a purge scheduler', () => {
  const day = 86_400_000

  test('deletes DONE rows after 7 days, in batches of 500 and hourly, by default', async () => {
    const harness = createHarness()
    const { database, store, runtime } = harness.base
    await runtime.run(async () => {
      const rows = harness.outbox.add(...ordersOf(1, 1_200))
      for (const row of rows) Object.assign(row, { status: 'DONE', doneAt: runtime.clock.now() })
      const purge = createPurgeScheduler({ database, store, runtime })
      expect(await purge.runOnce()).toBe(0)
      await runtime.timers.sleep(7 * day + 1)
      harness.outbox.calls.length = 0
      expect(await purge.runOnce()).toBe(1_200)
      expect(harness.outbox.calls.filter((call) => call === 'purge')).toHaveLength(3)
      await purge.start()
      harness.outbox.calls.length = 0
      await runtime.timers.sleep(10 * 3_600_000)
      const { length: runs } = harness.outbox.calls.filter((call) => call === 'purge')
      expect([10, 11]).toContain(runs)
      await purge.stop()
    })
  })

  test('deletes by age where asked to, and not by both', async () => {
    const harness = createHarness()
    const { database, store, runtime } = harness.base
    expect(() => createPurgeScheduler({ database, store, afterMs: day, doneAfterMs: day })).toThrow('afterMs cannot be')
    await runtime.run(async () => {
      harness.outbox.add(...ordersOf(1, 3))
      await runtime.timers.sleep(day + 1)
      expect(await createPurgeScheduler({ database, store, runtime, afterMs: day }).runOnce()).toBe(3)
    })
  })
})

describe('an outbox', () => {
  test.each(['singleNode', 'multiNode'] as const)(
    'of %s stops polling first, then delivers what is queued',
    async (mode) => {
      const harness = createHarness()
      harness.behaviour = () => harness.runtime.timers.sleep(1_000)
      await harness.runtime.run(async () => {
        const outbox =
          mode === 'singleNode'
            ? Outbox.singleNode({ ...harness.base, batchSize: 6, workerCount: 2 })
            : Outbox.multiNode({ ...harness.base, batchSize: 6, workerCount: 2, claimLocking: { timeoutMs: 30_000 } })
        harness.outbox.add(...ordersOf(1, 6))
        await outbox.start()
        await harness.until(() => harness.delivered.length === 2)
        harness.outbox.add(...ordersOf(7, 12))
        harness.outbox.calls.length = 0
        await outbox.stop()
        const { calls } = harness.outbox
        expect(calls.lastIndexOf(mode === 'singleNode' ? 'pollPending' : 'claimPending')).toBeLessThan(
          calls.indexOf('markDone'),
        )
      })
      expect(harness.outbox.withStatus('DONE')).toHaveLength(6)
      expect(harness.outbox.withStatus('NEW')).toHaveLength(6)
    },
  )

  test('whose start fails in its last part leaves nothing running, and rejects with that error', async () => {
    const harness = createHarness()
    harness.outbox.add(orderEvent(1))
    await harness.runtime.run(async () => {
      const outbox = Outbox.multiNode({
        ...harness.base,
        claimLocking: { timeoutMs: 30_000 },
        wakeUp: {
          announce: async () => {},
          listen: async () => {
            throw new Error('LISTEN is not permitted')
          },
        },
      })
      await outbox.start().catch((error: unknown) => expect(String(error)).toContain('LISTEN is not permitted'))
      if (outbox.state === 'RUNNING') await outbox.stop()
      const { length: calls } = harness.outbox.calls
      await harness.runtime.timers.sleep(120_000)
      expect(harness.outbox.calls).toHaveLength(calls)
    })
  })
})

test('parts composed by hand let an event wait for an unavailable destination without an attempt', async () => {
  const harness = createHarness()
  const backAt = 600_000
  harness.behaviour = async () => {
    if (harness.runtime.clock.monotonic() < backAt) throw new UnavailableError('no broker answers')
  }
  await harness.runtime.run(async () => {
    const { dispatcher, poller } = compose(harness)
    await dispatcher.start()
    await poller.start()
    harness.outbox.add(...ordersOf(1, 20))
    await harness.runtime.timers.sleep(backAt)
    expect(harness.outbox.rows.filter(({ attempts }) => attempts > 0)).toEqual([])
    // One probe at a time, not every event each time.
    expect(harness.delivered.length).toBeLessThan(100)
    await harness.runtime.timers.sleep(60_000)
    expect(harness.outbox.withStatus('DONE')).toHaveLength(20)
    await poller.stop()
    await dispatcher.stop()
  })
})
