import { OptionsError, StateError } from '@waybill/core'
import { Outbox } from '@waybill/outbox'
import { expect, test } from 'vitest'
import { createHarness } from '../support/outbox-harness.ts'

function only(harness: ReturnType<typeof createHarness>, options: object = {}) {
  const { events, database, store, runtime } = harness.base
  return Outbox.writerOnly({ events, database, store, runtime, ...options })
}

test('writes, and neither polls, claims nor delivers', async () => {
  const harness = createHarness()
  const outbox = only(harness)
  await harness.runtime.run(async () => {
    await outbox.start()
    await harness.outbox.transaction((tx) => outbox.write(tx, 'order.placed', {}))
    await harness.runtime.timers.sleep(60_000)
    await outbox.stop()
  })
  // It checks now and then that the database answers.
  expect(harness.outbox.calls.filter((call) => call !== 'backlog')).toEqual(['insertNew'])
  expect(harness.outbox.rows.map(({ status, lockedBy }) => [status, lockedBy])).toEqual([['NEW', null]])
})

test('purges by age where asked to, whatever became of the rows', async () => {
  const harness = createHarness()
  const outbox = only(harness, { purge: { afterMs: 3_600_000, intervalMs: 60_000 } })
  await harness.runtime.run(async () => {
    await outbox.start()
    await harness.outbox.transaction((tx) => outbox.write(tx, 'order.placed', {}))
    await harness.runtime.timers.sleep(3_000_000)
    expect(harness.outbox.rows.length).toBe(1)
    await harness.runtime.timers.sleep(1_000_000)
    expect(harness.outbox.rows).toEqual([])
    await outbox.stop()
  })
})

test('cannot say what was published', async () => {
  await expect(only(createHarness()).published('event-1', { deadlineMs: 1 })).rejects.toBeInstanceOf(StateError)
})

test.each(['listeners', 'workerCount', 'claimLocking', 'whenDone', 'intervalMs', 'interceptors', 'hook'])(
  'delivers nothing, so it refuses %s',
  (option) => {
    const create = () => only(createHarness(), { [option]: {} })
    expect(create).toThrow(OptionsError)
    expect(create).toThrow(`${option} must be left out: Outbox.writerOnly`)
  },
)
