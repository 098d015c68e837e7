import { StateError } from '@waybill/core'
import { Outbox, PublishedUnknownError } from '@waybill/outbox'
import { describe, expect, test } from 'vitest'
import { createHarness, lines, type OutboxHarness } from '../support/outbox-harness.ts'

const settings = { intervalMs: 600_000, whenDone: 'DELETE' } as const
const modes = [
  ['singleNode', (harness: OutboxHarness) => Outbox.singleNode({ ...harness.base, ...settings })],
  [
    'multiNode',
    (harness: OutboxHarness) => Outbox.multiNode({ ...harness.base, ...settings, claimLocking: { timeoutMs: 60_000 } }),
  ],
] as const

/** Takes the newest row back, as a savepoint does that is rolled back. */
function undoLast({ outbox }: OutboxHarness): void {
  outbox.rows.pop()
}

describe.each(modes)('%s, where a savepoint may undo rows', (_, node) => {
  test('delivers past the table what is in it, and never what was rolled back with its savepoint', async () => {
    const harness = createHarness()
    harness.outbox.hasSavepoints = true
    const outbox = node(harness)
    await harness.runtime.run(async () => {
      await outbox.start()
      const [kept, undone] = await harness.outbox.transaction(async (tx) => {
        const ids = [await outbox.write(tx, 'order.placed', {}), await outbox.write(tx, 'order.placed', {})]
        undoLast(harness)
        return ids
      })
      await outbox.published(kept ?? null, { deadlineMs: 1_000 })
      await expect(outbox.published(undone ?? null, { deadlineMs: 1_000 })).rejects.toThrow(PublishedUnknownError)
      await harness.runtime.timers.sleep(120_000)
      await outbox.stop()
      expect(harness.deliveredIds()).toEqual([kept])
    })
    expect(harness.metrics.total('outbox.enqueue.hot')).toBe(1)
    expect(harness.outbox.rows).toEqual([])
  })

  test('looks once for all that commit together, and keeps no place of what is gone', async () => {
    const harness = createHarness()
    harness.outbox.hasSavepoints = true
    const outbox = node(harness)
    await harness.runtime.run(async () => {
      await outbox.start()
      const open = Array.from({ length: 20 }, () => harness.outbox.open())
      for (const { tx } of open) await outbox.write(tx, 'order.placed', {})
      for (const { commit } of open) commit()
      await harness.until(() => harness.delivered.length === 20)
      await outbox.stop()
    })
    expect(harness.outbox.calls.filter((call) => call === 'findPending')).toEqual(['findPending'])
    expect(harness.outbox.rows).toEqual([])
  })

  test('leaves to the poller what the database does not tell', async () => {
    const harness = createHarness()
    harness.outbox.hasSavepoints = true
    harness.outbox.before = (call) => {
      if (call === 'findPending') throw new StateError('the database does not answer')
    }
    const outbox = node(harness)
    await harness.runtime.run(async () => {
      await outbox.start()
      const id = await harness.outbox.transaction((tx) => outbox.write(tx, 'order.placed', {}))
      await harness.runtime.timers.sleep(10)
      expect(harness.delivered).toEqual([])
      outbox.lookNow()
      await harness.until(() => harness.delivered.length === 1)
      expect(harness.deliveredIds()).toEqual([id])
      await outbox.stop()
    })
    expect(lines(harness, 'WARN')).toContain('Query of committed rows failed; rows left to the poller')
  })

  test('stops after the look, and sends nothing for a transaction that outlives it', async () => {
    const harness = createHarness()
    harness.outbox.hasSavepoints = true
    harness.outbox.latencyMs = 50
    const outbox = node(harness)
    await harness.runtime.run(async () => {
      await outbox.start()
      const [early, late] = [harness.outbox.open(), harness.outbox.open()]
      for (const { tx } of [early, late]) await outbox.write(tx, 'order.placed', {})
      early.commit()
      await outbox.stop()
      expect(harness.delivered.length).toBe(1)
      harness.outbox.calls.length = 0
      late.commit()
      await harness.runtime.timers.sleep(600_000)
    })
    expect(harness.outbox.calls).toEqual([])
    expect(harness.outbox.withStatus('NEW').length).toBe(1)
  })
})

test.each([
  ['ordered', (harness: OutboxHarness) => Outbox.ordered({ ...harness.base, whenDone: 'DELETE' })],
  ['keyed', (harness: OutboxHarness) => Outbox.keyed({ ...harness.base, whenDone: 'DELETE' })],
] as const)('%s never says of a row that was rolled back with its savepoint that it is published', async (_, node) => {
  const harness = createHarness()
  harness.outbox.hasSavepoints = true
  const outbox = node(harness)
  await harness.runtime.run(async () => {
    await outbox.start()
    const undone = await harness.outbox.transaction(async (tx) => {
      const id = await outbox.write(tx, 'order.placed', {})
      undoLast(harness)
      return id
    })
    await expect(outbox.published(undone, { deadlineMs: 1_000 })).rejects.toThrow(PublishedUnknownError)
    const kept = await harness.outbox.transaction((tx) => outbox.write(tx, 'order.placed', {}))
    await outbox.published(kept, { deadlineMs: 60_000 })
    await outbox.stop()
    expect(harness.deliveredIds()).toEqual([kept])
  })
})

test('a commit while the last outcomes of a stop are written is left to the poller, and looked for no more', async () => {
  const harness = createHarness()
  harness.outbox.hasSavepoints = true
  const outbox = Outbox.singleNode({ ...harness.base, drainTimeoutMs: 100 })
  const looks = (): number => harness.outbox.calls.filter((call) => call === 'findPending').length
  await harness.runtime.run(async () => {
    await outbox.start()
    const open = harness.outbox.open()
    await outbox.write(open.tx, 'order.placed', {})
    harness.outbox.before = async (call) => {
      if (call === 'markDone' || call === 'findPending') await harness.runtime.timers.sleep(1_000)
    }
    await harness.outbox.transaction((tx) => outbox.write(tx, 'order.placed', {}))
    await harness.until(() => harness.delivered.length === 1)
    const stopped = outbox.stop()
    await harness.runtime.timers.sleep(500)
    open.commit()
    await stopped
    expect(looks()).toBe(1)
  })
  expect(harness.outbox.withStatus('NEW').length).toBe(1)
})
