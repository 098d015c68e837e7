import { createEnvelope, type EventEnvelope, UnavailableError } from '@waybill/core'
import { Outbox } from '@waybill/outbox'
import { shardOf } from '@waybill/outbox/internal'
import { expect, test } from 'vitest'
import { createHarness } from '../support/outbox-harness.ts'

const eventOf = (key: string): EventEnvelope =>
  createEnvelope({ eventId: key, eventType: 'order.placed', aggregateId: key, payloadJson: '{}' })

/** More keys of one shard than rows are remembered that can probe. */
const keys = Array.from({ length: 2_000 }, (_, n) => `key-${n}`)
  .filter((key) => shardOf(eventOf(key)) === 7)
  .slice(0, 7)

test('L1 waiting events are delivered, though all rows that could probe their destination were deleted', async () => {
  const harness = createHarness()
  const { runtime, outbox: table } = harness
  let isAway = true
  const arrived: string[] = []
  harness.behaviour = async ({ eventId }) => {
    if (isAway) throw new UnavailableError('The broker does not respond.')
    arrived.push(eventId)
  }
  table.add(...keys.map(eventOf))
  const outbox = Outbox.keyed({ ...harness.base, workerCount: 1 })
  await runtime.run(async () => {
    await outbox.start()
    await runtime.timers.sleep(5_000)
    table.rows.splice(0, 5)
    isAway = false
    await runtime.timers.sleep(300_000)
    await outbox.stop()
  })
  expect(arrived).toEqual(keys.slice(5))
})
