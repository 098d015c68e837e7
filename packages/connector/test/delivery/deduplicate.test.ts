import { Buffer } from 'node:buffer'
import { RecordHeaders } from '@waybill/core'
import type { KafkaRecord } from '@waybill/kafka'
import { orderEvents } from '@waybill/test-support/kafka'
import { describe, expect, test } from 'vitest'
import type { Binding } from '../../src/api/binding.ts'
import { defineBinding } from '../../src/api/define-binding.ts'
import type { RecordHandler } from '../../src/api/handler-types.ts'
import { handleEvents } from '../../src/handlers/handle-events.ts'
import { placedRecord } from '../handlers/order-events.ts'
import { deliveryScene } from './delivery-scene.ts'
import { TestInbox, TestStore, type TestTx } from './test-marks.ts'
import { recordOf } from './work-of.ts'

const skipped = { kind: 'SKIP', cause: 'DUPLICATE', failure: undefined }
const key = 'group/default/orders-0-0@0'
const breaker = { enabled: true, minimumNumberOfCalls: 2, slidingWindowSize: 2, automaticPauseOnOpen: true } as const

interface Given extends Partial<Omit<Binding, 'handler' | 'deduplicate'>> {
  readonly fails?: number
}

/** A binding with a store whose handler fails so many times. */
function storeScene({ fails = 0, ...given }: Given = {}) {
  const store = new TestStore()
  const calls: number[] = []
  let left = fails
  const handler: RecordHandler = (_record, { attempt }) => {
    calls.push(attempt)
    if (left-- > 0) throw new Error('the handler fails')
  }
  return { store, calls, ...deliveryScene({ handler, deduplicate: { store }, ...given }) }
}

/** The same with an inbox. */
function inboxScene({ fails = 0, ...given }: Given = {}) {
  const inbox = new TestInbox()
  let left = fails
  const handler: RecordHandler<TestTx> = ({ offset }, { tx }) => {
    tx.effects.push(`effect of ${offset}`)
    if (left-- > 0) throw new Error('the handler fails')
  }
  const {
    topic: _,
    groupId: _group,
    ...binding
  } = defineBinding({
    topic: 'orders',
    groupId: 'group',
    handler,
    deduplicate: { inbox },
  })
  return { inbox, ...deliveryScene({ ...binding, ...given }) }
}

/** Ends at its signal, without an effect and without a word. */
const stopping: RecordHandler = async (_record, { signal }) => {
  const stopped = Promise.withResolvers<void>()
  signal.addEventListener('abort', () => stopped.resolve(), { once: true })
  await stopped.promise
}

