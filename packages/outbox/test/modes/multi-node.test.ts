import { ArgumentError, NoTransactionError, OptionsError, onEngineEvent, StateError } from '@waybill/core'
import { EventDeadError, Outbox, type OutboxStore } from '@waybill/outbox'
import { type PoolOptions } from '@waybill/outbox/internal'
import { describe, expect, test } from 'vitest'
import { createHarness, lines, type OutboxHarness, orderEvent } from '../support/outbox-harness.ts'

const timeoutMs = 60_000

function node(harness: OutboxHarness, options: Partial<PoolOptions<never, never>> = {}, owner = 'node') {
  return Outbox.multiNode({ ...harness.base, claimLocking: { owner, timeoutMs }, ...options })
}

describe('the hot path', () => {
  test('a committed event is inserted claimed, delivered at once and marked DONE, without a look at the table', async () => {
    const harness = createHarness()
    const outbox = node(harness, { intervalMs: 600_000 })
    await harness.runtime.run(async () => {
      await outbox.start()
      await harness.runtime.timers.sleep(1)
      harness.outbox.calls.length = 0
      const startedAt = harness.runtime.clock.monotonic()
      const id = await harness.outbox.transaction((tx) => outbox.write(tx, 'order.placed', { total: 3 }))
      expect(harness.outbox.rows[0]?.lockedBy).toMatch(/^node-[0-9a-f]{8}$/)
      await outbox.published(id, { deadlineMs: 1_000 })
      expect(harness.deliveredIds()).toEqual([id])
      expect(harness.outbox.calls).toEqual(['insertNew', 'markDone'])
      expect(harness.runtime.clock.monotonic() - startedAt).toBe(0)
      await outbox.stop()
    })
    expect(harness.outbox.rows.map(({ status, lockedBy }) => [status, lockedBy])).toEqual([['DONE', null]])
    expect(harness.metrics.total('outbox.enqueue.hot')).toBe(1)
    expect(harness.metrics.total('outbox.dispatch.success')).toBe(1)
  })

  test('a rolled back event is never delivered, and its place in the queue is free again', async () => {
    const harness = createHarness()
    const outbox = node(harness, { hotQueueCapacity: 1 })
    await harness.runtime.run(async () => {
      await outbox.start()
      const failing = harness.outbox.transaction(async (tx) => {
        await outbox.write(tx, 'order.placed', {})
        throw new StateError('the business work failed')
      })
      await expect(failing).rejects.toThrow('the business work failed')
      const id = await harness.outbox.transaction((tx) => outbox.write(tx, 'order.placed', {}))
      await harness.until(() => harness.delivered.length > 0)
      await outbox.stop()
      expect(harness.deliveredIds()).toEqual([id])
    })
    expect(harness.metrics.total('outbox.enqueue.hot.dropped')).toBe(0)
  })

  test('an event whose commit was not answered is left to the poller at once, not when its claim runs out', async () => {
    const harness = createHarness()
    const outbox = node(harness, { intervalMs: 1_000 })
    await harness.runtime.run(async () => {
      await outbox.start()
      const { tx, commitInDoubt } = harness.outbox.open()
      await outbox.write(tx, 'order.placed', {})
      commitInDoubt()
      expect(harness.delivered).toEqual([])
      await harness.runtime.timers.sleep(2_000)
      expect(harness.delivered.length).toBe(1)
      await outbox.stop()
    })
    expect(harness.metrics.total('outbox.enqueue.hot')).toBe(0)
  })

  test('with a full queue the write succeeds, one warning is logged, and the poller delivers the row', async () => {
    const harness = createHarness()
    const outbox = node(harness, { hotQueueCapacity: 2, workerCount: 1, intervalMs: 1_000 })
    harness.behaviour = () => harness.runtime.timers.sleep(100)
    await harness.runtime.run(async () => {
      await outbox.start()
      await harness.runtime.timers.sleep(1)
      for (let n = 0; n < 6; n++) await harness.outbox.transaction((tx) => outbox.write(tx, 'order.placed', { n }))
      expect(harness.outbox.rows.map(({ lockedBy }) => lockedBy !== null)).toEqual([
        true,
        true,
        true,
        false,
        false,
        false,
      ])
      await harness.until(() => harness.outbox.withStatus('DONE').length === 6)
      await outbox.stop()
    })
    expect(harness.metrics.total('outbox.enqueue.hot')).toBe(3)
    expect(harness.metrics.total('outbox.enqueue.hot.dropped')).toBe(3)
    expect(harness.metrics.total('outbox.enqueue.cold')).toBe(3)
    expect(lines(harness, 'WARN')).toEqual(['Hot queue full; events left to the poller'])
    expect(new Set(harness.deliveredIds()).size).toBe(6)
  })

  test('a delayed event waits for its instant, and is found within milliseconds of it', async () => {
    const harness = createHarness()
    const outbox = node(harness, { intervalMs: 600_000 })
    await harness.runtime.run(async () => {
      await outbox.start()
      const startedAt = harness.runtime.clock.monotonic()
      const availableAt = harness.runtime.clock.now() + 2_000
      await harness.outbox.transaction((tx) => outbox.write(tx, 'order.placed', {}, { availableAt }))
      await harness.until(() => harness.delivered.length === 1)
      const waited = harness.runtime.clock.monotonic() - startedAt
      expect([waited >= 2_000, waited <= 2_050]).toEqual([true, true])
      await outbox.stop()
    })
  })
})

