import { ArgumentError, StateError } from '@waybill/core'
import { exponentialRetry, Outbox, SoleNodeError } from '@waybill/outbox'
import { type PoolOptions, soleNodeShard } from '@waybill/outbox/internal'
import { describe, expect, test } from 'vitest'
import { createHarness, lines, type OutboxHarness, orderEvent } from '../support/outbox-harness.ts'

function node(harness: OutboxHarness, options: Partial<PoolOptions<never, never>> = {}) {
  return Outbox.singleNode({ ...harness.base, ...options })
}

test('delivers hot without claims, and no poll takes a row that is in flight here', async () => {
  const harness = createHarness()
  harness.behaviour = () => harness.runtime.timers.sleep(2_000)
  const outbox = node(harness, { intervalMs: 10 })
  await harness.runtime.run(async () => {
    await outbox.start()
    for (let n = 0; n < 10; n++) await harness.outbox.transaction((tx) => outbox.write(tx, 'order.placed', { n }))
    expect(harness.outbox.rows.map(({ lockedBy }) => lockedBy)).toEqual(Array.from({ length: 10 }, () => null))
    await harness.until(() => harness.outbox.withStatus('DONE').length === 10)
    await outbox.stop()
  })
  expect(new Set(harness.deliveredIds()).size).toBe(10)
  expect(harness.delivered.length).toBe(10)
  expect(harness.outbox.calls).not.toContain('claimPending')
})

test("a row settled while a poll was under way is not delivered again by the poll's old answer", async () => {
  const harness = createHarness()
  const outbox = node(harness, { intervalMs: 20 })
  harness.behaviour = () => harness.runtime.timers.sleep(5)
  harness.outbox.after = async (call) => {
    if (call === 'pollPending') await harness.runtime.timers.sleep(50)
  }
  await harness.runtime.run(async () => {
    await outbox.start()
    for (let n = 0; n < 40; n++) {
      await harness.outbox.transaction((tx) => outbox.write(tx, 'order.placed', { n }))
      await harness.runtime.timers.sleep(7)
    }
    await harness.until(() => harness.outbox.withStatus('DONE').length === 40)
    await outbox.stop()
  })
  expect(harness.delivered.length).toBe(40)
})

test('drains a backlog larger than its queues while slow listeners hold rows in flight', async () => {
  const harness = createHarness()
  harness.behaviour = () => harness.runtime.timers.sleep(10)
  harness.outbox.add(...Array.from({ length: 500 }, (_, n) => orderEvent(n)))
  const outbox = node(harness, { batchSize: 20, coldQueueCapacity: 30, workerCount: 16 })
  await harness.runtime.run(async () => {
    await outbox.start()
    await harness.until(() => harness.outbox.withStatus('DONE').length === 500)
    expect(harness.runtime.clock.monotonic()).toBeLessThan(5_000)
    await outbox.stop()
  })
  expect(harness.delivered.length).toBe(500)
  expect(harness.metrics.latest('outbox.queue.cold.depth')).toBe(0)
})

test('a queue smaller than a page is filled again whenever half of it is free', async () => {
  const harness = createHarness()
  harness.behaviour = () => harness.runtime.timers.sleep(1)
  harness.outbox.add(...Array.from({ length: 100 }, (_, n) => orderEvent(n)))
  const outbox = node(harness, { batchSize: 50, coldQueueCapacity: 4, workerCount: 1 })
  await harness.runtime.run(async () => {
    await outbox.start()
    await harness.until(() => harness.outbox.withStatus('DONE').length === 100)
    expect(harness.runtime.clock.monotonic()).toBeLessThan(1_000)
    await outbox.stop()
  })
})

test('retries in flight, which each look answers again, keep neither new rows nor other retries back', async () => {
  const harness = createHarness()
  const stuck = Promise.withResolvers<void>()
  harness.behaviour = (event) => (Number(event.eventId.slice(6)) < 60 ? stuck.promise : Promise.resolve())
  const waiting = harness.outbox.add(...Array.from({ length: 80 }, (_, n) => orderEvent(n)))
  for (const row of waiting) Object.assign(row, { status: 'RETRY', attempts: 1 })
  harness.outbox.add(...Array.from({ length: 20 }, (_, n) => orderEvent(100 + n)))
  const outbox = node(harness, { batchSize: 10, workerCount: 100, intervalMs: 1_000 })
  await harness.runtime.run(async () => {
    await outbox.start()
    await harness.runtime.timers.sleep(100)
    expect(harness.outbox.withStatus('DONE').length).toBe(40)
    stuck.resolve()
    await harness.until(() => harness.outbox.withStatus('DONE').length === 100)
    await outbox.stop()
  })
  expect(harness.delivered.length).toBe(100)
})