describe('S0-202 S0-203 C-17 a store beside the effect', () => {
  test('is asked before the handler and told after it; then the record is a duplicate', async () => {
    const { store, calls, deliver } = storeScene()
    expect(await deliver()).toEqual({ kind: 'DONE' })
    expect(store.calls).toEqual([`seen ${key}`, `mark ${key}`])
    expect(await deliver()).toEqual(skipped)
    expect(calls).toEqual([1])
  })

  test('is told nothing while the handler fails, and asked before each attempt', async () => {
    const { store, calls, deliver } = storeScene({ fails: 2 })
    expect(await deliver()).toEqual({ kind: 'DONE' })
    expect(calls).toEqual([1, 2, 3])
    expect(store.calls.map((call) => call.slice(0, 4))).toEqual(['seen', 'seen', 'seen', 'mark'])
  })

  test('that does not answer means another attempt, never a skip', async () => {
    const { store, calls, deliver } = storeScene()
    store.failures.seen = 2
    expect(await deliver()).toEqual({ kind: 'DONE' })
    expect(calls).toEqual([2])
  })

  test('that never answers makes the record one that failed, and its handler is not called', async () => {
    const { store, calls, deliver, metrics } = storeScene()
    store.failures.seen = 99
    expect(await deliver()).toMatchObject({ kind: 'RETRY', tier: 1, failure: { attempts: 3 } })
    expect(calls).toEqual([])
    expect(metrics.total('eventbus.records.failed', { binding: 'orders' })).toBe(1)
  })

  test('I9 that cannot be told is told again; the effect is not repeated for it', async () => {
    const { store, calls, deliver } = storeScene()
    store.failures.mark = 2
    expect(await deliver()).toEqual({ kind: 'DONE' })
    expect(calls).toEqual([1])
    expect(store.marked).toEqual(new Set([key]))
  })

  test('I9 that is away for longer repeats no effect while the record stays in this process', async () => {
    const { store, calls, deliver, workOf } = storeScene({ failureProfile: 'BLOCKING_UNLIMITED' })
    const work = workOf()
    store.failures.mark = 7
    expect(await deliver(work)).toMatchObject({ kind: 'PAUSE', cause: 'BLOCKED' })
    expect(await deliver(work)).toMatchObject({ kind: 'PAUSE', cause: 'BLOCKED' })
    expect(await deliver(work)).toEqual({ kind: 'DONE' })
    expect(calls).toEqual([1])
    expect(store.calls.filter((call) => call.startsWith('seen'))).toHaveLength(1)
  })

  test('finds out when the mark that had no answer was written', async () => {
    const { store, calls, deliver, workOf } = storeScene({ retry: { tier0: { maxAttempts: 1 } } })
    store.mark = async (consumer, marked) => {
      store.marked.add(`${consumer}/${marked}`)
      throw new Error('no answer')
    }
    expect(await deliver(workOf(recordOf()))).toMatchObject({ kind: 'RETRY' })
    expect(await deliver(workOf(recordOf()))).toEqual(skipped)
    expect(calls).toEqual([1])
  })

  test('knows the record on its tiers by the place it came from', async () => {
    const { store, calls, deliver, workOf } = storeScene()
    store.marked.add('group/default/orders-0-7@5')
    const headers = Object.entries({ topic: 'orders', partition: '0', offset: '7', timestamp: '5' }).map(
      ([name, value]) => [`x-eventbus-original-${name}`, Buffer.from(value)] as const,
    )
    const copy = recordOf({
      topic: 'orders.retry-1',
      offset: 3n,
      headers: RecordHeaders.from(headers),
    })
    expect(await deliver(workOf(copy, 'TIER', 1))).toEqual(skipped)
    // On the source anybody could have written them (C-73).
    expect(await deliver(workOf(copy, 'SOURCE'))).toEqual({ kind: 'DONE' })
    expect(calls).toEqual([1])
  })

  test('is not asked for what the filter does not take', async () => {
    const { store, deliver } = storeScene({ filter: () => false })
    expect(await deliver()).toMatchObject({ kind: 'SKIP', cause: 'FILTERED' })
    expect(store.calls).toEqual([])
  })
})

describe('C-78 an inbox', () => {
  test('has the effect and its mark together, once', async () => {
    const { inbox, deliver } = inboxScene()
    expect(await deliver()).toEqual({ kind: 'DONE' })
    expect(await deliver()).toEqual(skipped)
    expect([inbox.effects, [...inbox.marked]]).toEqual([['effect of 0'], [key]])
  })

  test('keeps nothing of a call that failed', async () => {
    const { inbox, deliver } = inboxScene({ fails: 2 })
    expect(await deliver()).toEqual({ kind: 'DONE' })
    expect(inbox.effects).toEqual(['effect of 0'])
  })

  test.each([
    ['was carried out: the next call finds the mark', { committed: 1, lost: 0 }, skipped],
    ['was lost: the next call has the effect', { committed: 0, lost: 1 }, { kind: 'DONE' }],
  ])('D9 whose COMMIT has no answer and %s', async (_, unanswered, outcome) => {
    const { inbox, deliver } = inboxScene()
    Object.assign(inbox.unanswered, unanswered)
    expect(await deliver()).toEqual(outcome)
    expect(inbox.effects).toEqual(['effect of 0'])
  })

  test('that handleEvents was given tells repeats by the id of the event', async () => {
    const events = orderEvents()
    const inbox = new TestInbox()
    const handler = handleEvents(events, { 'order.placed': ({ id }, { tx }) => void tx.effects.push(id) }, { inbox })
    const { deliver, workOf, metrics } = deliveryScene({ handler, topic: 'orders.events' })
    expect(await deliver(workOf(await placedRecord(events)))).toEqual({ kind: 'DONE' })
    expect(await deliver(workOf(await placedRecord(events)))).toEqual(skipped)
    expect([inbox.effects, [...inbox.marked]]).toEqual([['e-1'], ['group/topic:orders.events/e-1']])
    expect(metrics.total('eventbus.records.failed', { binding: 'orders' })).toBe(0)
  })
})

const inOtherTopic = () => placedRecord(orderEvents(), { topic: 'orders.mirror' })

