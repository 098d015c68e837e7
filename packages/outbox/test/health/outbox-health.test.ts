import { NonRetryableError, UnavailableError } from '@waybill/core'
import { Outbox } from '@waybill/outbox'
import { modeShard, soleNodeShard } from '@waybill/outbox/internal'
import { describe, expect, test } from 'vitest'
import { createHarness, lines, type OutboxHarness, orderEvent } from '../support/outbox-harness.ts'

const modes = {
  'Outbox.singleNode': (harness: OutboxHarness) => Outbox.singleNode(harness.base),
  'Outbox.multiNode': (harness: OutboxHarness) =>
    Outbox.multiNode({ ...harness.base, claimLocking: { timeoutMs: 30_000 } }),
  'Outbox.keyed': (harness: OutboxHarness) => Outbox.keyed(harness.base),
  'Outbox.leasing': (harness: OutboxHarness) => Outbox.leasing(harness.base),
  'Outbox.ordered': (harness: OutboxHarness) => Outbox.ordered(harness.base),
} as const
const names = Object.keys(modes) as (keyof typeof modes)[]

/** Runs an outbox of a mode, and stops it. */
async function running(
  mode: keyof typeof modes,
  act: (harness: OutboxHarness, outbox: ReturnType<typeof Outbox.keyed>) => Promise<void>,
): Promise<void> {
  const harness = createHarness()
  await harness.runtime.run(async () => {
    const outbox = modes[mode](harness)
    await outbox.start()
    await act(harness, outbox)
    await outbox.stop({ deadlineMs: 10_000 }).catch(() => {}) // Some tests leave a listener running.
  })
}

const hang = (): Promise<never> => new Promise(() => {})
const kindsOf = (outbox: ReturnType<typeof Outbox.keyed>): string[] => outbox.health().reasons.map(({ kind }) => kind)

