import { createEnvelope } from '@waybill/core'
import { Outbox } from '@waybill/outbox'
import { shardOf } from '@waybill/outbox/internal'
import { expect, test } from 'vitest'
import { createHarness } from '../support/outbox-harness.ts'

const eventOf = (key: string, eventId: string) =>
  createEnvelope({ eventId, eventType: 'order.placed', aggregateId: key, payloadJson: '{}' })

const shardOfKey = (key: string): number => shardOf(eventOf(key, 'any'))

test('L2 a shard with more dead keys than may be held is not read, and the others are', async () => {
  const harness = createHarness()
  const { runtime, outbox: table } = harness
  const keys = Array.from({ length: 1_000 }, (_, n) => `key-${n}`)
  const shard = shardOfKey('key-0')
  const beside = keys.filter((key) => shardOfKey(key) === shard).slice(0, 4)
  const other = keys.find((key) => shardOfKey(key) < shard) ?? 'none'
  for (const row of table.add(...beside.map((key) => eventOf(key, `dead of ${key}`)))) row.status = 'DEAD'
  table.add(...beside.map((key) => eventOf(key, `behind ${key}`)), eventOf(other, 'other'))
  const outbox = Outbox.keyed({ ...harness.base, intervalMs: 100, onDeadKey: 'BLOCK', maxHeldKeys: 2 })
  await runtime.run(async () => {
    await outbox.start()
    await runtime.timers.sleep(20_000)
    await outbox.stop()
  })
  expect(harness.deliveredIds()).toEqual(['other'])
})
