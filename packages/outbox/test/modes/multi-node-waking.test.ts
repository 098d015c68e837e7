import { applicationOperator } from '@waybill/core'
import { createDeadEvents, Outbox, type WakeUp } from '@waybill/outbox'
import { type ClaimOptions } from '@waybill/outbox/internal'
import { describe, expect, test } from 'vitest'
import { createHarness, type OutboxHarness, orderEvent } from '../support/outbox-harness.ts'

function node(harness: OutboxHarness, options: Partial<ClaimOptions<never, never>> = {}, owner = 'node') {
  return Outbox.multiNode({ ...harness.base, claimLocking: { owner, timeoutMs: 60_000 }, ...options })
}

/** Nodes that hear each other, and what they said. */
function hearing(): { wakeUp: WakeUp; said: () => number } {
  const wakes = new Set<() => void>()
  let said = 0
  const wakeUp: WakeUp = {
    async announce() {
      said++
      for (const wake of wakes) wake()
    },
    async listen(wake) {
      wakes.add(wake)
      return { [Symbol.asyncDispose]: async () => void wakes.delete(wake) }
    },
  }
  return { wakeUp, said: () => said }
}

describe('rows that no hot path took', () => {
  test('are told to the other nodes, and taken by one of them at once', async () => {
    const harness = createHarness()
    const { wakeUp } = hearing()
    const writer = node(harness, { wakeUp }, 'writer')
    const reader = node(harness, { wakeUp, intervalMs: 600_000 }, 'reader')
    await harness.runtime.run(async () => {
      await reader.start() // The writer is not started: it has no hot path.
      await harness.runtime.timers.sleep(1_000)
      await harness.outbox.transaction((tx) => writer.write(tx, 'order.placed', {}))
      await harness.runtime.timers.sleep(50)
      expect(harness.delivered).toHaveLength(1)
      await reader.stop()
    })
  })

  test('are all that is told: what is delivered here, or not due yet, is nobody else’s affair', async () => {
    const harness = createHarness()
    const { wakeUp, said } = hearing()
    const outbox = node(harness, { wakeUp })
    await harness.runtime.run(async () => {
      await outbox.start()
      await harness.outbox.transaction((tx) => outbox.write(tx, 'order.placed', {}))
      const availableAt = harness.runtime.clock.now() + 100
      await harness.outbox.transaction((tx) => outbox.write(tx, 'order.placed', {}, { availableAt }))
      await harness.until(() => harness.delivered.length === 2)
      await outbox.stop()
    })
    expect(said()).toBe(0)
  })
})

test('a replayed event is delivered at once if its outbox is given', async () => {
  const harness = createHarness()
  const { database, store, runtime } = harness.base
  const outbox = node(harness, { maxAttempts: 1, intervalMs: 1_000 })
  const dead = createDeadEvents({ database, store, runtime, outbox })
  harness.behaviour = async () => {
    throw new Error('not now')
  }
  await harness.runtime.run(async () => {
    await outbox.start()
    const id = (await harness.outbox.transaction((tx) => outbox.write(tx, 'order.placed', {}))) as string
    await harness.until(() => harness.outbox.withStatus('DEAD').length === 1)
    harness.behaviour = async () => {}
    harness.outbox.add(orderEvent(1))
    // Polls then begin above the row that was read meanwhile, and so above the dead one.
    await harness.runtime.timers.sleep(10_000)
    const askedAt = harness.runtime.clock.monotonic()
    expect(await dead.replay(id, applicationOperator())).toBe(true)
    await harness.until(() => harness.delivered.length === 3)
    expect(harness.runtime.clock.monotonic() - askedAt).toBeLessThan(100)
    expect(harness.deliveredIds()).toEqual([id, 'event-1', id])
    await outbox.stop()
  })
})
