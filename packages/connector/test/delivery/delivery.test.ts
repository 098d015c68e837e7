import { AsyncLocalStorage } from 'node:async_hooks'
import {
  createMemoryLogger,
  deadLetter,
  defineEvents,
  NonRetryableError,
  nextTier,
  type StandardSchema,
} from '@waybill/core'
import { withContextFields } from '@waybill/core/internal'
import { orderEvents, watchRejections } from '@waybill/test-support/kafka'
import { describe, expect, test } from 'vitest'
import { HandlerTimeoutError } from '../../src/delivery/handler-timeout.ts'
import { handleEvents } from '../../src/handlers/handle-events.ts'
import { placedRecord } from '../handlers/order-events.ts'
import { fetched, textRecord } from '../records/fetched.ts'
import { deliveryScene } from './delivery-scene.ts'
import { recordOf } from './work-of.ts'

watchRejections()

const failing = (): Promise<void> => Promise.reject(new Error('no'))
const breaker = { enabled: true, minimumNumberOfCalls: 1, slidingWindowSize: 1, waitDurationInOpenStateMs: 1_000 }

describe.each([false, true])('SingleRecordListenerAdapter: S0-079 a delivery, with a breaker: %s', (enabled) => {
  const circuitBreaker = { ...breaker, enabled, minimumNumberOfCalls: 100, slidingWindowSize: 100 }

  test('that succeeds is done after one call', async () => {
    const { deliver, metrics } = deliveryScene({ handler: () => {}, circuitBreaker })
    expect(await deliver()).toEqual({ kind: 'DONE' })
    expect(metrics.distribution('eventbus.retry.count', { tier: 0 }).values).toEqual([1])
    expect(metrics.distribution('eventbus.processing.duration').count).toBe(1)
  })

  test('S0-098 is tried again in memory, with growing waits, and tells its handler the attempt', async () => {
    const attempts: number[] = []
    const at: number[] = []
    const { deliver, runtime, metrics } = deliveryScene({
      circuitBreaker,
      handler: (_, { attempt }) => {
        attempts.push(attempt)
        at.push(runtime.clock.monotonic())
        if (attempt < 3) throw new Error('not yet')
      },
    })
    expect(await deliver()).toEqual({ kind: 'DONE' })
    expect(attempts).toEqual([1, 2, 3])
    expect(metrics.distribution('eventbus.retry.count', { tier: 0 }).values).toEqual([3])
    const [first = 0, second = 0, third = 0] = at
    expect(second - first).toBeGreaterThanOrEqual(50)
    expect(second - first).toBeLessThan(150)
    expect(third - second).toBeGreaterThanOrEqual(100)
    expect(third - second).toBeLessThan(300)
  })

  test('S0-178 logs with the fields of its own record, although another handler runs at once', async () => {
    const lines = createMemoryLogger()
    const logger = withContextFields(lines)
    const { runtime, delivery, workOf, scope } = deliveryScene({
      circuitBreaker,
      handler: async ({ offset }, { attempt }) => {
        logger.info({ attempt }, `started ${offset}`)
        await runtime.timers.sleep(offset === 1n ? 20 : 10)
        logger.info({ attempt }, `ended ${offset}`)
        if (attempt === 1) throw new Error('not yet')
      },
    })
    const records = [1n, 2n].map((offset) => workOf(recordOf({ offset })))
    const outcomes = await runtime.run(() => Promise.all(records.map(async (work) => delivery.deliver(work, scope))))
    expect(outcomes).toEqual([{ kind: 'DONE' }, { kind: 'DONE' }])
    expect(lines.lines).toHaveLength(8)
    for (const { text, fields } of lines.lines)
      expect(text).toMatch(new RegExp(` ${(fields as { offset: string }).offset}$`))
  })

  test('runs its handler in the async context of its partition, not in that of whatever woke it', async () => {
    const request = new AsyncLocalStorage<string>()
    const seen: unknown[] = []
    const scene = request.run('assignment', () =>
      deliveryScene({
        circuitBreaker,
        handler: async () => {
          seen.push(request.getStore())
          await Promise.resolve()
          seen.push(request.getStore())
        },
      }),
    )
    await request.run('an operator resumes', () => scene.deliver())
    expect(seen).toEqual(['assignment', 'assignment'])
  })

  test('S0-121 asks the classifier once for each failed call, though the same error is thrown again', async () => {
    const error = new Error('no')
    const asked: unknown[] = []
    const { deliver } = deliveryScene({
      circuitBreaker,
      handler: () => Promise.reject(error),
      retry: {
        classifier: (thrown) => {
          asked.push(thrown)
          return asked.length < 3 ? nextTier() : deadLetter()
        },
      },
    })
    expect(await deliver()).toMatchObject({ kind: 'DEAD_LETTER', reason: 'NON_RETRYABLE', failure: { attempts: 3 } })
    expect(asked).toEqual([error, error, error])
  })

  test('S0-082 whose attempts are used up goes to the first tier', async () => {
    const { deliver, metrics } = deliveryScene({ handler: failing, circuitBreaker })
    expect(await deliver()).toMatchObject({ kind: 'RETRY', tier: 1, attempt: 1, failure: { attempts: 3 } })
    expect(metrics.total('eventbus.records.failed', { topic: 'orders', exception: 'Error' })).toBe(1)
  })

  test('that fails in a tier counts its attempts for that tier', async () => {
    const { deliver, workOf, metrics } = deliveryScene({ handler: failing, circuitBreaker })
    await deliver(workOf(undefined, 'TIER', 2))
    expect(metrics.distribution('eventbus.retry.count', { tier: 2 }).values).toEqual([3])
  })

  test('is measured by the time of all its calls, without the waits between them', async () => {
    const scene = deliveryScene({
      circuitBreaker,
      handler: async () => {
        await scene.runtime.timers.sleep(10)
        throw new Error('no')
      },
    })
    await scene.deliver()
    expect(scene.metrics.distribution('eventbus.processing.duration').sum).toBeCloseTo(30)
  })

  test('is measured by the time of all its calls when the last one succeeds', async () => {
    const scene = deliveryScene({
      circuitBreaker,
      handler: async (_, { attempt }) => {
        await scene.runtime.timers.sleep(10)
        if (attempt < 3) throw new Error('not yet')
      },
    })
    await scene.deliver()
    expect(scene.metrics.distribution('eventbus.processing.duration').sum).toBeCloseTo(30)
  })

  test.each([
    ['returns, at once', true, (): void => {}],
    ['returns', false, (): void => {}],
    ['resolves', false, (): Promise<void> => Promise.resolve()],
  ])('of a handler that %s waits for the failpoints around each attempt', async (_, isPrompt, succeed) => {
    const events: string[] = []
    const failpoint = (name: string): Promise<void> | undefined => {
      if (name === 'handler.before' && isPrompt) return void events.push(name)
      return scene.runtime.timers.sleep(5).then(() => void events.push(name))
    }
    const scene = deliveryScene(
      {
        circuitBreaker,
        handler: (_record, { attempt }) => {
          events.push(`call ${attempt}`)
          if (attempt === 1) throw new Error('not yet')
          return succeed()
        },
      },
      { failpoint },
    )
    expect(await scene.deliver()).toEqual({ kind: 'DONE' })
    expect(events).toEqual(['handler.before', 'call 1', 'handler.before', 'call 2', 'handler.after'])
  })

  test('S0-098 S3-011 of a final error is a dead letter after one call', async () => {
    let calls = 0
    const { deliver } = deliveryScene({
      circuitBreaker,
      handler: () => {
        calls++
        throw new NonRetryableError('negative total')
      },
    })
    expect(await deliver()).toMatchObject({ kind: 'DEAD_LETTER', reason: 'NON_RETRYABLE', failure: { attempts: 1 } })
    expect(calls).toBe(1)
  })

  test('S0-154 that is cancelled between two attempts decides nothing', async () => {
    const { delivery, scope, workOf, runtime, metrics } = deliveryScene({ handler: failing, circuitBreaker })
    const delivered = delivery.deliver(workOf(), scope)
    await runtime.advance(10)
    scope.beginDraining()
    expect(await delivered).toEqual({ kind: 'PAUSE', cause: 'CANCELLED', failure: undefined })
    expect(metrics.total('eventbus.records.failed')).toBe(0)
  })

  test('I15 that an operator pauses between two attempts makes no other, and starts anew after the resume', async () => {
    const { delivery, scope, workOf, runtime, metrics } = deliveryScene({ handler: failing, circuitBreaker })
    const delivered = delivery.deliver(workOf(), scope)
    await runtime.advance(10)
    scope.pause()
    expect(await delivered).toEqual({ kind: 'PAUSE', cause: 'CANCELLED', failure: undefined })
    expect(metrics.total('eventbus.records.failed')).toBe(0)
    scope.resume()
    expect(await runtime.run(() => delivery.deliver(workOf(), scope))).toMatchObject({ kind: 'RETRY', tier: 1 })
  })

  test('I15 that is paused while its record is decoded calls no handler', async () => {
    let calls = 0
    const handler = handleEvents(orderEvents(), {
      'order.placed': async () => {
        calls++
      },
    })
    const { delivery, scope, halt, workOf } = deliveryScene({ handler, circuitBreaker })
    const record = await placedRecord()
    const delivered = delivery.deliver(workOf(record), scope)
    halt.isHalted = () => true
    expect(await delivered).toMatchObject({ kind: 'PAUSE', cause: 'CANCELLED' })
    expect(calls).toBe(0)
  })

  test('that is cancelled while its record is decoded calls no handler', async () => {
    let calls = 0
    const handler = handleEvents(orderEvents(), {
      'order.placed': async () => {
        calls++
      },
    })
    const { delivery, scope, workOf } = deliveryScene({ handler, circuitBreaker })
    const record = await placedRecord()
    const delivered = delivery.deliver(workOf(record), scope)
    scope.beginDraining()
    expect(await delivered).toMatchObject({ kind: 'PAUSE', cause: 'CANCELLED' })
    expect(calls).toBe(0)
  })

  test('of a handler that never ends fails after handlerTimeoutMs, and is tried again', async () => {
    const signals: AbortSignal[] = []
    const attempts: number[] = []
    const { deliver } = deliveryScene({
      circuitBreaker,
      handlerTimeoutMs: 1_000,
      handler: (_, { signal, attempt }) => {
        signals.push(signal)
        attempts.push(attempt)
        return new Promise(() => {})
      },
    })
    expect(await deliver()).toMatchObject({
      kind: 'RETRY',
      tier: 1,
      failure: { error: expect.any(HandlerTimeoutError), attempts: 3 },
    })
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, true, true])
    expect(attempts).toEqual([1, 2, 3])
  })

  test('of an event whose schema does not answer fails after handlerTimeoutMs, and is tried again', async () => {
    const record = await placedRecord()
    let answers = 0
    const placed: StandardSchema<unknown, unknown> = {
      '~standard': {
        version: 1,
        vendor: 'test',
        validate: (value) => (answers++ < 1 ? new Promise(() => {}) : { value }),
      },
    }
    const events = defineEvents({ 'order.placed': { topic: 'orders.events', schema: placed, key: () => 'o-1' } })
    let calls = 0
    const handler = handleEvents(events, { 'order.placed': () => void calls++ })
    const scene = deliveryScene({ handler, circuitBreaker, handlerTimeoutMs: 1_000 })
    expect(await scene.deliver(scene.workOf(record))).toEqual({ kind: 'DONE' })
    expect([answers, calls]).toEqual([2, 1])
  })

  test('of an event whose schema refuses it after handlerTimeoutMs is a dead letter', async () => {
    const record = await placedRecord()
    let answers = 0
    const placed: StandardSchema<unknown, unknown> = {
      '~standard': {
        version: 1,
        vendor: 'test',
        validate: () => (answers++ < 1 ? new Promise(() => {}) : { issues: [{ message: 'no total' }] }),
      },
    }
    const events = defineEvents({ 'order.placed': { topic: 'orders.events', schema: placed, key: () => 'o-1' } })
    const handler = handleEvents(events, { 'order.placed': () => {} })
    const scene = deliveryScene({ handler, circuitBreaker, handlerTimeoutMs: 1_000 })
    expect(await scene.deliver(scene.workOf(record))).toMatchObject({ kind: 'DEAD_LETTER', reason: 'NON_RETRYABLE' })
  })

  test('of an event whose schema never answers goes to the first tier', async () => {
    const record = await placedRecord()
    const placed: StandardSchema<unknown, unknown> = {
      '~standard': { version: 1, vendor: 'test', validate: () => new Promise(() => {}) },
    }
    const events = defineEvents({ 'order.placed': { topic: 'orders.events', schema: placed, key: () => 'o-1' } })
    const handler = handleEvents(events, { 'order.placed': () => {} })
    const scene = deliveryScene({ handler, circuitBreaker, handlerTimeoutMs: 1_000 })
    expect(await scene.deliver(scene.workOf(record))).toMatchObject({
      kind: 'RETRY',
      tier: 1,
      failure: { error: expect.any(HandlerTimeoutError), attempts: 3 },
    })
  })

  test('I3 of an event whose schema answers after its time never starts the handler', async () => {
    const record = await placedRecord()
    const placed: StandardSchema<unknown, unknown> = {
      '~standard': {
        version: 1,
        vendor: 'test',
        validate: async (value) => {
          await scene.runtime.timers.sleep(1_500)
          return { value }
        },
      },
    }
    const events = defineEvents({ 'order.placed': { topic: 'orders.events', schema: placed, key: () => 'o-1' } })
    let calls = 0
    const handler = handleEvents(events, { 'order.placed': () => void calls++ })
    const scene = deliveryScene({ handler, circuitBreaker, handlerTimeoutMs: 1_000 })
    expect(await scene.deliver(scene.workOf(record))).toMatchObject({ kind: 'RETRY', tier: 1 })
    await scene.runtime.advance(10_000)
    expect(calls).toBe(0)
  })

  test('that ends too late is a failure, and what comes of it later changes nothing', async () => {
    let calls = 0
    const scene = deliveryScene({
      circuitBreaker,
      handlerTimeoutMs: 1_000,
      handler: async () => {
        if (++calls === 1) await scene.runtime.timers.sleep(1_500)
      },
    })
    expect(await scene.deliver()).toEqual({ kind: 'DONE' })
    await scene.runtime.advance(10_000)
    expect(calls).toBe(2)
  })

  test('survives whatever a handler throws', async () => {
    const hostile = new Proxy(
      {},
      {
        get: () => {
          throw new Error('trap')
        },
        getPrototypeOf: () => {
          throw new Error('trap')
        },
        has: () => {
          throw new Error('trap')
        },
      },
    )
    const cyclic: { cause?: unknown } = new Error('cyclic')
    cyclic.cause = cyclic
    const things = [undefined, null, 0, 'text', Symbol('s'), Object.freeze(new Error('frozen')), hostile, cyclic]
    for (const thing of [...things, Object.create(null), () => {}]) {
      const handlers = [
        () => {
          throw thing
        },
        () => Promise.reject(thing),
      ]
      for (const handler of handlers)
        expect(await deliveryScene({ handler, circuitBreaker }).deliver()).toMatchObject({ kind: 'RETRY', tier: 1 })
    }
  })
})

