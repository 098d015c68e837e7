import { StateError } from '@waybill/core'
import { Outbox, OutboxModeError } from '@waybill/outbox'
import { modeShard } from '@waybill/outbox/internal'
import { expect, test } from 'vitest'
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
const pairs = names.flatMap((one) => names.filter((other) => other !== one).map((other) => [one, other] as const))

test.each(pairs)('while %s works on a table, %s does not start on it, and its error names both', async (one, other) => {
  const harness = createHarness()
  const [first, second] = [modes[one](harness), modes[other](harness)]
  await harness.runtime.run(async () => {
    await first.start()
    const refused: unknown = await second.start().catch((error: unknown) => error)
    expect(refused).toBeInstanceOf(OutboxModeError)
    expect(String(refused)).toContain(`${other} cannot start: nodes of ${one} use its table`)
    expect((refused as OutboxModeError).other).toBe(one)
    await first.stop()
  })
})

test.each(pairs)('once the nodes of %s are gone, %s starts by itself and delivers', async (one, other) => {
  const harness = createHarness()
  await harness.runtime.run(async () => {
    const first = modes[one](harness)
    await first.start()
    await first.stop()
    harness.outbox.add(orderEvent(1))
    const second = modes[other](harness)
    await second.start()
    await harness.until(() => harness.delivered.length === 1)
    await second.stop()
  })
})

test.each(['Outbox.multiNode', 'Outbox.keyed'] as const)('nodes of %s come and go side by side', async (mode) => {
  const harness = createHarness()
  await harness.runtime.run(async () => {
    const [first, second] = [modes[mode](harness), modes[mode](harness)]
    await first.start()
    await harness.runtime.timers.sleep(20_000)
    const startedAt = harness.runtime.clock.monotonic()
    await second.start()
    expect(harness.runtime.clock.monotonic()).toBe(startedAt)
    await first.stop()
    await harness.runtime.timers.sleep(60_000)
    expect(harness.outbox.shards.get(modeShard)?.owner).toBe(mode)
    await expect(modes['Outbox.ordered'](harness).start()).rejects.toThrow(OutboxModeError)
    await second.stop()
  })
})

test.each(['Outbox.multiNode', 'Outbox.keyed', 'Outbox.singleNode'] as const)(
  'a node of %s that wakes up under another mode takes nothing, until that is gone',
  async (mode) => {
    const harness = createHarness()
    const outbox = modes[mode](harness)
    await harness.runtime.run(async () => {
      await outbox.start()
      await harness.runtime.timers.sleep(6_000)
      harness.outbox.shards.set(modeShard, {
        owner: 'Outbox.other',
        version: 100n,
        until: harness.runtime.clock.now() + 60_000,
      })
      await harness.runtime.timers.sleep(10_000)
      harness.outbox.add(orderEvent(1))
      await harness.runtime.timers.sleep(30_000)
      expect(harness.delivered).toEqual([])
      expect(lines(harness, 'ERROR')).toContain('Table taken by another mode; delivery paused')
      await harness.until(() => harness.delivered.length === 1)
      await outbox.stop()
    })
  },
)

/** A node that stood still, as the table sees it: it does not take its mark again. @returns what lets it go on */
function standStill({ outbox }: OutboxHarness): () => void {
  const goesOn = Promise.withResolvers<void>()
  outbox.before = (call) => (call === 'takeShards' ? goesOn.promise : undefined)
  return () => {
    outbox.before = () => {}
    goesOn.resolve()
  }
}

test('a database that does not answer keeps a node shut out until it does, and no longer', async () => {
  const harness = createHarness()
  const outbox = modes['Outbox.multiNode'](harness)
  await harness.runtime.run(async () => {
    await outbox.start()
    harness.outbox.before = (call) => {
      if (call === 'takeShards') throw new StateError('no answer')
    }
    await harness.runtime.timers.sleep(8_000)
    harness.outbox.add(orderEvent(1))
    await harness.until(() => harness.delivered.length === 1)
    await harness.runtime.timers.sleep(60_000)
    harness.outbox.add(orderEvent(2))
    await harness.runtime.timers.sleep(10_000)
    expect(harness.delivered.length).toBe(1)
    harness.outbox.before = () => {}
    await harness.until(() => harness.delivered.length === 2)
    await outbox.stop()
  })
})

test.each(['Outbox.multiNode', 'Outbox.singleNode'] as const)(
  'what %s writes is not delivered past the table once its mark may have run out',
  async (mode) => {
    const harness = createHarness()
    const { runtime, outbox: table } = harness
    const outbox = modes[mode](harness)
    await runtime.run(async () => {
      await outbox.start()
      const goOn = standStill(harness)
      await runtime.timers.sleep(14_000)
      await table.transaction((tx) => outbox.write(tx, 'order.placed', {}))
      expect(table.rows.map(({ lockedBy }) => lockedBy)).toEqual([null])
      await runtime.timers.sleep(30_000)
      expect(harness.delivered).toEqual([])
      goOn()
      await harness.until(() => harness.delivered.length === 1)
      await outbox.stop()
    })
  },
)

test.each([
  [
    'Outbox.multiNode',
    (harness: OutboxHarness, claimLocking: { timeoutMs: number }) =>
      Outbox.multiNode({ ...harness.base, workerCount: 1, claimLocking }),
  ],
  [
    'Outbox.keyed',
    (harness: OutboxHarness, claimLocking: { timeoutMs: number }) =>
      Outbox.keyed({ ...harness.base, workerCount: 1, claimLocking }),
  ],
] as const)('what %s has in memory does not start once its mark may have run out', async (_, create) => {
  const harness = createHarness()
  const { runtime, outbox: table } = harness
  harness.behaviour = () => runtime.timers.sleep(20_000)
  table.add(orderEvent(1), orderEvent(2))
  // Longer than the mark's: rows, or shards, are this node's for as long as the test lasts.
  const outbox = create(harness, { timeoutMs: 300_000 })
  await runtime.run(async () => {
    await outbox.start()
    const goOn = standStill(harness)
    await runtime.timers.sleep(50_000)
    expect(harness.delivered.length).toBe(1)
    goOn()
    await harness.until(() => harness.delivered.length === 2)
    await outbox.stop({ deadlineMs: 60_000 })
  })
  expect(new Set(harness.deliveredIds()).size).toBe(2)
})

test.each(names)('%s does not start without its table', async (mode) => {
  const harness = createHarness()
  harness.outbox.before = (call) => {
    if (call === 'backlog') throw new StateError('no such table')
  }
  const outbox = modes[mode](harness)
  await harness.runtime.run(async () => {
    await expect(outbox.start()).rejects.toThrow('no such table')
  })
})
