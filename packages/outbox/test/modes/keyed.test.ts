import {
  createEnvelope,
  createMemoryLogger,
  createMemoryMetrics,
  type EventEnvelope,
  type OutboxListener,
} from '@waybill/core'
import { type KeyedOptions, Outbox, type WakeUp } from '@waybill/outbox'
import { createVirtualRuntime } from '@waybill/sim'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { MemoryOutbox, type MemoryTx } from '../support/memory-outbox.ts'
import { events } from '../support/outbox-harness.ts'

type Options = Partial<Omit<KeyedOptions<never, MemoryTx>, 'events'>>

/** A table and nodes that deliver from it, on virtual time. */
function setup(seed = 1) {
  const logger = createMemoryLogger()
  const metrics = createMemoryMetrics()
  const runtime = createVirtualRuntime(seed, { logger, metrics })
  const table = new MemoryOutbox(runtime)
  const delivered: string[] = []
  const node = (listener: OutboxListener, options: Options = {}) =>
    Outbox.keyed({
      events,
      database: table,
      store: table.store,
      listeners: { listenerFor: () => listener },
      runtime,
      purge: false,
      ...options,
    })
  /** Writes down what it was called with, and does as it is told. */
  const listener =
    (act: (name: string, event: EventEnvelope) => Promise<void> | void = () => {}): OutboxListener =>
    async (event) => {
      await act(event.eventType, event)
      delivered.push(event.eventType)
    }
  return { runtime, table, logger, metrics, delivered, node, listener }
}

/** The event number `index` of a key, called `key-index`. */
function eventOf(key: string | null, index: number): EventEnvelope {
  return createEnvelope({ eventType: `${key}-${index}`, aggregateType: 'order', aggregateId: key, payloadJson: '{}' })
}

function series(key: string, count: number): EventEnvelope[] {
  return Array.from({ length: count }, (_, index) => eventOf(key, index))
}

function ofKey(delivered: readonly string[], key: string): string[] {
  return delivered.filter((name) => name.startsWith(`${key}-`))
}

describe('the events of a key', () => {
  test('come in their order, one at a time, while other keys run beside them', async () => {
    const { table, node, runtime, delivered } = setup()
    let running = 0
    let most = 0
    const inKey = new Set<string>()
    const outbox = node(
      async (event) => {
        const key = event.aggregateId as string
        expect(inKey.has(key)).toBe(false)
        inKey.add(key)
        most = Math.max(most, ++running)
        await runtime.timers.sleep(10 * runtime.random())
        running--
        inKey.delete(key)
        delivered.push(event.eventType)
      },
      { workerCount: 8 },
    )
    const keys = Array.from({ length: 20 }, (_, index) => `k${index}`)
    for (let index = 0; index < 10; index++) table.add(...keys.map((key) => eventOf(key, index)))
    await outbox.start()
    await runtime.advance(5_000)
    for (const key of keys) expect(ofKey(delivered, key)).toEqual(series(key, 10).map(({ eventType }) => eventType))
    expect(most).toBe(8)
    expect(table.withStatus('DONE')).toHaveLength(200)
    await runtime.run(() => outbox.stop())
  })

  test('wait behind one that fails, and only they do', async () => {
    const { table, node, runtime, delivered, listener } = setup()
    let failures = 0
    const outbox = node(
      listener((name) => {
        if (name === 'a-1' && failures++ < 3) throw new Error('not now')
      }),
    )
    table.add(...series('a', 4), ...series('b', 4))
    await outbox.start()
    await runtime.advance(100)
    expect(delivered.toSorted()).toEqual(['a-0', 'b-0', 'b-1', 'b-2', 'b-3'])
    await runtime.advance(10_000)
    expect(ofKey(delivered, 'a')).toEqual(['a-0', 'a-1', 'a-2', 'a-3'])
    expect(table.rows.find(({ event }) => event.eventType === 'a-1')?.attempts).toBe(3)
    await runtime.run(() => outbox.stop())
  })

  test('wait behind one that is not due yet', async () => {
    const { table, node, runtime, delivered, listener } = setup()
    const outbox = node(listener())
    await outbox.start()
    const [first] = table.add(eventOf('a', 0))
    Object.assign(first as object, { status: 'RETRY', availableAt: runtime.clock.now() + 3_000 })
    table.add(eventOf('a', 1), eventOf('b', 0))
    await runtime.advance(2_900)
    expect(delivered).toEqual(['b-0'])
    await runtime.advance(200)
    expect(delivered).toEqual(['b-0', 'a-0', 'a-1'])
    await runtime.run(() => outbox.stop())
  })

  test('events without a key have no order: one that fails blocks no other', async () => {
    const { table, node, runtime, delivered, listener } = setup()
    let failures = 0
    const outbox = node(
      listener((name) => {
        if (name === 'null-0' && failures++ === 0) throw new Error('not now')
      }),
    )
    table.add(eventOf(null, 0), eventOf(null, 1), eventOf(null, 2))
    await outbox.start()
    await runtime.advance(50)
    expect(delivered.toSorted()).toEqual(['null-1', 'null-2'])
    await runtime.advance(3_000)
    expect(delivered.at(-1)).toBe('null-0')
    await runtime.run(() => outbox.stop())
  })
})