describe('C-90 an event id that another topic has too', () => {
  const handler = handleEvents(orderEvents(), { 'order.placed': () => {} })

  /** Delivers events with the same id through nodes that share one store or inbox. */
  function nodes(marks: object) {
    return (setting?: 'EVENT_ID') => {
      const deduplicate = { ...marks, ...(setting === undefined ? {} : { key: setting }) } as NonNullable<
        Binding['deduplicate']
      >
      const { deliver, workOf } = deliveryScene({ handler, deduplicate, topic: 'orders.events' })
      return async (record: KafkaRecord | Promise<KafkaRecord>) => (await deliver(workOf(await record))).kind
    }
  }

  test.each([
    ['a store', () => ({ store: new TestStore() })],
    ['an inbox', () => ({ inbox: new TestInbox() })],
  ])('suppresses no event with %s, unless the binding names the id alone', async (_, marks) => {
    const node = nodes(marks())()
    expect([await node(inOtherTopic()), await node(placedRecord())]).toEqual(['DONE', 'DONE'])
    expect([await node(inOtherTopic()), await node(placedRecord())]).toEqual(['SKIP', 'SKIP'])
    const byId = nodes(marks())('EVENT_ID')
    expect([await byId(inOtherTopic()), await byId(placedRecord())]).toEqual(['DONE', 'SKIP'])
  })

  test.each([
    ['a store', () => ({ store: new TestStore() })],
    ['an inbox', () => ({ inbox: new TestInbox() })],
  ])('leaves the marks of earlier versions in force, with %s', async (_, create) => {
    const marks = create()
    Object.values(marks).forEach(({ marked }) => marked.add('group/e-1')) // as an earlier version marked it
    expect(await nodes(marks)()(placedRecord())).toBe('SKIP')
  })

  test.each([
    ['a store', () => ({ store: new TestStore() })],
    ['an inbox', () => ({ inbox: new TestInbox() })],
  ])('is known to nodes with either setting, in both directions, with %s', async (_, create) => {
    for (const order of [[undefined, 'EVENT_ID'] as const, ['EVENT_ID', undefined] as const]) {
      const node = nodes(create())
      const [first, second] = order.map((setting) => node(setting))
      expect([await first?.(placedRecord()), await second?.(placedRecord())]).toEqual(['DONE', 'SKIP'])
    }
  })

  test('is looked up under its former key too, and one failed lookup is no answer', async () => {
    const store = new TestStore()
    const node = nodes({ store })()
    store.failures.seen = 1
    await node(placedRecord())
    expect(store.calls.slice(0, 2)).toEqual(['seen group/topic:orders.events/e-1', 'seen group/e-1'])
    expect(store.calls.filter((call) => call.startsWith('mark'))).toEqual(['mark group/topic:orders.events/e-1'])
  })
})

describe('the events of a catalog', () => {
  test('are told by their ids, unless a key is given', async () => {
    const events = orderEvents()
    const store = new TestStore()
    const handler = handleEvents(events, { 'order.placed': () => {} })
    const byId = deliveryScene({ handler, deduplicate: { store } })
    await byId.deliver(byId.workOf(await placedRecord(events)))
    const own = deliveryScene({
      handler,
      deduplicate: {
        store,
        key: ({ eventId, naturalKey, record }) => `${eventId} ${naturalKey} ${String(record.key)}`,
      },
    })
    await own.deliver(own.workOf(await placedRecord(events)))
    expect([...store.marked]).toEqual(['group/topic:orders.events/e-1', 'group/e-1 orders.events-2-41 o-1'])
  })

  test('that nobody handles are not looked for', async () => {
    const events = orderEvents()
    const store = new TestStore()
    const handler = handleEvents(events, { 'order.cancelled': () => {} })
    const { deliver, workOf } = deliveryScene({ handler, deduplicate: { store } })
    expect(await deliver(workOf(await placedRecord(events)))).toMatchObject({ kind: 'SKIP', cause: 'UNHANDLED' })
    expect(store.calls).toEqual([])
  })
})