describe.each(names)('the health of %s', (mode) => {
  test('is UP and ready while it runs, JSON-safe, and not ready before and after', async () => {
    const harness = createHarness()
    const outbox = modes[mode](harness)
    expect([outbox.ready(), outbox.health()]).toEqual([
      false,
      { status: 'UP', reasons: [], remarks: [`${mode} is CREATED.`], table: null },
    ])
    await harness.runtime.run(async () => {
      await outbox.start()
      await harness.runtime.timers.sleep(20_000)
      const health = outbox.health()
      expect([outbox.ready(), health.status, health.reasons]).toEqual([true, 'UP', []])
      expect(health.table).toMatchObject({ pending: 0, retrying: 0, dead: 0, more: false, oldestAgeMs: 0 })
      expect(JSON.parse(JSON.stringify(health))).toEqual(health)
      expect(harness.metrics.latest('outbox.health')).toBe(0)
      await outbox.stop()
      expect(outbox.ready()).toBe(false)
    })
  })

  test('is DOWN and not ready while the database does not answer, and recovers by itself', async () => {
    await running(mode, async ({ outbox: table, runtime, metrics }, outbox) => {
      const silence = Promise.withResolvers<void>()
      table.before = () => silence.promise
      await runtime.timers.sleep(25_000)
      expect([outbox.ready(), outbox.health().status]).toEqual([false, 'DOWN'])
      expect(outbox.health().reasons[0]).toMatchObject({ kind: 'DATABASE_UNAVAILABLE', waiting: null })
      expect(metrics.latest('outbox.health')).toBe(2)
      table.before = () => {}
      silence.resolve()
      await runtime.timers.sleep(30_000)
      expect([outbox.ready(), outbox.health().status]).toEqual([true, 'UP'])
    })
  })

  test('counts dead events, and the count survives a restart', async () => {
    const harness = createHarness()
    harness.behaviour = async () => {
      throw new NonRetryableError('refused')
    }
    harness.outbox.add(orderEvent(1), orderEvent(2))
    await harness.runtime.run(async () => {
      for (let run = 0; run < 2; run++) {
        const outbox = modes[mode](harness)
        await outbox.start()
        await harness.runtime.timers.sleep(20_000)
        const { status, reasons, table } = outbox.health()
        expect([status, table?.dead, harness.metrics.latest('outbox.rows.dead')]).toEqual(['DEGRADED', 2, 2])
        expect(reasons).toMatchObject([{ kind: 'DEAD_EVENTS', status: 'DEGRADED', waiting: 2 }])
        expect(outbox.ready()).toBe(true)
        await outbox.stop()
        harness.metrics.gauge('outbox.rows.dead', {}, -1)
        await harness.runtime.timers.sleep(20_000)
      }
    })
  })

  test('names an unavailable destination, since when, why and how many events wait, and stays ready', async () => {
    await running(mode, async (harness, outbox) => {
      harness.behaviour = async () => {
        throw new UnavailableError('no broker answers')
      }
      const writtenAt = harness.runtime.clock.now()
      harness.outbox.add(orderEvent(1), orderEvent(2))
      await harness.runtime.timers.sleep(600_000)
      const { status, reasons, table } = outbox.health()
      const reason = reasons.find(({ kind }) => kind === 'DESTINATION_UNAVAILABLE')
      expect([status, outbox.ready(), table?.pending, table?.dead]).toEqual(['DEGRADED', true, 2, 0])
      expect(reason?.what).toContain('Destination order.placed is unavailable')
      expect(reason?.what).toContain('no broker answers')
      expect(reason?.waiting).toBeGreaterThanOrEqual(1)
      expect(Date.parse(reason?.since ?? '') - writtenAt).toBeLessThan(10_000)
      expect(harness.metrics.latest('outbox.lag.oldest.ms')).toBeGreaterThan(550_000)
      harness.behaviour = async () => {}
      await harness.runtime.timers.sleep(60_000)
      expect([outbox.health().status, harness.outbox.withStatus('DONE').length]).toEqual(['UP', 2])
    })
  })

  test('is DOWN while nodes of another mode use the table, and says which', async () => {
    await running(mode, async ({ outbox: table, runtime }, outbox) => {
      const until = runtime.clock.now() + 60_000
      await runtime.timers.sleep(6_000)
      table.shards.set(modeShard, { owner: 'Outbox.other', version: 100n, until })
      await runtime.timers.sleep(20_000)
      const [reason] = outbox.health().reasons
      expect(reason).toMatchObject({ kind: 'MODE_CONFLICT', status: 'DOWN' })
      expect(reason?.what).toContain('Outbox.other')
      expect(outbox.ready()).toBe(true)
    })
  })

  test('is DOWN when a listener does not finish, and says which and since when', async () => {
    await running(mode, async (harness, outbox) => {
      harness.behaviour = hang
      const writtenAt = harness.runtime.clock.now()
      harness.outbox.add(orderEvent(1))
      await harness.runtime.timers.sleep(320_000)
      const stall = outbox.health().reasons.find(({ kind }) => kind === 'LISTENER_STALLED')
      expect(stall).toMatchObject({ status: 'DOWN', waiting: 1 })
      expect(stall?.what).toContain('the listener of order.placed event-1')
      expect(Math.abs(Date.parse(stall?.since ?? '') - writtenAt)).toBeLessThan(15_000)
      expect(kindsOf(outbox)).toContain('BACKLOG')
    })
  })
})

test('the health of a mode whose start failed is DOWN with the reason', async () => {
  const harness = createHarness()
  harness.outbox.before = () => {
    throw new Error('no such table: outbox_event')
  }
  await harness.runtime.run(async () => {
    const outbox = modes['Outbox.keyed'](harness)
    await expect(outbox.start()).rejects.toThrow('no such table')
    const { status, reasons } = outbox.health()
    expect([status, reasons[0]?.kind]).toEqual(['DOWN', 'START_FAILED'])
    expect(reasons[0]?.what).toContain('Outbox.keyed could not start: Error: no such table: outbox_event')
  })
})

test.each(['Outbox.singleNode', 'Outbox.ordered'] as const)(
  'the health of %s is DOWN while another node holds its table',
  async (mode) => {
    await running(mode, async ({ outbox: table, runtime }, outbox) => {
      table.shards.set(soleNodeShard, { owner: 'thief', version: 100n, until: runtime.clock.now() + 60_000 })
      await runtime.timers.sleep(20_000)
      expect(outbox.health().reasons[0]).toMatchObject({ kind: 'TABLE_HELD', status: 'DOWN' })
    })
  },
)

test('the health of keyed is DEGRADED while too many keys are held back', async () => {
  const harness = createHarness()
  harness.behaviour = async () => ({ retryAfterMs: 3_600_000 })
  harness.outbox.add(...[1, 2, 3].map((n) => orderEvent(n)))
  await harness.runtime.run(async () => {
    const outbox = Outbox.keyed({ ...harness.base, maxHeldKeys: 2 })
    await outbox.start()
    await harness.runtime.timers.sleep(20_000)
    expect(outbox.health().reasons).toMatchObject([{ kind: 'SATURATED', status: 'DEGRADED', waiting: 3 }])
    await outbox.stop()
  })
})