describe('S0-097 the breaker', () => {
  test('S0-099 refuses without a call, and the record stays', async () => {
    let calls = 0
    const { deliver, delivery } = deliveryScene({
      circuitBreaker: breaker,
      handler: () => {
        calls++
        throw new Error('down')
      },
    })
    await deliver()
    expect([calls, delivery.isRefusing]).toEqual([3, true])
    expect(await deliver()).toMatchObject({ kind: 'PAUSE', cause: 'BREAKER' })
    expect(calls).toBe(3)
  })

  test('C-12 sees one outcome a record, however many attempts it took', async () => {
    const { deliver, breaker: circuit } = deliveryScene({
      circuitBreaker: { ...breaker, minimumNumberOfCalls: 2, slidingWindowSize: 2 },
      handler: failing,
    })
    await deliver()
    expect(circuit.state).toBe('CLOSED')
    await deliver()
    expect(circuit.state).toBe('OPEN')
  })

  test('C-12 counts a record that succeeds', async () => {
    let isDown = false
    const { deliver, breaker: circuit } = deliveryScene({
      circuitBreaker: { ...breaker, minimumNumberOfCalls: 2, slidingWindowSize: 4, failureRateThreshold: 60 },
      handler: () => (isDown ? failing() : undefined),
    })
    await deliver()
    await deliver()
    isDown = true
    await deliver()
    await deliver()
    expect(circuit.state).toBe('CLOSED')
    await deliver()
    expect(circuit.state).toBe('OPEN')
  })

  test('C-12 does not count what no dependency is to blame for', async () => {
    const { deliver, breaker: circuit } = deliveryScene({
      circuitBreaker: breaker,
      handler: () => {
        throw new NonRetryableError('negative total')
      },
    })
    for (let record = 0; record < 5; record++) await deliver()
    expect(circuit.state).toBe('CLOSED')
  })

  test('C-12 does not take the waits between attempts for slow calls', async () => {
    const { deliver, breaker: circuit } = deliveryScene({
      circuitBreaker: { ...breaker, slowCallDurationMs: 50, slowCallRateThreshold: 1, failureRateThreshold: 100 },
      handler: (_, { attempt }) => {
        if (attempt < 3) throw new Error('not yet')
      },
    })
    expect(await deliver()).toEqual({ kind: 'DONE' })
    expect(circuit.state).toBe('CLOSED')
  })

  test('C-12 ends the retries of a record when another one opens the circuit', async () => {
    const scene = deliveryScene({ circuitBreaker: breaker, handler: failing })
    const first = scene.delivery.deliver(scene.workOf(), scene.scope)
    await scene.runtime.advance(10)
    scene.breaker.tryAcquire()?.fail(1)
    expect(await scene.runtime.run(() => first)).toMatchObject({ kind: 'PAUSE', cause: 'BREAKER' })
  })

  test('C-04 counts a call that was running when another one opened the circuit, and believes what it threw', async () => {
    const final = new NonRetryableError('never')
    const scene = deliveryScene({
      circuitBreaker: breaker,
      handler: async (record) => {
        await scene.runtime.timers.sleep(10)
        throw record.offset === 0n ? new Error('no') : final
      },
    })
    const both = [0n, 1n].map(async (offset) =>
      scene.delivery.deliver(scene.workOf(fetched(textRecord('orders'), { offset })), scene.scope),
    )
    scene.breaker.tryAcquire()?.fail(1)
    expect(await scene.runtime.run(() => Promise.all(both))).toMatchObject([
      { kind: 'PAUSE', cause: 'BREAKER', failure: { attempts: 1 } },
      { kind: 'DEAD_LETTER', reason: 'NON_RETRYABLE', failure: { attempts: 1, error: final } },
    ])
  })

  test('C-11 lets records go on to a tier where it must not pause', async () => {
    const { deliver } = deliveryScene({
      circuitBreaker: { ...breaker, automaticPauseOnOpen: false },
      handler: failing,
    })
    await deliver()
    expect(await deliver()).toMatchObject({ kind: 'RETRY', tier: 2, attempt: 1, failure: { attempts: 0 } })
  })

  test('that is off counts nothing', async () => {
    const { deliver, delivery, breaker: circuit } = deliveryScene({ handler: failing })
    for (let record = 0; record < 20; record++) await deliver()
    expect([delivery.isRefusing, circuit.state]).toEqual([false, 'CLOSED'])
  })
})