/** The first event of key a cannot be delivered. */
function poison(name: string): void {
  if (name === 'a-0') throw new Error('never')
}

describe('a key whose event is DEAD', () => {
  test('goes on with the next one by default', async () => {
    const { table, node, runtime, delivered, listener } = setup()
    const outbox = node(listener(poison), { maxAttempts: 1 })
    table.add(...series('a', 3))
    await outbox.start()
    await runtime.advance(1_000)
    expect(delivered).toEqual(['a-1', 'a-2'])
    expect(table.withStatus('DEAD').map(({ event }) => event.eventType)).toEqual(['a-0'])
    await runtime.run(() => outbox.stop())
  })

  test('waits with BLOCK until the dead one is replayed, through a restart', async () => {
    const { table, node, runtime, delivered, listener } = setup()
    const first = node(listener(poison), { maxAttempts: 1, onDeadKey: 'BLOCK' })
    table.add(...series('a', 2), ...series('b', 1))
    await first.start()
    await runtime.advance(20_000)
    expect(delivered).toEqual(['b-0'])
    await runtime.run(() => first.stop())
    const second = node(listener(), { maxAttempts: 1, onDeadKey: 'BLOCK' })
    await second.start()
    await runtime.advance(20_000)
    expect(delivered).toEqual(['b-0'])
    await table.connection((connection) =>
      table.store.replayDead(connection, [table.withStatus('DEAD')[0]?.event.eventId as string]),
    )
    await runtime.advance(10_000)
    expect(delivered).toEqual(['b-0', 'a-0', 'a-1'])
    await runtime.run(() => second.stop())
  })

  test('goes on with BLOCK once the dead one is purged', async () => {
    const { table, node, runtime, delivered, listener } = setup()
    const outbox = node(listener(poison), { maxAttempts: 1, onDeadKey: 'BLOCK' })
    table.add(...series('a', 2))
    await outbox.start()
    await runtime.advance(10_000)
    await table.connection((connection) =>
      table.store.purge(connection, { kind: 'FINISHED', status: 'DEAD', olderThanMs: 0, limit: 10, archive: false }),
    )
    await runtime.advance(10_000)
    expect(delivered).toEqual(['a-1'])
    await runtime.run(() => outbox.stop())
  })

  test('a row that cannot be read is DEAD at once', async () => {
    const { table, node, runtime, delivered, listener } = setup()
    const outbox = node(listener())
    const [broken] = table.add(...series('a', 2))
    Object.assign(broken as object, { isBroken: true })
    await outbox.start()
    await runtime.advance(1_000)
    expect(table.withStatus('DEAD').map(({ event }) => event.eventType)).toEqual(['a-0'])
    expect(delivered).toEqual(['a-1'])
    await runtime.run(() => outbox.stop())
  })
})

/** The node cannot reach the table of leases. */
function failLeases(call: string): void {
  if (call === 'renewShards' || call === 'shardOwners' || call === 'takeShards') throw new Error('unreachable')
}