describe('a key of the user’s', () => {
  test.each([
    [
      'throws',
      () => {
        throw new RangeError('no key')
      },
      'RangeError',
    ],
    ['is empty', () => '', 'ArgumentError'],
    ['is a promise', () => Promise.resolve('key') as never, 'ArgumentError'],
    ['is a promise that rejects', () => Promise.reject(new Error('late')) as never, 'ArgumentError'],
  ])('that %s makes the record one that failed', async (_, own, error) => {
    const store = new TestStore()
    let calls = 0
    const { deliver } = deliveryScene({ handler: () => void calls++, deduplicate: { store, key: own } })
    const outcome = await deliver()
    expect(outcome).toMatchObject({ failure: { error: { name: error } } })
    expect([calls, store.calls]).toEqual([0, []])
  })
})

describe('a call whose time is over leaves no mark, since its handler may have stopped without an effect', () => {
  const timeout = { handlerTimeoutMs: 100, retry: { tier0: { maxAttempts: 1 } } } as const

  test('in a store', async () => {
    const store = new TestStore()
    const { deliver } = deliveryScene({ handler: stopping, deduplicate: { store }, ...timeout })
    expect(await deliver()).toMatchObject({ kind: 'RETRY', failure: { error: { name: 'HandlerTimeoutError' } } })
    expect([...store.marked]).toEqual([])
  })

  test('in an inbox', async () => {
    const inbox = new TestInbox()
    const { deliver } = deliveryScene({
      ...timeout,
      handler: stopping,
      deduplicate: { inbox } as unknown as NonNullable<Binding['deduplicate']>,
    })
    expect(await deliver()).toMatchObject({ kind: 'RETRY' })
    expect([...inbox.marked]).toEqual([])
  })

  test('when the partition is given back', async () => {
    const store = new TestStore()
    const { delivery, runtime, scope, workOf } = deliveryScene({
      handler: stopping,
      deduplicate: { store },
    })
    const outcome = await runtime.run(async () => {
      const delivering = delivery.deliver(workOf(), scope)
      runtime.timers.schedule(50, () => scope.end())
      return delivering
    })
    expect(outcome).toMatchObject({ kind: 'PAUSE', cause: 'CANCELLED' })
    expect([...store.marked]).toEqual([])
  })
})

describe('a look that takes too long', () => {
  test('counts as a failed call, and is made again', async () => {
    const { store, calls, deliver } = storeScene({ handlerTimeoutMs: 100 })
    store.marked.add(key)
    const answer = store.seen.bind(store)
    let looks = 0
    store.seen = (...of) => (++looks === 1 ? new Promise(() => {}) : answer(...of))
    expect(await deliver()).toEqual(skipped)
    expect(calls).toEqual([])
  })
})

describe('C-17 C-78 I3 a call whose time is over before its handler starts never starts it', () => {
  const timeout = { handlerTimeoutMs: 100, retry: { tier0: { maxAttempts: 1 } } } as const

  test('when the store took that long to answer its second look', async () => {
    const { store, calls, deliver, runtime } = storeScene(timeout)
    let looks = 0
    store.seen = async () => {
      if (++looks === 1) throw new Error('the first look fails')
      await runtime.timers.sleep(200)
      return false
    }
    expect(await deliver()).toMatchObject({ kind: 'RETRY', failure: { error: { name: 'HandlerTimeoutError' } } })
    await runtime.run(() => runtime.timers.sleep(1_000))
    expect({ looks, calls, marked: [...store.marked] }).toEqual({ looks: 2, calls: [], marked: [] })
  })

  test('when the inbox took that long to begin its transaction', async () => {
    const { inbox, deliver, runtime } = inboxScene(timeout)
    const run = inbox.run.bind(inbox)
    const begun: TestTx[] = []
    inbox.run = async (consumer, of, effect) => {
      await runtime.timers.sleep(200)
      return run(consumer, of, (tx) => {
        begun.push(tx)
        return effect(tx)
      })
    }
    expect(await deliver()).toMatchObject({ kind: 'RETRY', failure: { error: { name: 'HandlerTimeoutError' } } })
    await runtime.run(() => runtime.timers.sleep(1_000))
    expect({ begun, marked: [...inbox.marked] }).toEqual({ begun: [{ effects: [] }], marked: [] })
  })
})

