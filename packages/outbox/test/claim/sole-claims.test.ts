import { StopDeadlineError } from '@waybill/core'
import { Outbox } from '@waybill/outbox'
import { soleNodeShard } from '@waybill/outbox/internal'
import { describe, expect, test } from 'vitest'
import { createHarness, lines, type OutboxHarness, orderEvent } from '../support/outbox-harness.ts'

const modes = {
  'Outbox.singleNode': (harness: OutboxHarness) => Outbox.singleNode({ ...harness.base, intervalMs: 100 }),
  'Outbox.ordered': (harness: OutboxHarness) => Outbox.ordered({ ...harness.base, intervalMs: 100 }),
} as const
const names = Object.keys(modes) as (keyof typeof modes)[]

/** Another node takes the table, as it may once this one has stood still for longer than its lease. */
function takeTable({ outbox, runtime }: OutboxHarness, forMs: number): void {
  const version = (outbox.shards.get(soleNodeShard)?.version ?? 0n) + 1n
  outbox.shards.set(soleNodeShard, { owner: 'heir', version, until: runtime.clock.now() + forMs })
}

describe.each(names)('a node of %s whose table was taken while it stood still', (name) => {
  test.each(['fails', 'succeeds'])('changes nothing of a row whose listener %s then (I5, I6)', async (how) => {
    const harness = createHarness()
    const { runtime, outbox: table } = harness
    harness.behaviour = async () => {
      await runtime.timers.sleep(1_000)
      if (how === 'fails') throw new Error('not now')
    }
    const [row] = table.add(orderEvent(1))
    const outbox = modes[name](harness)
    await runtime.run(async () => {
      await outbox.start()
      await harness.until(() => harness.delivered.length === 1)
      takeTable(harness, 60_000)
      // The successor's change in the meantime.
      Object.assign(row as object, { status: 'RETRY', attempts: 3, availableAt: runtime.clock.now() + 60_000 })
      await runtime.timers.sleep(2_000)
      expect(row).toMatchObject({ status: 'RETRY', attempts: 3 })
      await outbox.stop()
    })
    expect(harness.metrics.total('outbox.finish.fenced')).toBe(1)
  })

  test('delivers under its next lease what it could not finish under the former one', async () => {
    const harness = createHarness()
    const { runtime } = harness
    harness.outbox.add(orderEvent(1))
    harness.behaviour = () => runtime.timers.sleep(100)
    const outbox = modes[name](harness)
    await runtime.run(async () => {
      await outbox.start()
      await harness.until(() => harness.delivered.length === 1)
      takeTable(harness, 1_000)
      await harness.until(() => harness.outbox.withStatus('DONE').length === 1)
      await outbox.stop()
    })
    expect(harness.deliveredIds()).toEqual(['event-1', 'event-1'])
  })
})

test('in ordered, what comes behind waits for a finish under a former lease, and for the repeat (I7)', async () => {
  const harness = createHarness()
  const { runtime, outbox: table } = harness
  const answer = Promise.withResolvers<void>()
  table.before = (call) => (call === 'markDone' ? answer.promise : undefined)
  table.add(orderEvent(1))
  const outbox = modes['Outbox.ordered'](harness)
  await runtime.run(async () => {
    await outbox.start()
    await harness.until(() => harness.delivered.length === 1)
    takeTable(harness, 1_000)
    await harness.until(() => lines(harness, 'INFO').includes('Table lease reacquired'))
    table.add(orderEvent(2))
    await runtime.timers.sleep(1_000)
    expect(harness.deliveredIds()).toEqual(['event-1'])
    answer.resolve()
    await harness.until(() => table.withStatus('DONE').length === 2)
    await outbox.stop()
  })
  expect(harness.deliveredIds()).toEqual(['event-1', 'event-1', 'event-2'])
})

test('in ordered, a finish refused during a look keeps back what the look has read behind it (I7)', async () => {
  const harness = createHarness()
  const { runtime, outbox: table } = harness
  const [finish, look] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  table.before = (call) => (call === 'markDone' ? finish.promise : undefined)
  table.add(orderEvent(1))
  const outbox = modes['Outbox.ordered'](harness)
  await runtime.run(async () => {
    await outbox.start()
    await harness.until(() => harness.delivered.length === 1)
    takeTable(harness, 1_000)
    await harness.until(() => lines(harness, 'INFO').includes('Table lease reacquired'))
    table.add(orderEvent(2))
    let hasLooked = false
    table.after = (call) => {
      if (call !== 'pollPending') return undefined
      hasLooked = true
      return look.promise
    }
    await harness.until(() => hasLooked)
    finish.resolve()
    await runtime.timers.sleep(100)
    table.after = () => {}
    look.resolve()
    await harness.until(() => table.withStatus('DONE').length === 2)
    await outbox.stop()
  })
  expect(harness.deliveredIds()).toEqual(['event-1', 'event-1', 'event-2'])
})

test.each(names)(
  '%s keeps its table while a listener of it ignores its signal: the lease ends by itself',
  async (name) => {
    const harness = createHarness()
    const { runtime } = harness
    const ended = Promise.withResolvers<void>()
    harness.behaviour = () => ended.promise
    harness.outbox.add(orderEvent(1))
    const [first, second] = [modes[name](harness), modes[name](harness)]
    await runtime.run(async () => {
      await first.start()
      await harness.until(() => harness.delivered.length === 1)
      const stopping = first.stop({ deadlineMs: 500 })
      await expect(stopping).rejects.toBeInstanceOf(StopDeadlineError)
      await runtime.timers.sleep(1_000)
      expect(harness.outbox.shards.get(soleNodeShard)?.until).toBeGreaterThan(runtime.clock.now())
      await second.start()
      // Renewed last before the stop, at most ten seconds ago.
      expect(harness.outbox.shards.get(soleNodeShard)?.version).toBe(2n)
      expect(runtime.clock.monotonic()).toBeGreaterThan(9_000)
      ended.resolve()
      await second.stop()
    })
    expect(lines(harness, 'WARN')).toContain('Listener still running; table lease left to expire')
  },
)