describe('several nodes', () => {
  test('share a backlog: each row is delivered once, by one of them', async () => {
    const harness = createHarness()
    harness.outbox.latencyMs = 2
    harness.behaviour = () => harness.runtime.timers.sleep(5)
    const nodes = [node(harness, { batchSize: 10 }, 'a'), node(harness, { batchSize: 10 }, 'b')]
    harness.outbox.add(...Array.from({ length: 200 }, (_, n) => orderEvent(n)))
    await harness.runtime.run(async () => {
      await Promise.all(nodes.map((one) => one.start()))
      await harness.until(() => harness.outbox.withStatus('DONE').length === 200)
      await Promise.all(nodes.map((one) => one.stop()))
    })
    expect(harness.deliveredIds().toSorted()).toEqual(Array.from({ length: 200 }, (_, n) => `event-${n}`).toSorted())
  })

  test('take over the rows of a node that died once its leases have run out', async () => {
    const harness = createHarness()
    const lease = { owner: 'dead-node', version: 1n, timeoutMs }
    harness.outbox.add(orderEvent(1))
    const query = { status: 'NEW', limit: 10, maxBytes: 1_000_000, skipRecentMs: 0, floor: null, shards: null } as const
    await harness.runtime.run(async () => {
      await harness.outbox.connection((connection) => harness.outbox.store.claimPending(connection, lease, query))
      const outbox = node(harness)
      await outbox.start()
      await harness.runtime.timers.sleep(timeoutMs - 1)
      expect(harness.delivered).toEqual([])
      await harness.runtime.timers.sleep(40_000)
      expect(harness.deliveredIds()).toEqual(['event-1'])
      await outbox.stop()
    })
  })

  test('a listener slower than the lease keeps it by renewing, and its row is delivered once', async () => {
    const harness = createHarness()
    harness.behaviour = () => harness.runtime.timers.sleep(5 * timeoutMs)
    const nodes = [node(harness, {}, 'a'), node(harness, {}, 'b')]
    harness.outbox.add(orderEvent(1))
    await harness.runtime.run(async () => {
      await Promise.all(nodes.map((one) => one.start()))
      await harness.runtime.timers.sleep(6 * timeoutMs)
      expect(harness.delivered.length).toBe(1)
      expect(harness.outbox.withStatus('DONE').length).toBe(1)
      await Promise.all(nodes.map((one) => one.stop()))
    })
    expect(harness.outbox.calls.filter((call) => call === 'renew').length).toBeGreaterThan(4)
  })

  test.each([
    ['fails', () => Promise.reject(new StateError('the database does not answer'))],
    ['gets no answer while it lasts', (harness: OutboxHarness) => harness.runtime.timers.sleep(90_000)],
  ])('a lease whose renewal %s aborts its listener, and another node delivers the row', async (_what, renewal) => {
    const harness = createHarness()
    const aborted: string[] = []
    harness.behaviour = (event, { signal }) =>
      harness.delivered.length > 1
        ? Promise.resolve()
        : new Promise((_, reject) => {
            signal.addEventListener('abort', () => {
              aborted.push(event.eventId)
              reject(signal.reason as Error)
            })
          })
    harness.outbox.before = async (call) => {
      if (call === 'renew') await renewal(harness)
    }
    harness.outbox.add(orderEvent(1))
    const nodes = [node(harness, {}, 'a'), node(harness, {}, 'b')]
    await harness.runtime.run(async () => {
      await Promise.all(nodes.map((one) => one.start()))
      await harness.until(() => aborted.length === 1)
      await harness.runtime.timers.sleep(40_000)
      expect(harness.delivered.length).toBe(2)
      expect(harness.outbox.rows[0]).toMatchObject({ status: 'DONE', attempts: 0 })
      await Promise.all(nodes.map((one) => one.stop()))
    })
    expect(harness.metrics.total('outbox.lease.expired')).toBe(1)
  })

  test('a claim without an answer is repeated with the same token, so its rows do not wait for their lease', async () => {
    const harness = createHarness()
    let failures = 1
    harness.outbox.after = (call) => {
      if (call === 'claimPending' && harness.outbox.rows.some(({ lockedBy }) => lockedBy !== null) && failures-- > 0)
        throw new StateError('the answer was lost')
    }
    const tokens: bigint[] = []
    const store: OutboxStore = {
      ...harness.outbox.store,
      claimPending: (connection, lease, query) => {
        if (query.status === 'NEW') tokens.push(lease.version)
        return harness.outbox.store.claimPending(connection, lease, query)
      },
    }
    const outbox = Outbox.multiNode({ ...harness.base, store, claimLocking: { timeoutMs } })
    harness.outbox.add(orderEvent(1))
    await harness.runtime.run(async () => {
      await outbox.start()
      await harness.runtime.timers.sleep(1_000)
      await outbox.stop()
    })
    expect(tokens.length).toBeGreaterThan(1)
    expect(tokens[1]).toBe(tokens[0])
  })
})

