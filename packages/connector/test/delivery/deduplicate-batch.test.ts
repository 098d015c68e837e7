import { Buffer } from 'node:buffer'
import { getEventListeners } from 'node:events'
import type { KafkaRecord } from '@waybill/kafka'
import { describe, expect, test } from 'vitest'
import type { Binding } from '../../src/api/binding.ts'
import type { BatchHandler } from '../../src/api/handler-types.ts'
import { BatchDelivery } from '../../src/delivery/batch-delivery.ts'
import { createDeduplication } from '../../src/delivery/deduplicate.ts'
import { markingHandler, StoredRepeats } from '../../src/delivery/deduplicate-batch.ts'
import type { Work } from '../../src/delivery/work.ts'
import { BatchProcessingError } from '../../src/handlers/batch-processing-error.ts'
import { resolveBinding } from '../../src/options/binding-options.ts'
import { deliveryScene } from './delivery-scene.ts'
import { TestStore } from './test-marks.ts'
import { batchOf, recordOf } from './work-of.ts'

/** Records are told by their value. What each call throws, if anything, is in the script. */
function batchHandlerScene(script: readonly (Error | Promise<undefined>)[] = [], given: Partial<Binding> = {}) {
  const store = new TestStore()
  const calls: string[] = []
  /** What the context of each call says. */
  const told: string[] = []
  const handler: BatchHandler = {
    async handleBatch(records, { record, naturalKey, original }) {
      told.push(`${String(record.value)} ${naturalKey} ${original.offset}`)
      calls.push(records.map(({ value }) => String(value)).join(''))
      ;(records as KafkaRecord[]).splice(0) // As in `while (records.length > 0) handle(records.shift())`.
      const failure = await script[calls.length - 1]
      if (failure !== undefined) throw failure
    },
  }
  const options = {
    listenerType: 'BATCH',
    handler,
    deduplicate: { store, key: ({ record }) => String(record.value) },
    ...given,
  } satisfies Partial<Binding>
  const scene = deliveryScene(options)
  const binding = resolveBinding('orders', { topic: 'orders', groupId: 'group', ...options })
  const how = createDeduplication(binding)
  if (how?.kind !== 'STORE') throw new Error('A store was expected.')
  const marking = markingHandler(handler, how.marks)
  const { handlerTimeoutMs } = binding
  const repeats = new StoredRepeats(how.marks, { handlerTimeoutMs, timers: scene.runtime.timers })
  const batchDelivery = new BatchDelivery(scene.delivery, marking, binding, scene.runtime.clock, { repeats })
  const works = (values: string): Work[] =>
    values
      .split('')
      .map((value, offset) => scene.workOf(recordOf({ offset: BigInt(offset), value: Buffer.from(value) })))
  return {
    ...scene,
    store,
    calls,
    told,
    works,
    /** What a look tells of each, from the first on: - is to be handled. */
    look: async (values: string, over?: AbortSignal): Promise<string[]> => {
      const records = works(values).map(({ record }) => record)
      const found = await scene.runtime.run(() => repeats.look(records, over))
      return records.map((record) => found.get(record) ?? '-')
    },
    marks: () => [...store.marked].map((mark) => mark.replace('group/', '')).join(''),
    mark: (values: string): void => {
      for (const value of values.split('')) store.marked.add(`group/${value}`)
    },
    deliver: async (batch: string | readonly Work[], mayCallAgain = (): boolean => true): Promise<string[]> => {
      const all = typeof batch === 'string' ? works(batch) : batch
      scene.halt.isHalted = () => !mayCallAgain()
      const outcomes = await scene.runtime.run(() => batchDelivery.deliver(batchOf(all), scene.scope))
      if (outcomes === 'DONE') return all.map(() => 'DONE')
      return outcomes.map((outcome) => ('cause' in outcome ? outcome.cause : outcome.kind))
    },
  }
}

/** One query after the other, as with a pool of one connection: each takes its time, and none is ever taken back. */
function oneAtATime({ store, runtime }: ReturnType<typeof batchHandlerScene>, call: 'seen' | 'mark', ms: number): void {
  const answer = { seen: store.seen.bind(store), mark: store.mark.bind(store) }
  let last: Promise<void> = Promise.resolve()
  const turn = (): Promise<void> => {
    last = last.then(() => runtime.timers.sleep(ms))
    return last
  }
  if (call === 'seen') store.seen = (...of) => turn().then(() => answer.seen(...of))
  else store.mark = (...of) => turn().then(() => answer.mark(...of))
}