test('a transaction that commits late is found although later rows were delivered before', async () => {
  const harness = createHarness()
  const outbox = node(harness, { intervalMs: 1_000 })
  await harness.runtime.run(async () => {
    const late = harness.outbox.open()
    await outbox.write(late.tx, 'order.placed', {})
    await outbox.start()
    harness.outbox.add(...Array.from({ length: 20 }, (_, n) => orderEvent(n)))
    await harness.runtime.timers.sleep(20_000)
    expect(harness.delivered.length).toBe(20)
    late.commit()
    await harness.runtime.timers.sleep(31_000)
    expect(harness.delivered.length).toBe(21)
    await outbox.stop()
  })
})

describe("the table is one node's alone", () => {
  test('a second node is refused once it is clear that the first one lives, and the error names multiNode', async () => {
    const harness = createHarness()
    const first = node(harness)
    const second = node(harness)
    await harness.runtime.run(async () => {
      await first.start()
      const refused = second.start()
      await expect(refused).rejects.toBeInstanceOf(SoleNodeError)
      await expect(refused).rejects.toThrow('Outbox.multiNode')
      expect(second.state).toBe('FAILED')
      await first.stop()
    })
  })

  test('after a stop the next node starts at once; after a kill when the lease has run out', async () => {
    const harness = createHarness()
    await harness.runtime.run(async () => {
      const first = node(harness)
      await first.start()
      await first.stop()
      const stoppedAt = harness.runtime.clock.monotonic()
      const second = node(harness)
      await second.start()
      expect(harness.runtime.clock.monotonic()).toBe(stoppedAt)
      await second.stop()
      // A killed node leaves a lease behind that is never renewed.
      harness.outbox.shards.set(soleNodeShard, {
        owner: 'killed',
        version: 9n,
        until: harness.runtime.clock.now() + 10_000,
      })
      const next = node(harness)
      await next.start()
      const waited = harness.runtime.clock.monotonic() - stoppedAt
      expect([waited >= 10_000, waited < 11_000]).toEqual([true, true])
      await next.stop()
    })
  })

  test('a node that loses its lease delivers nothing until it has it back', async () => {
    const harness = createHarness()
    const outbox = node(harness, { intervalMs: 100 })
    await harness.runtime.run(async () => {
      await outbox.start()
      harness.outbox.shards.set(soleNodeShard, {
        owner: 'thief',
        version: 9n,
        until: harness.runtime.clock.now() + 20_000,
      })
      await harness.runtime.timers.sleep(4_000)
      harness.outbox.add(orderEvent(1))
      await harness.outbox.transaction((tx) => outbox.write(tx, 'order.placed', {}))
      await harness.runtime.timers.sleep(10_000)
      expect(harness.delivered).toEqual([])
      await harness.runtime.timers.sleep(20_000)
      expect(harness.delivered.length).toBe(2)
      await outbox.stop()
    })
    expect(lines(harness, 'ERROR')).toEqual(['Table lease lost; delivery paused until it is reacquired'])
  })

  test('a short outage of the database does not lose it', async () => {
    const harness = createHarness()
    const outbox = node(harness, { intervalMs: 100 })
    await harness.runtime.run(async () => {
      await outbox.start()
      harness.outbox.before = () => {
        throw new StateError('the database is away')
      }
      await harness.runtime.timers.sleep(5_000)
      harness.outbox.before = () => {}
      harness.outbox.add(orderEvent(1))
      await harness.until(() => harness.delivered.length === 1)
      await outbox.stop()
    })
    expect(lines(harness, 'ERROR')).not.toContain('Table lease lost; delivery paused until it is reacquired')
  })
})

test('C-39 purges what is finished and never what is pending, however old it is', async () => {
  const harness = createHarness()
  harness.behaviour = async ({ eventId }) => {
    if (eventId === 'event-1') throw new Error('not now')
  }
  harness.outbox.add(orderEvent(0), orderEvent(1))
  const retry = exponentialRetry({ maxAttempts: 1_000_000 })
  const outbox = node(harness, { retry, purge: { doneAfterMs: 1_000, intervalMs: 60_000 } })
  await harness.runtime.run(async () => {
    await outbox.start()
    await harness.runtime.timers.sleep(600_000)
    await outbox.stop()
  })
  expect(harness.outbox.rows.map(({ event, status }) => [event.eventId, status])).toEqual([['event-1', 'RETRY']])
})