test('the health of an instance whose partitions another one leases is DEGRADED', async () => {
  const harness = createHarness()
  await harness.runtime.run(async () => {
    const first = modes['Outbox.leasing'](harness)
    const second = modes['Outbox.leasing'](harness)
    await first.start()
    await second.start()
    await harness.runtime.timers.sleep(20_000)
    expect([first.health().status, second.health().reasons[0]?.kind]).toEqual(['UP', 'NO_SHARDS'])
    await Promise.all([first.stop(), second.stop()])
  })
})

test('a change of the status is logged once, with its reasons', async () => {
  await running('Outbox.keyed', async (harness) => {
    harness.behaviour = async () => {
      throw new NonRetryableError('refused')
    }
    harness.outbox.add(orderEvent(1))
    await harness.runtime.timers.sleep(60_000)
    const changes = harness.logger.lines.filter(({ text }) => text === 'Outbox health changed')
    expect(changes.map(({ level, fields }) => [level, fields['status'], fields['reasons']])).toEqual([
      ['WARN', 'DEGRADED', ['1 events are DEAD.']],
    ])
  })
})

test('a failed query of the table is logged, leaves the gauges as they were, and is repeated', async () => {
  await running('Outbox.multiNode', async (harness) => {
    const { outbox: table, runtime, metrics } = harness
    await runtime.timers.sleep(5_000)
    table.add(orderEvent(1))
    harness.behaviour = async () => ({ retryAfterMs: 3_600_000 })
    table.before = (call) => {
      if (call === 'backlog') throw new Error('canceled')
    }
    await runtime.timers.sleep(30_000)
    expect(metrics.latest('outbox.rows.pending')).toBe(0)
    expect(lines(harness, 'ERROR')).toContain('Backlog query failed, retrying')
    table.before = () => {}
    await runtime.timers.sleep(10_000)
    expect(metrics.latest('outbox.rows.pending')).toBe(1)
  })
})

test('a slow query of the table runs less often', async () => {
  await running('Outbox.multiNode', async ({ outbox: table, runtime }) => {
    table.before = (call) => (call === 'backlog' ? runtime.timers.sleep(2_000) : undefined)
    await runtime.timers.sleep(20_000)
    const before = table.calls.filter((call) => call === 'backlog').length
    await runtime.timers.sleep(900_000)
    const queries = table.calls.filter((call) => call === 'backlog').length - before
    expect(queries).toBeLessThanOrEqual(5)
    expect(queries).toBeGreaterThanOrEqual(4)
  })
})

test('a locked table is reported although leases are renewed', async () => {
  await running('Outbox.keyed', async ({ outbox: table, runtime }, outbox) => {
    const locked = Promise.withResolvers<void>()
    table.before = (call) => (['readShards', 'backlog'].includes(call) ? locked.promise : undefined)
    await runtime.timers.sleep(60_000)
    const since = runtime.clock.now() - 60_000
    const [blocked] = outbox.health().reasons
    expect([blocked?.kind, blocked?.status, outbox.ready()]).toEqual(['STATEMENT_STALLED', 'DEGRADED', true])
    expect(Date.parse(blocked?.since ?? '') - since).toBeLessThan(11_000)
    await runtime.timers.sleep(300_000)
    expect(outbox.health().status).toBe('DOWN')
    locked.resolve()
    await runtime.timers.sleep(20_000)
    expect(outbox.health().status).toBe('UP')
  })
})

test('writerOnly is ready while its database answers, and counts no rows', async () => {
  const harness = createHarness()
  const { events, database, store, runtime } = harness.base
  await runtime.run(async () => {
    const outbox = Outbox.writerOnly({ events, database, store, runtime })
    await outbox.start()
    harness.outbox.add(orderEvent(1))
    await runtime.timers.sleep(20_000)
    expect([outbox.ready(), outbox.health()]).toEqual([true, { status: 'UP', reasons: [], remarks: [], table: null }])
    expect(harness.metrics.latest('outbox.rows.pending')).toBe(undefined)
    harness.outbox.before = hang
    await runtime.timers.sleep(30_000)
    expect([outbox.ready(), outbox.health().reasons[0]?.kind]).toEqual([false, 'DATABASE_UNAVAILABLE'])
    await outbox.stop()
  })
})