describe('S0-150 the poll interval', () => {
  const slow = { maxPollRecords: 10, maxPollIntervalMs: 10_000, sessionTimeoutMs: 10_000, heartbeatIntervalMs: 3_000 }

  test('S0-151 leaves a record that would outlast it no further attempt: it is a dead letter', async () => {
    const { deliver, runtime, metrics } = deliveryScene({ ...slow, handler: failing })
    await runtime.advance(6_990)
    expect(await deliver()).toMatchObject({
      kind: 'DEAD_LETTER',
      reason: 'RETRIES_EXHAUSTED',
      failure: { attempts: 1, error: { code: 'WAYBILL_RETRY_BUDGET_EXCEEDED' } },
    })
    expect(metrics.total('eventbus.poll.interval.safety.triggered')).toBe(0)
  })

  test('S0-151 sends it to the next tier where that is asked for', async () => {
    const { deliver, runtime } = deliveryScene({ ...slow, budgetExceededRouting: 'NEXT_TIER', handler: failing })
    await runtime.advance(6_990)
    expect(await deliver()).toMatchObject({ kind: 'RETRY', tier: 1, attempt: 1, failure: { attempts: 1 } })
  })

  test.each([false, true])(
    'S0-150 begins anew for a slice that used its share, and that is counted; with a breaker: %s',
    async (enabled) => {
      const { deliver, runtime, metrics, slice } = deliveryScene({
        ...slow,
        handler: failing,
        circuitBreaker: { enabled },
      })
      await runtime.advance(7_001)
      expect(await deliver()).toMatchObject({ kind: 'RETRY', failure: { attempts: 3 } })
      expect(metrics.total('eventbus.poll.interval.safety.triggered', { binding: 'orders' })).toBe(1)
      expect([slice.handedOverAt, slice.startedAt]).toEqual([0, 7_001])
    },
  )

  test('S0-150 begins anew for retries when the first attempt used the share', async () => {
    const scene = deliveryScene({
      ...slow,
      handler: async (_, { attempt }) => {
        if (attempt === 1) await scene.runtime.timers.sleep(7_001)
        throw new Error('no')
      },
    })
    expect(await scene.deliver()).toMatchObject({ kind: 'RETRY', tier: 1, failure: { attempts: 3 } })
  })

  test('S0-150 begins anew for a record that succeeds, too', async () => {
    const { deliver, runtime, metrics, slice } = deliveryScene({ ...slow, handler: () => {} })
    await runtime.advance(7_001)
    expect(await deliver()).toEqual({ kind: 'DONE' })
    expect(metrics.total('eventbus.poll.interval.safety.triggered', { binding: 'orders' })).toBe(1)
    expect(slice.startedAt).toBe(7_001)
  })

  test('C-47 does not bound BLOCKING_UNLIMITED', async () => {
    const { deliver, runtime } = deliveryScene({ ...slow, failureProfile: 'BLOCKING_UNLIMITED', handler: failing })
    await runtime.advance(6_990)
    expect(await deliver()).toMatchObject({ kind: 'PAUSE', cause: 'BLOCKED', failure: { attempts: 3 } })
  })
})