describe('I15 a handler does not start after a pause', () => {
  const cancelled = { kind: 'PAUSE', cause: 'CANCELLED', failure: undefined }

  test('that came while the record was looked up, for any reason', async () => {
    const { store, calls, delivery, scope, halt, workOf, metrics } = storeScene()
    const delivered = delivery.deliver(workOf(), scope)
    halt.isHalted = () => true
    expect(await delivered).toEqual(cancelled)
    expect([calls, store.marked.size]).toEqual([[], 0])
    expect(metrics.total('eventbus.records.failed')).toBe(0)
  })

  test.each([1, 2, 3])('by an operator that came while attempt %i looked the record up again', async (attempt) => {
    const { store, calls, delivery, scope, runtime, workOf } = storeScene({ fails: attempt - 1 })
    const seen = store.seen.bind(store)
    let lookups = 0
    store.seen = async (...of) => {
      lookups++
      // The lookup before the call has no answer: the first attempt repeats it.
      if (attempt === 1 && lookups === 1) throw new Error('no answer')
      if (lookups === Math.max(2, attempt)) scope.pause()
      return seen(...of)
    }
    expect(await runtime.run(() => delivery.deliver(workOf(), scope))).toEqual(cancelled)
    expect(calls).toEqual([1, 2].slice(0, attempt - 1))
  })

  test.each([
    ['began', (error: unknown) => error],
    ['began, where the inbox wraps errors', (cause: unknown) => new Error('failed', { cause })],
  ])('by an operator that came while its transaction %s', async (_, wrapped) => {
    const { inbox, delivery, scope, workOf } = inboxScene()
    const run = inbox.run.bind(inbox)
    inbox.run = async (consumer, marked, work) => {
      scope.pause()
      try {
        return await run(consumer, marked, work)
      } catch (error) {
        throw wrapped(error)
      }
    }
    expect(await delivery.deliver(workOf(), scope)).toEqual(cancelled)
    expect(inbox.effects).toEqual([])
  })

  test('by an operator that came while a record was decoded again after its time-out', async () => {
    const { store, calls, delivery, scope, runtime, workOf } = storeScene({ handlerTimeoutMs: 100 })
    const seen = store.seen.bind(store)
    let lookups = 0
    store.seen = (...of) => {
      if (++lookups === 1) return new Promise(() => {})
      scope.pause()
      return seen(...of)
    }
    expect(await runtime.run(() => delivery.deliver(workOf(), scope))).toEqual(cancelled)
    expect([lookups, calls]).toEqual([2, []])
  })

  test('but one that the breaker has admitted does while the breaker pauses for other records', async () => {
    const { inbox, delivery, scope, halt, workOf } = inboxScene()
    const run = inbox.run.bind(inbox)
    inbox.run = (...of) => {
      halt.isHalted = () => true
      return run(...of)
    }
    expect(await delivery.deliver(workOf(), scope)).toEqual({ kind: 'DONE' })
    expect(inbox.effects).toEqual(['effect of 0'])
  })
})

describe('a duplicate', () => {
  test('is neither success nor failure to the circuit breaker, nor a call in the metrics', async () => {
    for (const { deliver, breaker: circuit, metrics } of [
      storeScene({ circuitBreaker: breaker }),
      inboxScene({ circuitBreaker: breaker }),
    ]) {
      await deliver()
      const before = circuit.rates
      await deliver()
      expect(circuit.rates).toEqual(before)
      expect(metrics.distribution('eventbus.retry.count', { binding: 'orders' }).count).toBe(1)
    }
  })

  test('of a store is told while the circuit is open; that of an inbox proves nothing to one that is half open', async () => {
    const [store, inbox] = [storeScene({ circuitBreaker: breaker }), inboxScene({ circuitBreaker: breaker })]
    for (const { deliver, breaker: circuit } of [store, inbox]) {
      await deliver()
      for (const permit of [circuit.tryAcquire(), circuit.tryAcquire()]) permit?.fail(1)
      expect(circuit.state).toBe('OPEN')
    }
    expect(await store.deliver()).toEqual(skipped)
    expect(await inbox.deliver()).toMatchObject({ kind: 'PAUSE', cause: 'BREAKER' })
    await inbox.runtime.run(() => inbox.runtime.timers.sleep(60_000))
    expect(inbox.breaker.state).toBe('HALF_OPEN')
    for (let probe = 0; probe < 5; probe++) expect(await inbox.deliver()).toEqual(skipped)
    expect(inbox.breaker.state).toBe('HALF_OPEN')
  })

  test('is on a line of the log at level debug, with its place', async () => {
    const { deliver, logger } = storeScene()
    await deliver()
    await deliver()
    expect(logger.lines).toMatchObject([{ level: 'DEBUG', text: 'Duplicate record skipped' }])
  })
})