test('a listener is aborted when the lease of the table expires, even while the database does not respond', async () => {
  const harness = createHarness()
  const { runtime } = harness
  const answered = Promise.withResolvers<void>()
  harness.outbox.before = (call) => (call === 'renewShards' ? answered.promise : undefined)
  const toldAt: number[] = []
  harness.behaviour = (_, { signal }) =>
    new Promise((resolve) =>
      signal.addEventListener('abort', () => {
        toldAt.push(runtime.clock.monotonic())
        resolve()
      }),
    )
  harness.outbox.add(orderEvent(1))
  const outbox = node(harness)
  await runtime.run(async () => {
    await outbox.start()
    await harness.until(() => toldAt.length === 1)
    harness.outbox.before = () => {}
    answered.resolve()
    await outbox.stop()
  })
  expect(toldAt).toEqual([9_000])
})

function noMetrics(): never {
  throw new Error('no metrics today')
}

test('metrics that throw cost no event and no place in the hot queue, and it is said once', async () => {
  const harness = createHarness()
  const metrics = { counter: noMetrics, gauge: noMetrics, histogram: noMetrics }
  const outbox = node(harness, { runtime: { ...harness.runtime, metrics }, hotQueueCapacity: 2 })
  await harness.runtime.run(async () => {
    await outbox.start()
    for (let n = 0; n < 10; n++) {
      await harness.outbox.transaction((tx) => outbox.write(tx, 'order.placed', { n }))
      await harness.until(() => harness.outbox.withStatus('DONE').length === n + 1)
    }
    expect(harness.runtime.clock.monotonic()).toBeLessThan(1_000)
    await outbox.stop()
  })
  expect(lines(harness, 'ERROR')).toEqual(['Metrics threw; further errors are not logged'])
})

test('writes of what is no event keep no place of the hot queue', async () => {
  const harness = createHarness()
  const outbox = node(harness, { hotQueueCapacity: 2, intervalMs: 60_000 })
  await harness.runtime.run(async () => {
    await outbox.start()
    for (let n = 0; n < 3; n++) {
      const refused = harness.outbox.transaction(() => outbox.writer.writeAll([null as never]))
      await expect(refused).rejects.toBeInstanceOf(ArgumentError)
    }
    await harness.outbox.transaction((tx) => outbox.write(tx, 'order.placed', {}))
    await harness.until(() => harness.outbox.withStatus('DONE').length === 1)
    expect(harness.runtime.clock.monotonic()).toBeLessThan(1_000)
    const stoppedAt = harness.runtime.clock.monotonic()
    await outbox.stop()
    expect(harness.runtime.clock.monotonic() - stoppedAt).toBeLessThan(1_000)
  })
  expect(harness.metrics.total('outbox.enqueue.hot.dropped')).toBe(0)
})

test.each([
  [undefined, undefined, 'The name of an event is text, not undefined.'],
  [null, undefined, 'The name of an event is text, not null.'],
  ['order.placed', null, 'The meta of order.placed must be an object, got null.'],
  ['order.placed', 'tenant-1', 'The meta of order.placed must be an object, got "tenant-1".'],
])('a write of %o with the meta %o is refused', async (name, meta, problem) => {
  const harness = createHarness()
  const outbox = node(harness)
  const refused = harness.outbox.transaction((tx) => outbox.write(tx, name as 'order.placed', {}, meta as never))
  const error = await refused.catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(ArgumentError)
  expect((error as Error).message).toContain(problem)
})

test('a stop sooner than the drain timeout leaves a listener time to heed its signal', async () => {
  const harness = createHarness()
  harness.behaviour = (_, { signal }) =>
    new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)))
  const outbox = node(harness)
  await harness.runtime.run(async () => {
    await outbox.start()
    await harness.outbox.transaction((tx) => outbox.write(tx, 'order.placed', {}))
    await harness.until(() => harness.delivered.length === 1)
    await outbox.stop({ deadlineMs: 3_000 })
  })
  expect(harness.outbox.rows.map(({ status, attempts }) => [status, attempts])).toEqual([['NEW', 0]])
})

test('a purge that hangs takes no time from the deliveries when the outbox stops', async () => {
  const harness = createHarness()
  const { runtime } = harness
  const answered = Promise.withResolvers<void>()
  harness.outbox.before = (call) => (call === 'purge' ? answered.promise : undefined)
  const outbox = node(harness, { purge: { doneAfterMs: 1_000, intervalMs: 1_000 } })
  await runtime.run(async () => {
    await outbox.start()
    await harness.until(() => harness.outbox.calls.includes('purge'))
    const stopping = outbox.stop({ deadlineMs: 5_000 })
    await runtime.timers.sleep(1_000)
    // The table is free for the next node.
    expect(harness.outbox.shards.get(soleNodeShard)?.until).toBeLessThan(runtime.clock.now())
    await runtime.timers.sleep(1_000)
    answered.resolve()
    await stopping
  })
  expect(outbox.state).toBe('STOPPED')
})