describe('what is decided before the handler', () => {
  test('S0-080 a poison pill is a dead letter and no handler is called', async () => {
    const handler = handleEvents(orderEvents(), {
      'order.placed': () => {
        throw new Error('called')
      },
    })
    const { deliver, workOf, metrics } = deliveryScene({ handler })
    const outcome = await deliver(workOf(fetched(textRecord('orders', [['eventType', 'order.placed']], '{'))))
    expect(outcome).toMatchObject({ kind: 'DEAD_LETTER', reason: 'NON_RETRYABLE', failure: { attempts: 0 } })
    expect(metrics.total('eventbus.records.failed', { topic: 'orders' })).toBe(1)
  })

  test('C-71 a retry of another group is passed over', async () => {
    const { deliver, workOf } = deliveryScene({ handler: failing })
    const headers = [['x-eventbus-consumer-group', 'others']] as const
    const record = fetched(textRecord('orders.retry-1', headers))
    expect(await deliver(workOf(record, 'TIER', 1))).toEqual({
      kind: 'SKIP',
      cause: 'FOREIGN_GROUP',
      failure: undefined,
    })
  })

  test('an event that nobody handles is passed over', async () => {
    const { deliver, workOf } = deliveryScene({ handler: handleEvents(orderEvents(), { 'order.cancelled': () => {} }) })
    expect(await deliver(workOf(await placedRecord()))).toMatchObject({ kind: 'SKIP', cause: 'UNHANDLED' })
  })
})
