import {
  createEnvelope,
  createMemoryLogger,
  createMemoryMetrics,
  type EventEnvelope,
  NonRetryableError,
  UnavailableError,
} from '@waybill/core'
import { Outbox } from '@waybill/outbox'
import { createVirtualRuntime } from '@waybill/sim'
import { describe, expect, test } from 'vitest'
import { MemoryOutbox, type MemoryTx } from '../support/memory-outbox.ts'
import { events } from '../support/outbox-harness.ts'

const minuteMs = 60_000
const modes = ['singleNode', 'multiNode', 'keyed', 'leasing', 'ordered'] as const
type Mode = (typeof modes)[number]

function destinationsOf({ aggregateType }: EventEnvelope): string[] {
  return ['cluster', aggregateType]
}

/** A table with a node of a mode, whose listener cannot reach the destinations that the test names. */
function setup(mode: Mode) {
  const logger = createMemoryLogger()
  const metrics = createMemoryMetrics()
  const runtime = createVirtualRuntime(1, { logger, metrics })
  const table = new MemoryOutbox(runtime)
  const away = new Set<string>()
  const poison = new Set<string>()
  /** Events that fail as if their destination were unavailable. */
  const alike = new Set<string>()
  const calls: string[] = []
  const arrived: string[] = []
  const listener = async (event: EventEnvelope): Promise<void> => {
    calls.push(event.eventId)
    await runtime.timers.sleep(5)
    if (poison.has(event.eventId)) throw new NonRetryableError('It cannot be read.')
    const destination = destinationsOf(event).find((name) => away.has(name))
    if (destination !== undefined || alike.has(event.eventId))
      throw new UnavailableError('The broker does not respond.', { destination })
    arrived.push(event.eventId)
  }
  const base = {
    events,
    database: table,
    store: table.store,
    listeners: { listenerFor: () => listener, destinationsOf },
    runtime,
    purge: false,
    ...(mode === 'ordered' ? {} : { maxAttempts: 4 }),
  } as const
  const outbox = {
    singleNode: () => Outbox.singleNode<never, MemoryTx>(base as never),
    multiNode: () => Outbox.multiNode<never, MemoryTx>({ ...base, claimLocking: { timeoutMs: 30_000 } } as never),
    keyed: () => Outbox.keyed<never, MemoryTx>(base as never),
    leasing: () => Outbox.leasing<never, MemoryTx>({ ...base, instanceCount: 1, instanceId: 0 } as never),
    ordered: () => Outbox.ordered<never, MemoryTx>(base as never),
  }[mode]()
  const write = (count: number, destination = 'orders', keys = 5): string[] => {
    const written = Array.from({ length: count }, (_, n) =>
      createEnvelope({
        eventType: 'order.placed',
        aggregateType: destination,
        aggregateId: `key-${n % keys}`,
        payloadJson: '{}',
      }),
    )
    table.add(...written)
    return written.map(({ eventId }) => eventId)
  }
  const changesOf = (): number =>
    table.calls.filter((call) => ['markRetry', 'markDead', 'markDone'].includes(call)).length
  return { runtime, table, logger, metrics, away, poison, alike, calls, arrived, outbox, write, changesOf }
}

/** Checks that the events of each key arrived in their order, each once. */
function expectOrder({ table, arrived }: Pick<ReturnType<typeof setup>, 'table' | 'arrived'>): void {
  const keyOf = new Map(table.rows.map(({ event }) => [event.eventId, `${event.aggregateType} ${event.aggregateId}`]))
  for (const key of new Set(keyOf.values())) {
    const written = [...keyOf].filter(([, one]) => one === key).map(([id]) => id)
    expect(arrived.filter((id) => keyOf.get(id) === key)).toEqual(written)
  }
}