describe('failures', () => {
  test('are tried again after a growing wait, and the event is DEAD when its attempts are used up', async () => {
    const harness = createHarness()
    harness.behaviour = () => Promise.reject(new StateError('the broker is away'))
    const outbox = node(harness, { maxAttempts: 3, intervalMs: 600_000 })
    const told: object[] = []
    const deaths = onEngineEvent('outbox:event-dead', (event) => void told.push(event))
    await harness.runtime.run(async () => {
      await outbox.start()
      const id = await harness.outbox.transaction((tx) => outbox.write(tx, 'order.placed', {}))
      await expect(outbox.published(id, { deadlineMs: 10_000 })).rejects.toBeInstanceOf(EventDeadError)
      await outbox.stop()
    })
    expect(harness.delivered.map(({ attempt }) => attempt)).toEqual([1, 2, 3])
    const [first, second, third] = harness.delivered.map(({ at }) => at) as [number, number, number]
    expect(second - first).toBeGreaterThanOrEqual(100)
    expect(third - second).toBeGreaterThanOrEqual(200)
    expect(third - first).toBeLessThan(1_000)
    expect(harness.outbox.rows[0]).toMatchObject({
      status: 'DEAD',
      attempts: 3,
      lastError: 'StateError: the broker is away',
    })
    expect(lines(harness, 'ERROR')).toEqual(['Event marked DEAD'])
    deaths[Symbol.dispose]()
    expect(told).toMatchObject([{ outbox: 'outbox', attempts: 3, error: 'StateError: the broker is away' }])
    expect(harness.metrics.total('outbox.dispatch.failure')).toBe(2)
    expect(harness.metrics.total('outbox.dispatch.dead')).toBe(1)
  })

  test('of a broken row make it DEAD, and the others are delivered', async () => {
    const harness = createHarness()
    const [broken] = harness.outbox.add(orderEvent(1), orderEvent(2))
    if (broken !== undefined) broken.isBroken = true
    const outbox = node(harness)
    await harness.runtime.run(async () => {
      await outbox.start()
      await harness.until(() => harness.outbox.withStatus('DONE').length === 1)
      await outbox.stop()
    })
    expect(harness.deliveredIds()).toEqual(['event-2'])
    expect(harness.outbox.withStatus('DEAD').map(({ event }) => event.eventId)).toEqual(['event-1'])
    expect(lines(harness, 'ERROR')).toContain('Outbox row unreadable, marking it DEAD')
  })

  test("of the finish are repeated and never count as the listener's: the event is delivered once", async () => {
    const harness = createHarness()
    let failures = 3
    harness.outbox.after = (call) => {
      if (call === 'markDone' && failures-- > 0) throw new StateError('the answer was lost')
    }
    const outbox = node(harness)
    await harness.runtime.run(async () => {
      await outbox.start()
      const id = await harness.outbox.transaction((tx) => outbox.write(tx, 'order.placed', {}))
      await outbox.published(id, { deadlineMs: 10_000 })
      await outbox.stop()
    })
    expect(harness.delivered.length).toBe(1)
    expect(harness.outbox.rows[0]).toMatchObject({ status: 'DONE', attempts: 0 })
    expect(harness.metrics.total('outbox.finish.fenced')).toBe(0)
  })
})

