import { OptionsError, StateError } from '@waybill/core'
import { Outbox } from '@waybill/core/outbox'
import { expect, test } from 'vitest'
import { createHarness, orderEvent } from '../support/outbox-harness.ts'

test('delivers one after the other in the order of the table, and a failed event is DEAD at once', async () => {
  const harness = createHarness()
  let running = 0
  harness.behaviour = async (event) => {
    expect(++running).toBe(1)
    await harness.runtime.timers.sleep(Math.floor(harness.runtime.random() * 20))
    running--
    if (event.eventId === 'event-3') throw new StateError('no')
  }
  harness.outbox.add(...Array.from({ length: 120 }, (_, n) => orderEvent(n)))
  const outbox = Outbox.ordered({ ...harness.base, batchSize: 10 })
  await harness.runtime.run(async () => {
    await outbox.start()
    await harness.until(() => harness.outbox.withStatus('NEW').length === 0)
    await outbox.stop()
  })
  expect(harness.deliveredIds()).toEqual(Array.from({ length: 120 }, (_, n) => `event-${n}`))
  expect(harness.outbox.withStatus('DEAD').map(({ event, attempts }) => [event.eventId, attempts])).toEqual([
    ['event-3', 1],
  ])
})

test('has no hot path: a committed event waits for the poller', async () => {
  const harness = createHarness()
  const outbox = Outbox.ordered({ ...harness.base, intervalMs: 1_000 })
  await harness.runtime.run(async () => {
    await outbox.start()
    const id = await harness.outbox.transaction((tx) => outbox.write(tx, 'order.placed', {}))
    expect(harness.delivered).toEqual([])
    await outbox.published(id, { deadlineMs: 10_000 })
    await outbox.stop()
  })
  expect(harness.metrics.total('outbox.enqueue.hot')).toBe(0)
  expect(harness.metrics.total('outbox.enqueue.cold')).toBe(1)
})

test.each(['workerCount', 'maxAttempts', 'retry', 'hotQueueCapacity', 'hook', 'claimLocking'])(
  'has decided %s itself, and refuses to be told',
  (option) => {
    const create = () => Outbox.ordered({ ...createHarness().base, [option]: 1 })
    expect(create).toThrow(OptionsError)
    expect(create).toThrow(`${option} must be left out: Outbox.ordered`)
  },
)

test('keeps the order over an outage that outlasts its lease', async () => {
  const harness = createHarness()
  const { runtime, outbox: table } = harness
  let isDown = false
  table.before = () => {
    if (isDown) throw new StateError('The database is down.')
  }
  harness.behaviour = () => runtime.timers.sleep(100)
  table.add(...Array.from({ length: 300 }, (_, n) => orderEvent(n)))
  const outbox = Outbox.ordered(harness.base)
  await runtime.run(async () => {
    await outbox.start()
    await runtime.timers.sleep(2_000)
    isDown = true
    await runtime.timers.sleep(15_000)
    isDown = false
    table.add(orderEvent(300))
    await harness.until(() => table.withStatus('NEW').length === 0)
    await outbox.stop()
  })
  expect(harness.deliveredIds()).toEqual(Array.from({ length: 301 }, (_, n) => `event-${n}`))
})

test('starts nothing behind a listener that goes on after its lease was lost', async () => {
  const harness = createHarness()
  const { runtime, outbox: table } = harness
  let isDown = false
  table.before = () => {
    if (isDown) throw new StateError('The database is down.')
  }
  // Deaf to its signal, and failing after all: the event has to come again before those behind it.
  harness.behaviour = async (event, { signal }) => {
    if (event.eventId !== 'event-0' || harness.delivered.length > 1) return
    expect(signal.aborted).toBe(false)
    await runtime.timers.sleep(40_000)
    throw new StateError('too late')
  }
  table.add(...Array.from({ length: 150 }, (_, n) => orderEvent(n)))
  const outbox = Outbox.ordered({ ...harness.base, coldQueueCapacity: 100 })
  await runtime.run(async () => {
    await outbox.start()
    await runtime.timers.sleep(1_000)
    isDown = true
    await runtime.timers.sleep(15_000)
    isDown = false
    await harness.until(() => table.withStatus('NEW').length === 0)
    await outbox.stop()
  })
  expect(harness.deliveredIds()).toEqual(['event-0', ...Array.from({ length: 150 }, (_, n) => `event-${n}`)])
})
