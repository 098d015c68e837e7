/** L2: a row that another transaction has locked delays its own key, and no other. */

import { createEnvelope, type EventEnvelope } from '@waybill/core'
import { Outbox } from '@waybill/outbox'
import { shardOf } from '@waybill/outbox/internal'
import { describe, expect, test } from 'vitest'
import { createHarness, type OutboxHarness } from '../support/outbox-harness.ts'

const claimLocking = { timeoutMs: 20_000 }
const modes = {
  'Outbox.keyed': ({ base }: OutboxHarness) => Outbox.keyed({ ...base, intervalMs: 100, claimLocking }),
  'Outbox.leasing': ({ base }: OutboxHarness) => Outbox.leasing({ ...base, intervalMs: 100, claimLocking }),
} as const

/** More events than outcomes may be unconfirmed, of a hundred keys. */
const others = 4_000
const ofLocked = 1_500

function event(eventId: string, aggregateId: string): EventEnvelope {
  return createEnvelope({ eventId, eventType: 'order.placed', aggregateId, payloadJson: '{}' })
}

/** Returns another key of the same shard. */
function keyBeside(key: string): string {
  const shard = shardOf(event('any', key))
  for (let n = 0; ; n++) if (shardOf(event('any', `beside-${n}`)) === shard) return `beside-${n}`
}

describe.each(Object.entries(modes))('%s', (_, create) => {
  test('L2 delivers all other keys while one row is locked, and the rest of its key afterward in order', async () => {
    const harness = createHarness()
    const { runtime, outbox: table } = harness
    const [first] = table.add(...Array.from({ length: ofLocked }, (_none, n) => event(`locked-${n}`, 'locked')))
    table.add(...Array.from({ length: others }, (_none, n) => event(`other-${n}`, `key-${n % 100}`)))
    table.locked.add(first?.seq as bigint)
    const outbox = create(harness)
    await runtime.run(async () => {
      await outbox.start()
      await harness.until(() => table.withStatus('DONE').length === others)
      await runtime.timers.sleep(30_000)
      expect(table.withStatus('NEW').length).toBe(ofLocked)
      table.locked.clear()
      await harness.until(() => table.withStatus('DONE').length === others + ofLocked)
      await outbox.stop()
    })
    const delivered = harness.deliveredIds().filter((id) => id.startsWith('locked'))
    expect(delivered).toEqual(Array.from({ length: ofLocked }, (_none, n) => `locked-${n}`))
  })

  test('L2 takes a shard again that it lost while the outcome of a locked row waited', async () => {
    const harness = createHarness()
    const { runtime, outbox: table } = harness
    const [first] = table.add(event('locked-0', 'locked'), event('locked-1', 'locked'))
    table.locked.add(first?.seq as bigint)
    const outbox = create(harness)
    await runtime.run(async () => {
      await outbox.start()
      await harness.until(() => harness.delivered.length === 2)
      const lease = table.shards.get(shardOf(first?.event as EventEnvelope))
      if (lease !== undefined) lease.version += 1n // As if another node had held it in the meantime.
      await runtime.timers.sleep(30_000)
      table.add(event('other', keyBeside('locked')))
      await harness.until(() => table.withStatus('DONE').length === 1)
      table.locked.clear()
      await harness.until(() => table.withStatus('DONE').length === 3)
      await outbox.stop()
    })
    expect(harness.deliveredIds()).toEqual(['locked-0', 'locked-1', 'locked-0', 'locked-1', 'other'])
  })
})