/** How often the store was asked, answered or not. */
function countingCalls({ store }: ReturnType<typeof batchHandlerScene>, call: 'seen' | 'mark'): () => number {
  const ask = { seen: store.seen.bind(store), mark: store.mark.bind(store) }
  let calls = 0
  store.seen = (...of) => {
    if (call === 'seen') calls++
    return ask.seen(...of)
  }
  store.mark = (...of) => {
    if (call === 'mark') calls++
    return ask.mark(...of)
  }
  return () => calls
}

/** Values of records that all differ. */
const many = (count: number): string =>
  Array.from({ length: count }, (_, index) => String.fromCharCode(0x4e00 + index)).join('')
const times = (count: number, word: string): string[] => Array.from({ length: count }, () => word)

const failsAt = (index: number) => new BatchProcessingError(index, { cause: new Error('not this one') })

describe('C-17 the records of a batch', () => {
  test('are handled without those that were before, which are skipped; the others are marked', async () => {
    const { deliver, calls, marks, mark } = batchHandlerScene()
    mark('bd')
    expect(await deliver('abcde')).toEqual(['DONE', 'DUPLICATE', 'DONE', 'DUPLICATE', 'DONE'])
    expect(calls).toEqual(['ace'])
    expect(marks()).toBe('bdace')
  })

  test('that the filter refuses are filtered, whether they were handled before or not', async () => {
    const { deliver, calls, mark } = batchHandlerScene([], { filter: ({ value }) => String(value) === 'a' })
    mark('b')
    expect(await deliver('abca')).toEqual(['DONE', 'FILTERED', 'FILTERED', 'CANCELLED'])
    expect(calls).toEqual(['a'])
  })

  test('need no call when all of them were', async () => {
    const { deliver, calls, mark } = batchHandlerScene()
    mark('ab')
    expect(await deliver('ab')).toEqual(['DUPLICATE', 'DUPLICATE'])
    expect(calls).toEqual([])
  })

  test('with the same key are not in one call: the second waits for what becomes of the first', async () => {
    const { deliver, calls, works } = batchHandlerScene()
    const batch = works('abac')
    expect(await deliver(batch)).toEqual(['DONE', 'DONE', 'CANCELLED', 'CANCELLED'])
    expect(await deliver(batch.slice(2))).toEqual(['DUPLICATE', 'DONE'])
    expect(calls).toEqual(['ab', 'c'])
  })

  test('I9 with the key of one that only needs its mark are not in its batch', async () => {
    const { deliver, calls, works, store } = batchHandlerScene([], { retry: { tier0: { maxAttempts: 1 } } })
    const [first, second] = works('aa') as [Work, Work]
    store.failures.mark = 1
    expect(await deliver([first])).toEqual(['REDELIVERED'])
    expect(await deliver([first, second])).toEqual(['DONE', 'CANCELLED'])
    expect(await deliver([second])).toEqual(['DUPLICATE'])
    expect(calls).toEqual(['a'])
  })

  test.each([1_000, false] as const)(
    'leave no listener on the signal of their partition once they are looked up; handlerTimeoutMs: %s',
    async (handlerTimeoutMs) => {
      const { look } = batchHandlerScene([], { handlerTimeoutMs })
      const over = new AbortController()
      await look('ab', over.signal)
      expect(getEventListeners(over.signal, 'abort')).toEqual([])
    },
  )

  test('are marked up to the one that failed, and no further', async () => {
    const { deliver, calls, marks } = batchHandlerScene([failsAt(2), failsAt(0), failsAt(0)])
    expect(await deliver('abcd')).toEqual(['DONE', 'DONE', 'REDELIVERED', 'CANCELLED'])
    expect(calls).toEqual(['abcd', 'cd', 'cd'])
    expect(marks()).toBe('ab')
  })

  test('are not marked when nobody knows which one failed', async () => {
    const { deliver, marks } = batchHandlerScene(Array.from({ length: 3 }, () => new Error('all of them')))
    expect(await deliver('ab')).toEqual(['REDELIVERED', 'REDELIVERED'])
    expect(marks()).toBe('')
  })

  test('I9 are not handled again for a mark that could not be written', async () => {
    const { deliver, calls, marks, store } = batchHandlerScene()
    store.failures.mark = 1
    expect(await deliver('abc')).toEqual(['DONE', 'DONE', 'DONE'])
    expect(calls).toEqual(['abc'])
    expect(marks().split('').toSorted().join('')).toBe('abc')
  })

  test('I9 are told by their place in the batch when only the one that failed is called again', async () => {
    const { deliver, calls, marks, store } = batchHandlerScene([failsAt(2), failsAt(0), failsAt(0), failsAt(0)])
    store.failures.mark = 1
    expect(await deliver('abc')).toEqual(['DONE', 'DONE', 'REDELIVERED'])
    expect(calls.slice(0, 2)).toEqual(['abc', 'c'])
    expect(marks().split('').toSorted().join('')).toBe('ab')
  })

  test('I9 keep what they have when the store is away for longer than tier 0', async () => {
    const { deliver, calls, works, store } = batchHandlerScene([], { batchMaxRedeliveries: 9 })
    const batch = works('ab')
    store.failures.mark = 6
    expect(await deliver(batch)).toEqual(['REDELIVERED', 'CANCELLED'])
    expect(await deliver(batch)).toEqual(['DONE', 'DONE'])
    expect(calls).toEqual(['ab'])
  })

  test('are told of the first that is in the call, where one before it only needs its mark', async () => {
    const { deliver, calls, told, works, store } = batchHandlerScene([], { batchMaxRedeliveries: 9 })
    const [a, b] = works('ab')
    store.failures.mark = 3
    expect(await deliver([a as Work])).toEqual(['REDELIVERED'])
    expect(await deliver([a as Work, b as Work])).toEqual(['DONE', 'DONE'])
    expect(calls).toEqual(['a', 'b'])
    expect(told).toEqual(['a orders-0-0 0', 'b orders-0-1 1'])
  })

  test.each([
    ['names a record that is not there', failsAt(4)],
    ['fails', new Error('all of them')],
  ])('that only need their marks are no matter of the handler: it %s for the others', async (_, failure) => {
    const { deliver, calls, marks, store } = batchHandlerScene([failsAt(3), failure, failure, failure])
    store.failures.mark = 1
    expect(await deliver('abcde')).toEqual(['DONE', 'DONE', 'DONE', 'REDELIVERED', 'REDELIVERED'])
    expect(calls).toEqual(['abcde', 'de', 'de', 'de'])
    expect(marks().split('').toSorted().join('')).toBe('abc')
  })

  test('I9 that only need their marks do not share the time-out of the others', async () => {
    const hangs = new Promise<undefined>(() => {})
    const { deliver, marks, store } = batchHandlerScene([failsAt(2), hangs, hangs, hangs], {
      handlerTimeoutMs: 1_000,
      batchFailureStrategy: 'DLQ_AND_CONTINUE',
    })
    store.failures.mark = 1
    expect(await deliver('abcd')).toEqual(['DONE', 'DONE', 'DEAD_LETTER', 'DEAD_LETTER'])
    expect(marks().split('').toSorted().join('')).toBe('ab')
  })

  test('that only need marks which cannot be written keep those behind them from the handler', async () => {
    const { deliver, calls, store } = batchHandlerScene([failsAt(2)])
    store.failures.mark = 9
    expect(await deliver('abc')).toEqual(['REDELIVERED', 'CANCELLED', 'CANCELLED'])
    expect(calls).toEqual(['abc'])
  })

  test('I9 that fail for want of their marks leave the others of the batch to another call', async () => {
    const { deliver, calls, store } = batchHandlerScene([failsAt(2)], {
      handlerTimeoutMs: 100,
      batchFailureStrategy: 'DLQ_AND_CONTINUE',
      retry: { tier0: { maxAttempts: 2 } },
    })
    const mark = store.mark.bind(store)
    store.mark = (consumer, key) => (key === 'c' ? mark(consumer, key) : new Promise(() => {}))
    expect(await deliver('abc')).toEqual(['DEAD_LETTER', 'DEAD_LETTER', 'DONE'])
    expect(calls).toEqual(['abc', 'c'])
  })

  test('behind one that stays are not handled, though the first of its call leaves', async () => {
    const { deliver, calls, works, store } = batchHandlerScene([], {
      handlerTimeoutMs: 100,
      batchMaxRedeliveries: 3,
      retry: { tier0: { maxAttempts: 1 } },
    })
    store.mark = () => new Promise(() => {})
    const [a, b, c] = works('abc') as [Work, Work, Work]
    for (const early of [a, a, b]) expect(await deliver([early])).toEqual(['REDELIVERED'])
    expect(await deliver([a, b, c])).toEqual(['RETRY', 'REDELIVERED', 'CANCELLED'])
    expect(calls).toEqual(['a', 'b'])
  })

  test('end before one that the store does not answer for, which is delivered alone then', async () => {
    const { deliver, calls, works, store } = batchHandlerScene()
    const answer = store.seen.bind(store)
    let isAway = true
    store.seen = (consumer, key) => (key === 'b' && isAway ? Promise.reject(new Error('away')) : answer(consumer, key))
    const batch = works('abc')
    expect(await deliver(batch)).toEqual(['DONE', 'CANCELLED', 'CANCELLED'])
    expect(await deliver(batch.slice(1))).toEqual(['REDELIVERED', 'CANCELLED'])
    isAway = false
    expect(await deliver(batch.slice(1))).toEqual(['DONE', 'DONE'])
    expect(calls).toEqual(['a', 'bc'])
  })

  test('do not wait for ever for a store that never answers: the first of them counts as failed', async () => {
    const { deliver, calls, works, store } = batchHandlerScene([], {
      handlerTimeoutMs: 100,
      retry: { tier0: { maxAttempts: 1 } },
    })
    const answer = store.seen.bind(store)
    let isAway = true
    store.seen = (...of) => (isAway ? new Promise(() => {}) : answer(...of))
    const batch = works('ab')
    expect(await deliver(batch)).toEqual(['REDELIVERED', 'CANCELLED'])
    isAway = false
    expect(await deliver(batch)).toEqual(['DONE', 'DONE'])
    expect(calls).toEqual(['ab'])
  })

  test('are as many as the store has answered for in time: the others are in the next batch', async () => {
    const scene = batchHandlerScene([], { handlerTimeoutMs: 100 })
    oneAtATime(scene, 'seen', 40)
    const batch = scene.works('abcd')
    expect(await scene.deliver(batch)).toEqual(['DONE', 'DONE', 'CANCELLED', 'CANCELLED'])
    expect(scene.calls).toEqual(['ab'])
  })

  test('are all in one call when the store is quick enough, however many they are', async () => {
    const scene = batchHandlerScene([], { handlerTimeoutMs: 5_000 })
    oneAtATime(scene, 'seen', 10)
    expect(await scene.deliver(many(120))).toEqual(times(120, 'DONE'))
    expect(scene.calls).toEqual([many(120)])
  })

  test('are asked for in parts: once the time is over nobody waits for an answer, and none is asked for', async () => {
    const scene = batchHandlerScene([], { handlerTimeoutMs: 100 })
    oneAtATime(scene, 'seen', 15)
    const looks = countingCalls(scene, 'seen')
    expect(await scene.deliver(many(120))).toEqual([...times(6, 'DONE'), ...times(114, 'CANCELLED')])
    await scene.runtime.run(() => scene.runtime.timers.sleep(10_000))
    expect(looks()).toBe(50)
  })

  test('are not asked for behind one that ends the batch', async () => {
    const scene = batchHandlerScene()
    const looks = countingCalls(scene, 'seen')
    scene.store.failures.seen = 1
    await scene.deliver(many(120))
    expect(looks()).toBe(51) // Those of the first part, and the first record once more when it is delivered alone.
  })

  test('I15 stay where they are when the partition was paused while the store was asked', async () => {
    const scene = batchHandlerScene()
    const { deliver, calls, works, mark, runtime } = scene
    mark('c')
    oneAtATime(scene, 'seen', 10)
    const batch = works('abc')
    expect(await deliver(batch, () => runtime.clock.monotonic() < 5)).toEqual(times(3, 'CANCELLED'))
    expect(calls).toEqual([])
    expect(await deliver(batch)).toEqual(['DONE', 'DONE', 'DUPLICATE'])
    expect(calls).toEqual(['ab'])
  })

  test.each([60_000, false] as const)(
    'are looked for no longer than their partition is there, whatever handlerTimeoutMs is: %s',
    async (handlerTimeoutMs) => {
      const scene = batchHandlerScene([], { handlerTimeoutMs })
      const { runtime, scope, mark, look } = scene
      mark('a')
      oneAtATime(scene, 'seen', 10)
      runtime.timers.schedule(25, () => scope.end())
      expect(await look('abcd', scope.retrying)).toEqual(['DUPLICATE', '-', 'UNKNOWN', 'UNKNOWN'])
      expect(runtime.clock.monotonic()).toBe(25)
    },
  )

  test('are not asked for in further parts once their partition is given up, and not at all after that', async () => {
    const scene = batchHandlerScene()
    const { runtime, scope, look } = scene
    oneAtATime(scene, 'seen', 10)
    const looks = countingCalls(scene, 'seen')
    runtime.timers.schedule(25, () => scope.beginDraining())
    await look(many(120), scope.retrying)
    expect(await look('ab', scope.retrying)).toEqual(['UNKNOWN', 'UNKNOWN'])
    await runtime.run(() => runtime.timers.sleep(10_000))
    expect(looks()).toBe(50)
  })

  test('stay where they are, without another look, when their partition is given up while the store is asked', async () => {
    const { deliver, calls, runtime, scope, store } = batchHandlerScene([], { handlerTimeoutMs: false })
    let looks = 0
    store.seen = () => {
      looks++
      return new Promise(() => {})
    }
    runtime.timers.schedule(25, () => scope.beginDraining())
    expect(await deliver('ab')).toEqual(['CANCELLED', 'CANCELLED'])
    expect([runtime.clock.monotonic(), looks, calls]).toEqual([25, 2, []])
  })

  test('I9 have the marks that one attempt wrote, and the next attempt writes only the others', async () => {
    const scene = batchHandlerScene([], { handlerTimeoutMs: 100, retry: { tier0: { maxAttempts: 2 } } })
    oneAtATime(scene, 'mark', 30)
    expect(await scene.deliver('abcde')).toEqual(times(5, 'DONE'))
    expect([scene.calls, scene.marks()]).toEqual([['abcde'], 'abcde'])
  })

  test('are marked in parts: once the time is over the next attempt goes on', async () => {
    const scene = batchHandlerScene([], { handlerTimeoutMs: 100, retry: { tier0: { maxAttempts: 1 } } })
    oneAtATime(scene, 'mark', 10)
    const marks = countingCalls(scene, 'mark')
    expect(await scene.deliver(many(120))).toEqual(times(120, 'REDELIVERED'))
    await scene.runtime.run(() => scene.runtime.timers.sleep(10_000))
    expect(marks()).toBe(50)
  })

  test('I9 are done up to the one that could not be marked, in whichever part it is', async () => {
    const { deliver, store } = batchHandlerScene([], { retry: { tier0: { maxAttempts: 1 } } })
    const mark = store.mark.bind(store)
    const refused = `${many(61).at(-1)}`
    store.mark = (consumer, key) => (key === refused ? Promise.reject(new Error('full')) : mark(consumer, key))
    const outcomes = await deliver(many(120))
    expect(outcomes.indexOf('REDELIVERED')).toBe(60)
    expect(outcomes.slice(0, 60)).toEqual(times(60, 'DONE'))
  })

  test('I9 are all marked though their partition is given up meanwhile: there will be no other attempt here', async () => {
    const scene = batchHandlerScene()
    const { deliver, marks, runtime, scope } = scene
    oneAtATime(scene, 'mark', 10)
    runtime.timers.schedule(100, () => scope.end())
    await deliver(many(120))
    await runtime.run(() => runtime.timers.sleep(10_000))
    expect(marks()).toBe(many(120))
  })

  test('leave no mark of a call whose time is over', async () => {
    const late = Promise.withResolvers<void>()
    const { deliver, calls, marks, runtime } = batchHandlerScene([late.promise.then(() => undefined)], {
      handlerTimeoutMs: 100,
      retry: { tier0: { maxAttempts: 1 } },
    })
    expect(await deliver('ab')).toEqual(['REDELIVERED', 'REDELIVERED'])
    late.resolve()
    await runtime.run(() => runtime.timers.sleep(1))
    expect([calls, marks()]).toEqual([['ab'], ''])
  })
})
