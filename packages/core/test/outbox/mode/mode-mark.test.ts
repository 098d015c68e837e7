import { StateError } from '@waybill/core'
import { modeShard, Outbox, OutboxModeError } from '@waybill/core/outbox'
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
    expect(String(refused)).toContain(`${other} was to start on a table that ${one} works on`)
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
      expect(lines(harness, 'ERROR')).toContain('Another mode has the table; nothing is taken from it meanwhile')
      await harness.until(() => harness.delivered.length === 1)
      await outbox.stop()
    })
  },
)

test('a database that does not answer for a while does not shut a node out', async () => {
  const harness = createHarness()
  const outbox = modes['Outbox.multiNode'](harness)
  await harness.runtime.run(async () => {
    await outbox.start()
    harness.outbox.before = (call) => {
      if (call === 'takeShards') throw new StateError('no answer')
    }
    await harness.runtime.timers.sleep(60_000)
    harness.outbox.add(orderEvent(1))
    await harness.until(() => harness.delivered.length === 1)
    await outbox.stop()
  })
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
