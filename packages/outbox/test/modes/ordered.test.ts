import { OptionsError, StateError } from '@waybill/core'
import { Outbox } from '@waybill/outbox'
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
  'fixes %s itself and rejects the option',
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

test('goes on behind an event whose end it could not write before it lost the table and had it back', async () => {
  const harness = createHarness()
  const { runtime, outbox: table } = harness
  let isDown = false
  table.before = () => {
    if (isDown) throw new StateError('The database is down.')
  }
  harness.behaviour = async ({ eventId }) => {
    if (eventId === 'event-0') isDown = true
    if (eventId === 'event-1') throw new StateError('no')
  }
  table.add(...Array.from({ length: 20 }, (_, n) => orderEvent(n)))
  const outbox = Outbox.ordered({ ...harness.base, coldQueueCapacity: 2, batchSize: 2 })
  await runtime.run(async () => {
    await outbox.start()
    await runtime.timers.sleep(15_000)
    expect(table.withStatus('NEW').length).toBe(20)
    isDown = false
    await harness.until(() => table.withStatus('NEW').length === 0)
    await outbox.stop()
  })
  expect(harness.deliveredIds()).toEqual(Array.from({ length: 20 }, (_, n) => `event-${n}`))
  expect(table.withStatus('DEAD').map(({ event }) => event.eventId)).toEqual(['event-1'])
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

test('an event whose listener asks for more time holds back those behind it', async () => {
  const harness = createHarness()
  const { runtime, outbox: table } = harness
  harness.behaviour = async ({ eventId }, { attempt }) =>
    eventId === 'event-1' && attempt < 3 ? { retryAfterMs: 60_000 } : undefined
  table.add(...Array.from({ length: 5 }, (_, n) => orderEvent(n)))
  const outbox = Outbox.ordered(harness.base)
  await runtime.run(async () => {
    await outbox.start()
    await runtime.timers.sleep(100_000)
    expect(table.rows[1]).toMatchObject({ status: 'NEW' })
    await harness.until(() => table.withStatus('DONE').length === 5)
    await outbox.stop()
  })
  expect(harness.delivered.map(({ eventId, attempt }) => `${eventId} ${attempt}`)).toEqual([
    'event-0 1',
    'event-1 1',
    'event-1 2',
    'event-1 3',
    'event-2 1',
    'event-3 1',
    'event-4 1',
  ])
})

test('an event that waits when the outbox stops is the first of the next run', async () => {
  const harness = createHarness()
  const { runtime, outbox: table } = harness
  let isBusy = true
  harness.behaviour = async () => (isBusy ? { retryAfterMs: 3_600_000 } : undefined)
  table.add(orderEvent(0), orderEvent(1))
  await runtime.run(async () => {
    const first = Outbox.ordered(harness.base)
    await first.start()
    await runtime.timers.sleep(1_000)
    await first.stop()
    expect(table.rows.map(({ status, attempts }) => [status, attempts])).toEqual([
      ['NEW', 0],
      ['NEW', 0],
    ])
    isBusy = false
    const second = Outbox.ordered(harness.base)
    await second.start()
    await harness.until(() => table.withStatus('DONE').length === 2)
    await second.stop()
  })
  expect(harness.deliveredIds()).toEqual(['event-0', 'event-0', 'event-1'])
})
