import { createOutboxDispatcher, createOutboxPoller } from '@waybill/outbox'
import { expect, test } from 'vitest'
import { createHarness, orderEvent } from '../support/outbox-harness.ts'

function setup(options: { readonly hotQueueCapacity?: number; readonly coldQueueCapacity?: number } = {}) {
  const harness = createHarness()
  const { database, store, listeners, runtime } = harness.base
  const dispatcher = createOutboxDispatcher({ database, store, listeners, runtime, workerCount: 1, ...options })
  const rows = harness.outbox.add(...Array.from({ length: 9 }, (_, n) => orderEvent(n)))
  const rowOf = (n: number) => ({ seq: rows[n]?.seq as bigint, event: orderEvent(n) })
  return { harness, runtime, dispatcher, rowOf }
}

test('an event that is enqueued again takes no place of the hot queue', async () => {
  const { harness, runtime, dispatcher, rowOf } = setup({ hotQueueCapacity: 2 })
  harness.behaviour = () => runtime.timers.sleep(1_000)
  await runtime.run(async () => {
    await dispatcher.start()
    expect([0, 0, 0, 0, 0].map((n) => dispatcher.enqueueHot(rowOf(n)))).toEqual([true, true, true, true, true])
    expect([1, 2, 3].map((n) => dispatcher.enqueueHot(rowOf(n)))).toEqual([true, true, false])
    await dispatcher.stop()
  })
  expect(harness.deliveredIds()).toEqual(['event-0', 'event-1', 'event-2'])
})

test('I1 a row that found no room is delivered when it is enqueued again', async () => {
  const { harness, runtime, dispatcher, rowOf } = setup({ coldQueueCapacity: 1 })
  harness.behaviour = () => runtime.timers.sleep(1_000)
  await runtime.run(async () => {
    await dispatcher.start()
    expect([0, 1, 2].map((n) => dispatcher.enqueueCold(rowOf(n)))).toEqual([true, true, false])
    await runtime.timers.sleep(1_500)
    expect(dispatcher.enqueueCold(rowOf(2))).toBe(true)
    await dispatcher.stop()
  })
  expect(harness.deliveredIds()).toEqual(['event-0', 'event-1', 'event-2'])
})

test('stop() resolves when the claims of rows that were not started are released', async () => {
  const { harness, runtime, dispatcher } = setup()
  const { database, store } = harness.base
  const poller = createOutboxPoller({
    database,
    store,
    runtime,
    handler: dispatcher,
    claimLocking: { timeoutMs: 60_000 },
  })
  harness.behaviour = (_event, { signal }) => runtime.timers.sleep(8_000, signal)
  harness.outbox.before = (call) => (call === 'release' ? runtime.timers.sleep(700) : undefined)
  await runtime.run(async () => {
    await dispatcher.start()
    await poller.start()
    await harness.until(() => harness.delivered.length === 1)
    const stopped = poller.stop()
    await dispatcher.stop()
    expect(harness.outbox.rows.filter(({ lockedBy, status }) => status === 'NEW' && lockedBy !== null)).toEqual([])
    await stopped
  })
})