describe.each(modes)('I23 an outage in %s', (mode) => {
  test('spends no attempt, writes nothing for events that wait, and is over when the destination is back', async () => {
    const scene = setup(mode)
    const { runtime, table, away, calls, outbox, write, changesOf } = scene
    away.add('cluster')
    await outbox.start()
    write(100)
    await runtime.advance(20 * minuteMs)
    // A probe at least every half minute, after the first ones, and those that were in flight together.
    expect(calls.length).toBeLessThan(20 * 4 + 30)
    expect(calls.length).toBeGreaterThan(20 * 2)
    expect(changesOf()).toBe(0)
    expect(table.rows.filter(({ attempts, status }) => attempts > 0 || status !== 'NEW')).toEqual([])
    away.clear()
    await runtime.advance(40_000)
    expect(table.withStatus('DONE')).toHaveLength(100)
    if (mode !== 'singleNode' && mode !== 'multiNode') expectOrder(scene)
    await outbox.stop()
  })

  test('needs no more statements than an idle outbox needs', async () => {
    const idle = setup(mode)
    await idle.outbox.start()
    await idle.runtime.advance(10 * minuteMs)
    await idle.outbox.stop()
    const { runtime, table, away, outbox, write } = setup(mode)
    away.add('cluster')
    await outbox.start()
    write(100)
    await runtime.advance(10 * minuteMs)
    await outbox.stop()
    expect(table.calls.length).toBeLessThan(idle.table.calls.length * 1.5 + 200)
  })

  test('stop() does not wait for the destination', async () => {
    const { runtime, away, outbox, write, calls } = setup(mode)
    away.add('cluster')
    await outbox.start()
    write(50)
    await runtime.advance(60_000)
    const before = runtime.clock.monotonic()
    await runtime.run(() => outbox.stop())
    expect(runtime.clock.monotonic() - before).toBeLessThan(1_000)
    const called = calls.length
    await runtime.advance(60_000)
    expect(calls.length).toBe(called)
  })

  test('is reported once when it begins and once when it ends', async () => {
    const { runtime, away, outbox, write, logger, metrics } = setup(mode)
    await outbox.start()
    away.add('cluster')
    write(50)
    await runtime.advance(5 * minuteMs)
    const texts = (): string[] => logger.lines.map(({ text }) => text).filter((text) => text.includes('estination'))
    expect(texts()).toEqual(['Destination unavailable; its events wait'])
    expect(metrics.latest('outbox.destination.unavailable')).toBe(1)
    away.clear()
    await runtime.advance(60_000)
    expect(texts()).toEqual(['Destination unavailable; its events wait', 'Destination available again'])
    expect(metrics.latest('outbox.destination.unavailable')).toBe(0)
    await outbox.stop()
  })

  test('is named by published() at its deadline', async () => {
    const { runtime, away, outbox, write } = setup(mode)
    away.add('cluster')
    await outbox.start()
    const [id] = write(1) as [string]
    await runtime.advance(5_000)
    await runtime.run(async () => {
      await expect(outbox.published(id, { deadlineMs: 1_000 })).rejects.toThrow(
        /the deadline has passed\. It waits for cluster, unavailable since 20.*Z: .*The broker does not respond/,
      )
      await outbox.stop()
    })
  })

  test('is named by published() for an event that was committed here a moment ago', async () => {
    const { runtime, table, away, outbox, write } = setup(mode)
    away.add('cluster')
    await outbox.start()
    write(1)
    await runtime.advance(5_000)
    await runtime.run(async () => {
      const event = createEnvelope({ eventType: 'order.placed', aggregateType: 'orders', payloadJson: '{}' })
      await table.transaction(() => outbox.writer.write(event))
      await expect(outbox.published(event.eventId, { deadlineMs: 30 })).rejects.toThrow(/It waits for cluster/)
      await outbox.stop()
    })
  })
})

describe.each(modes.filter((mode) => mode !== 'ordered'))('L2 in %s, beside an unavailable destination', (mode) => {
  test('the others continue, however many events wait', async () => {
    const scene = setup(mode)
    const { runtime, away, arrived, outbox, write, changesOf, table } = scene
    away.add('orders')
    await outbox.start()
    const waiting = write(500, 'orders', 250)
    await runtime.advance(20_000)
    const others = [...write(200, 'payments'), ...write(200, 'invoices')]
    await runtime.advance(60_000)
    expect(arrived.toSorted()).toEqual(others.toSorted())
    await runtime.advance(2 * minuteMs)
    expect(table.rows.filter(({ attempts }) => attempts > 0)).toEqual([])
    expect(changesOf()).toBeLessThan(450)
    away.clear()
    await runtime.advance(60_000)
    expect(arrived.toSorted()).toEqual([...others, ...waiting].toSorted())
    if (mode !== 'multiNode' && mode !== 'singleNode') expectOrder(scene)
    await outbox.stop()
  })

  test('an event that only looks like an outage is found out, and a poison event is DEAD', async () => {
    const scene = setup(mode)
    const { runtime, away, poison, alike, outbox, write, table } = scene
    const [bad, worse, ...rest] = write(100, 'orders', 100) as [string, string, ...string[]]
    alike.add(bad)
    poison.add(worse)
    away.add('payments')
    write(10, 'payments')
    await outbox.start()
    for (let minute = 0; minute < 12; minute++) {
      rest.push(...write(2, 'orders', 50))
      await runtime.advance(60_000)
    }
    expect(table.withStatus('DEAD').map(({ event }) => event.eventId)).toEqual([bad, worse])
    expect(table.withStatus('DONE').map(({ event }) => event.eventId)).toEqual(rest)
    await outbox.stop()
  })
})