describe('stopping', () => {
  test('drains what is queued, then answers', async () => {
    const harness = createHarness()
    harness.behaviour = () => harness.runtime.timers.sleep(10)
    const outbox = node(harness, { workerCount: 1 })
    await harness.runtime.run(async () => {
      await outbox.start()
      for (let n = 0; n < 20; n++) await harness.outbox.transaction((tx) => outbox.write(tx, 'order.placed', { n }))
      await outbox.stop()
    })
    expect(harness.outbox.withStatus('DONE').length).toBe(20)
  })

  test('past the drain timeout cuts off: leases of unfinished rows are given back, and no attempt is spent', async () => {
    const harness = createHarness()
    harness.behaviour = (_, { signal }) =>
      new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)))
    const outbox = node(harness, { workerCount: 1, drainTimeoutMs: 100 })
    await harness.runtime.run(async () => {
      await outbox.start()
      for (let n = 0; n < 5; n++) await harness.outbox.transaction((tx) => outbox.write(tx, 'order.placed', { n }))
      await outbox.stop()
    })
    expect(harness.outbox.rows.map(({ status, attempts, lockedBy }) => [status, attempts, lockedBy])).toEqual(
      Array.from({ length: 5 }, () => ['NEW', 0, null]),
    )
  })

  test('names the event whose listener ignores everything', async () => {
    const harness = createHarness()
    harness.behaviour = () => new Promise(() => {})
    const outbox = node(harness, { drainTimeoutMs: 100 })
    await harness.runtime.run(async () => {
      await outbox.start()
      const id = await harness.outbox.transaction((tx) => outbox.write(tx, 'order.placed', {}))
      await expect(outbox.stop({ deadlineMs: 1_000 })).rejects.toThrow(`the listener of order.placed ${id}`)
    })
  })
})

test('rows written before start() wait for the poller', async () => {
  const harness = createHarness()
  const outbox = node(harness)
  await harness.runtime.run(async () => {
    await harness.outbox.transaction((tx) => outbox.write(tx, 'order.placed', {}))
    expect(harness.outbox.rows[0]?.lockedBy).toBe(null)
    await outbox.start()
    await harness.until(() => harness.outbox.withStatus('DONE').length === 1)
    await outbox.stop()
  })
  expect(harness.metrics.total('outbox.enqueue.hot.dropped')).toBe(0)
})

test('a handle outside a transaction is refused', async () => {
  const harness = createHarness()
  const outbox = node(harness)
  const { tx, commit } = harness.outbox.open()
  commit()
  await expect(outbox.write(tx, 'order.placed', {})).rejects.toBeInstanceOf(NoTransactionError)
})

test('an instant that is none is refused before anything is written', async () => {
  const harness = createHarness()
  const outbox = node(harness)
  const write = harness.outbox.transaction((tx) => outbox.write(tx, 'order.placed', {}, { availableAt: Number.NaN }))
  await expect(write).rejects.toBeInstanceOf(ArgumentError)
  expect(harness.outbox.calls).toEqual([])
})

test('a crash test can stop it before and after each step', async () => {
  const passed: string[] = []
  const harness = createHarness(1, (name) => void passed.push(name))
  const outbox = node(harness, { intervalMs: 600_000 })
  await harness.runtime.run(async () => {
    await outbox.start()
    await harness.runtime.timers.sleep(1)
    expect(passed.splice(0)).toEqual(['claim.before', 'claim.after', 'claim.before', 'claim.after'].map(prefixed))
    await harness.outbox.transaction((tx) => outbox.write(tx, 'order.placed', {}))
    await outbox.stop()
  })
  const steps = ['insert.before', 'insert.after', 'listener.before', 'listener.after', 'finish.before', 'finish.after']
  expect(passed).toEqual(steps.map(prefixed))
})

function prefixed(step: string): string {
  return `outbox.${step}`
}

test('needs claimLocking, and says all that is wrong at once', () => {
  const { base } = createHarness()
  const create = () => Outbox.multiNode({ ...base, workerCount: -1, batchSize: 0 } as never)
  expect(create).toThrow(OptionsError)
  for (const path of ['workerCount', 'batchSize', 'claimLocking.timeoutMs is required']) expect(create).toThrow(path)
})