describe('several nodes', () => {
  test('share the shards, and a node that stops gives its own to the others without a repeat', async () => {
    const { table, node, runtime, delivered, listener } = setup()
    const slow = listener(() => runtime.timers.sleep(20))
    const [one, two] = [node(slow), node(slow)]
    await one.start()
    await two.start()
    await runtime.advance(10_000)
    const owners = [...table.shards].filter(([shard]) => shard >= 0).map(([, { owner }]) => owner)
    expect(Object.values(Object.groupBy(owners, (owner) => owner)).map((own) => own?.length)).toEqual([32, 32])
    const keys = Array.from({ length: 30 }, (_, index) => `k${index}`)
    for (let index = 0; index < 20; index++) table.add(...keys.map((key) => eventOf(key, index)))
    await runtime.advance(500)
    await runtime.run(() => one.stop())
    await runtime.advance(20_000)
    expect(delivered).toHaveLength(600)
    for (const key of keys) expect(ofKey(delivered, key)).toEqual(series(key, 20).map(({ eventType }) => eventType))
    await runtime.run(() => two.stop())
  })

  test('I6 a node that cannot renew starts nothing once its lease may be over, and its late outcome is fenced', async () => {
    const { table, node, runtime, logger } = setup()
    const started: string[] = []
    const aborted: string[] = []
    const paused = node(
      async (event, { signal }) => {
        started.push(event.eventType)
        signal.addEventListener('abort', () => aborted.push(event.eventType))
        await runtime.timers.sleep(60_000)
      },
      { claimLocking: { owner: 'paused', timeoutMs: 10_000 } },
    )
    await paused.start()
    table.add(...series('a', 2))
    await runtime.advance(1_000)
    table.before = failLeases
    await runtime.advance(9_500)
    expect(aborted).toEqual(['a-0'])
    table.before = () => {}
    const delivered: string[] = []
    const other = node(async (event) => void delivered.push(event.eventType), {
      claimLocking: { owner: 'other', timeoutMs: 10_000 },
    })
    table.shards.clear() // The paused node's leases are over, and it has not looked again yet.
    await other.start()
    await runtime.advance(100_000)
    expect(delivered).toEqual(['a-0', 'a-1'])
    expect(started).toEqual(['a-0'])
    expect(logger.lines.some(({ text }) => text.includes('Shard lost'))).toBe(true)
    await runtime.run(() => Promise.all([paused.stop(), other.stop()]))
  })
})

describe('bounds', () => {
  test('I6 a shard that is held is not taken a second time when the clock of the table jumps', async () => {
    const { table, node, runtime, delivered } = setup()
    const outbox = node(
      async (event) => {
        delivered.push(event.eventType)
        await runtime.timers.sleep(60_000)
      },
      { claimLocking: { timeoutMs: 10_000 } },
    )
    table.add(eventOf(null, 0))
    await outbox.start()
    await runtime.advance(100)
    // Between the renewal and the look at the owners all leases run out, as after a jump.
    table.before = (call) => {
      if (call === 'shardOwners') for (const lease of table.shards.values()) lease.until = 0
    }
    await runtime.advance(2_500)
    table.before = () => {}
    await runtime.advance(20_000)
    expect(delivered).toEqual(['null-0'])
    await runtime.run(() => outbox.stop({ deadlineMs: 90_000 }))
  })

  test('a stop waits for the shards that are being given back', async () => {
    const { table, node, runtime, listener } = setup()
    const first = node(listener())
    await first.start()
    const second = node(listener())
    await second.start()
    let underWay = 0
    table.before = async (call) => {
      if (call !== 'releaseShards') return
      underWay++
      await runtime.timers.sleep(5_000)
      underWay--
    }
    for (let waited = 0; waited < 10_000 && underWay === 0; waited += 100) await runtime.advance(100)
    expect(underWay).toBeGreaterThan(0)
    await runtime.run(() => first.stop())
    expect(underWay).toBe(0)
    await runtime.run(() => second.stop())
  })

  test('I17 too many keys that wait stop the reading, and it goes on when they are due', async () => {
    const { table, node, runtime, metrics, delivered, listener } = setup()
    const outbox = node(listener(), { maxHeldKeys: 5 })
    const later = runtime.clock.now() + 60_000
    for (let index = 0; index < 10; index++) {
      const [row] = table.add(eventOf(`w${index}`, 0))
      Object.assign(row as object, { status: 'RETRY', availableAt: later })
    }
    await outbox.start()
    await runtime.advance(1_000)
    expect(metrics.latest('outbox.keyed.saturated')).toBe(1)
    table.add(eventOf('late', 0))
    await runtime.advance(30_000)
    expect(delivered).toEqual([])
    await runtime.advance(40_000)
    expect(delivered).toHaveLength(11)
    expect(metrics.latest('outbox.keyed.saturated')).toBe(0)
    await runtime.run(() => outbox.stop())
  })

  test('I17 a key with a long backlog is read in pieces, and its neighbours are not kept from memory', async () => {
    const { table, node, runtime, metrics, delivered, listener } = setup()
    const outbox = node(
      listener((name) => runtime.timers.sleep(name.startsWith('slow') ? 1_000 : 1)),
      { maxBuffered: 128, workerCount: 4 },
    )
    table.add(...series('slow', 500))
    table.add(...Array.from({ length: 200 }, (_, index) => eventOf(`k${index}`, 0)))
    await outbox.start()
    await runtime.advance(3_000)
    expect(delivered.filter((name) => name.startsWith('k'))).toHaveLength(200)
    expect(metrics.latest('outbox.keyed.buffered')).toBeLessThanOrEqual(256)
    await runtime.run(() => outbox.stop({ deadlineMs: 10_000 }))
  })
})

describe('a commit', () => {
  test('is looked at by its own node at once, also below what was read', async () => {
    const { table, node, runtime, delivered, listener } = setup()
    const outbox = node(listener(), { intervalMs: 600_000 })
    await outbox.start()
    await runtime.advance(100)
    const [early, late] = [table.open(), table.open()]
    await outbox.write(early.tx, 'order.placed', {})
    await outbox.write(late.tx, 'order.placed', {})
    late.commit()
    await runtime.advance(10)
    expect(delivered).toHaveLength(1)
    early.commit()
    await runtime.advance(10)
    expect(delivered).toHaveLength(2)
    await runtime.run(() => outbox.stop())
  })

  test('wakes the node that owns its shard, where nodes can tell each other', async () => {
    const { table, node, runtime, delivered, listener } = setup()
    const wakes = new Set<() => void>()
    const wakeUp: WakeUp = {
      announce: async () => wakes.forEach((wake) => wake()),
      listen: async (wake) => {
        wakes.add(wake)
        return { [Symbol.asyncDispose]: async () => void wakes.delete(wake) }
      },
    }
    const writer = node(listener(), { intervalMs: 600_000, wakeUp })
    const owner = node(listener(), { intervalMs: 600_000, wakeUp })
    await owner.start() // The writer is not started: it owns nothing.
    await runtime.advance(100)
    await table.transaction((tx) => writer.write(tx, 'order.placed', {}))
    await runtime.advance(50)
    expect(delivered).toHaveLength(1)
    await runtime.run(() => owner.stop())
  })

  test('published() tells when it has arrived', async () => {
    const { table, node, runtime, listener } = setup()
    const outbox = node(listener(() => runtime.timers.sleep(100)))
    await outbox.start()
    const id = await table.transaction((tx) => outbox.write(tx, 'order.placed', {}))
    await runtime.run(() => outbox.published(id, { deadlineMs: 5_000 }))
    expect(table.withStatus('DONE')).toHaveLength(1)
    await runtime.run(() => outbox.stop())
  })
})

describe('late commits', () => {
  test('a row that commits late, below what was read, is found within seconds', async () => {
    const { table, node, runtime, delivered, listener } = setup()
    const outbox = node(listener())
    await outbox.start()
    const [late] = table.add(eventOf('a', 0))
    Object.assign(late as object, { isCommitted: false })
    table.add(eventOf('b', 0))
    await runtime.advance(500)
    Object.assign(late as object, { isCommitted: true })
    await runtime.advance(1_500)
    expect(delivered).toEqual(['b-0', 'a-0'])
    await runtime.run(() => outbox.stop())
  })
})

test('I7 any run keeps order per key, and loses and repeats nothing that it need not', async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 2 ** 30 }), async (seed) => {
      const { table, node, runtime, delivered } = setup(seed)
      const keys = ['a', 'b', 'c', 'd', 'e']
      const next = new Map(keys.map((key) => [key, 0]))
      const running = new Set<string>()
      const attempts = new Map<string, number>()
      const listener: OutboxListener = async (event) => {
        const key = event.aggregateId as string
        expect(running.has(key)).toBe(false)
        running.add(key)
        await runtime.timers.sleep(30 * runtime.random())
        running.delete(key)
        const tried = (attempts.get(event.eventType) ?? 0) + 1
        attempts.set(event.eventType, tried)
        if (tried < 4 && runtime.random() < 0.3) throw new Error('not now')
        expect(event.eventType).toBe(`${key}-${next.get(key)}`)
        next.set(key, (next.get(key) as number) + 1)
        delivered.push(event.eventType)
      }
      table.latencyMs = 5 * runtime.random()
      const outbox = node(listener, { batchSize: 1 + Math.floor(20 * runtime.random()), maxBuffered: 64 })
      await runtime.run(() => outbox.start())
      const hiccup = (): Promise<void> => {
        if (runtime.random() < 0.02) throw new Error('the database hiccups')
        return runtime.timers.sleep(10 * runtime.random())
      }
      table.before = hiccup
      table.after = hiccup // The response is lost, so the outcome is unknown.
      for (let index = 0; index < 15; index++) {
        table.add(...keys.map((key) => eventOf(key, index)))
        await runtime.advance(100 * runtime.random())
      }
      await runtime.advance(120_000)
      expect(delivered).toHaveLength(75)
      await runtime.run(() => outbox.stop())
    }),
    { numRuns: 25 },
  )
})
