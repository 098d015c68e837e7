import { Buffer } from 'node:buffer'
import { NonRetryableError, RecordHeaders } from '@waybill/core'
import type { KafkaRecord } from '@waybill/kafka'
import type { VirtualRuntime } from '@waybill/sim'
import { describe, expect, test } from 'vitest'
import type { Binding } from '../../src/api/binding.ts'
import type { BatchHandler } from '../../src/api/handler-types.ts'
import { BatchDelivery } from '../../src/delivery/batch-delivery.ts'
import type { Outcome } from '../../src/delivery/outcome.ts'
import type { Work } from '../../src/delivery/work.ts'
import { BatchProcessingError } from '../../src/handlers/batch-processing-error.ts'
import { resolveBinding } from '../../src/options/binding-options.ts'
import type { ReadOriginal } from '../../src/records/original-reader.ts'
import { deliveryScene } from './delivery-scene.ts'
import { batchOf, recordOf } from './work-of.ts'

/** What each call does: nothing, or what it throws. */
type Script = readonly (undefined | ((runtime: VirtualRuntime) => unknown))[]

const fails =
  (index: number, cause: unknown = new Error(`no ${index}`)) =>
  (): Error =>
    new BatchProcessingError(index, { cause })
const throws = (error: unknown) => (): unknown => error

function batchHandlerScene(
  script: Script,
  given: Partial<Binding> = {},
  mayCallAgain = () => true,
  readOriginal?: ReadOriginal,
) {
  const calls: number[][] = []
  const attempts: number[] = []
  const handler: BatchHandler = {
    handleBatch: async (records, { attempt, record }) => {
      expect(record).toBe(records[0])
      calls.push(records.map(({ offset }) => Number(offset)))
      ;(records as KafkaRecord[]).splice(0) // As in `while (records.length > 0) handle(records.shift())`.
      attempts.push(attempt)
      const step = script[calls.length - 1]
      if (step !== undefined) throw await step(scene.runtime)
    },
  }
  const options = { retry: { tier0: { maxAttempts: 2 } }, ...given, listenerType: 'BATCH', handler } as const
  const scene = deliveryScene(options, {}, readOriginal)
  const binding = resolveBinding('orders', { topic: 'orders', groupId: 'group', ...options })
  const batchDelivery = new BatchDelivery(scene.delivery, handler, binding, scene.runtime.clock)
  const works = (...offsets: number[]): Work[] =>
    offsets.map((offset) => scene.workOf(recordOf({ offset: BigInt(offset) })))
  const deliver = async (batch: readonly Work[]): Promise<readonly Outcome[]> => {
    scene.halt.isHalted = () => calls.length > 0 && !mayCallAgain()
    const outcomes = await scene.runtime.run(() => batchDelivery.deliver(batchOf(batch), scene.scope))
    return outcomes === 'DONE' ? batch.map(() => ({ kind: 'DONE' })) : outcomes
  }
  return {
    ...scene,
    calls,
    attempts,
    works,
    deliver,
    words: async (batch: readonly Work[]) => (await deliver(batch)).map(word),
  }
}

const replayed = RecordHeaders.from([
  ['x-eventbus-original-topic', Buffer.from('orders')],
  ['x-eventbus-original-partition', Buffer.from('0')],
  ['x-eventbus-original-offset', Buffer.from('0')],
  ['x-eventbus-consumer-group', Buffer.from('others')],
  ['x-eventbus-replay-count', Buffer.from('1')],
])

/** Takes most of a poll interval of 100 s. */
async function slowly({ timers }: VirtualRuntime): Promise<unknown> {
  await timers.sleep(70_001)
  return new BatchProcessingError(1, { cause: new NonRetryableError('never') })
}

/** Takes 10 ms, and names that record. */
const failsSlowly =
  (index: number) =>
  async ({ timers }: VirtualRuntime): Promise<unknown> => {
    await timers.sleep(10)
    return fails(index)()
  }

/** Fails for one record. */
function oddFilter({ offset }: { readonly offset: bigint }): boolean {
  if (offset === 1n) throw new NonRetryableError('odd')
  return true
}

function word(outcome: Outcome): string {
  switch (outcome.kind) {
    case 'DONE':
      return 'done'
    case 'RETRY':
      return `tier ${outcome.tier}`
    case 'DEAD_LETTER':
      return `dead ${outcome.reason}`
    case 'SKIP':
    case 'PAUSE':
      return outcome.cause
  }
}

describe('a batch handler', () => {
  test('C-77 gets all records of a batch in one call, and they are done when it returns', async () => {
    const { calls, works, words } = batchHandlerScene([])
    expect(await words(works(3, 4, 5))).toEqual(['done', 'done', 'done'])
    expect(calls).toEqual([[3, 4, 5]])
  })

  test('C-77 that names a record has handled those before it: the others are given to the next attempt', async () => {
    const { calls, attempts, works, words } = batchHandlerScene([fails(1)])
    expect(await words(works(0, 1, 2))).toEqual(['done', 'done', 'done'])
    expect(calls).toEqual([
      [0, 1, 2],
      [1, 2],
    ])
    expect(attempts).toEqual([1, 2])
  })

  test('has the attempts of tier 0 for each record that it names', async () => {
    const { calls, works, words } = batchHandlerScene([fails(1), fails(1), fails(0), undefined], {
      batchFailureStrategy: 'TIER_AND_CONTINUE',
    })
    // 1 fails once, then 2 twice, which is all it has.
    expect(await words(works(0, 1, 2, 3))).toEqual(['done', 'done', 'tier 1', 'done'])
    expect(calls).toEqual([[0, 1, 2, 3], [1, 2, 3], [2, 3], [3]])
  })

  test('that keeps naming a record seeks to it: those behind it stay, and it is bounded', async () => {
    const { works, words, calls } = batchHandlerScene([fails(1), fails(0), fails(0), fails(0), fails(0), fails(0)])
    const [first, second, third] = works(0, 1, 2) as [Work, Work, Work]
    expect(await words([first, second, third])).toEqual(['done', 'REDELIVERED', 'CANCELLED'])
    expect(await words([second, third])).toEqual(['REDELIVERED', 'CANCELLED'])
    expect(await words([second, third])).toEqual(['tier 1', 'done'])
    expect(calls.map((offsets) => offsets.join())).toEqual(['0,1,2', '1,2', '1,2', '1,2', '1,2', '1,2', '2'])
  })

  test('S0-093 that keeps naming a record loses only that one to the dead letters with DLQ_AND_CONTINUE', async () => {
    const { works, words } = batchHandlerScene([fails(1), fails(0)], { batchFailureStrategy: 'DLQ_AND_CONTINUE' })
    expect(await words(works(0, 1, 2))).toEqual(['done', 'dead RETRIES_EXHAUSTED', 'done'])
  })

  test('C-06 that names a record which can never succeed is not asked for it again', async () => {
    const { works, words, calls } = batchHandlerScene([fails(1, new NonRetryableError('never'))])
    expect(await words(works(0, 1, 2))).toEqual(['done', 'dead NON_RETRYABLE', 'done'])
    expect(calls).toEqual([[0, 1, 2], [2]])
  })

  test('C-77 that throws anything else has handled none: all of them are tried again, then share one fate', async () => {
    const lost = new Error('connection lost')
    const script = [throws(lost), throws(lost)]
    const { works, words, calls } = batchHandlerScene(script, { batchFailureStrategy: 'TIER_AND_CONTINUE' })
    expect(await words(works(0, 1))).toEqual(['tier 1', 'tier 1'])
    expect(calls).toEqual([
      [0, 1],
      [0, 1],
    ])
  })

  test.each([-1, 2, 0.5, Number.NaN])('C-77 that names record %s of two fails the whole batch', async (index) => {
    const { works, words } = batchHandlerScene([fails(index), fails(index)], {
      batchFailureStrategy: 'DLQ_AND_CONTINUE',
    })
    expect(await words(works(0, 1))).toEqual(['dead RETRIES_EXHAUSTED', 'dead RETRIES_EXHAUSTED'])
  })

  test('that fails whole batches gives up only those that have had their deliveries', async () => {
    const always = Array.from({ length: 6 }, () => throws(new Error('down')))
    const { works, words } = batchHandlerScene(always, {
      batchMaxRedeliveries: 2,
      retry: { tier0: { maxAttempts: 1 } },
    })
    const [old, young] = works(0, 1) as [Work, Work]
    expect(await words([old])).toEqual(['REDELIVERED'])
    expect(await words([old, young])).toEqual(['tier 1', 'REDELIVERED'])
    expect(await words([young])).toEqual(['tier 1'])
  })

  test('STRICT starts nothing behind a dead letter before it is confirmed', async () => {
    const { works, words, calls } = batchHandlerScene([fails(1, new NonRetryableError('never'))], {
      orderingMode: 'STRICT',
    })
    expect(await words(works(0, 1, 2))).toEqual(['done', 'dead NON_RETRYABLE', 'CANCELLED'])
    expect(calls).toHaveLength(1)
  })

  test('S0-089 that took most of the poll interval is not called again: the rest is another batch', async () => {
    const { works, words, metrics } = batchHandlerScene([slowly], { maxPollIntervalMs: 100_000, maxPollRecords: 10 })
    expect(await words(works(0, 1, 2))).toEqual(['done', 'dead NON_RETRYABLE', 'CANCELLED'])
    expect(metrics.total('eventbus.poll.interval.safety.triggered', { binding: 'orders' })).toBe(1)
  })

  test('I15 is not called for those behind a failure while the partition is paused, but for the retry of that record', async () => {
    const given = { batchFailureStrategy: 'DLQ_AND_CONTINUE' } as const
    const { works, words, calls } = batchHandlerScene([fails(1), fails(0)], given, () => false)
    expect(await words(works(0, 1, 2))).toEqual(['done', 'dead RETRIES_EXHAUSTED', 'CANCELLED'])
    expect(calls).toEqual([
      [0, 1, 2],
      [1, 2],
    ])
  })

  test('that ends after its time-out says nothing: only the next attempt counts', async () => {
    const { runtime, scope, workOf, ...rest } = deliveryScene({
      listenerType: 'BATCH',
      handlerTimeoutMs: 1_000,
      handler: { handleBatch: () => {} },
    })
    let calls = 0
    const late: BatchHandler = {
      handleBatch: async () => {
        if (++calls > 1) return
        await runtime.timers.sleep(1_100)
        throw new BatchProcessingError(1, { cause: new NonRetryableError('late') })
      },
    }
    const batchDelivery = new BatchDelivery(
      rest.delivery,
      late,
      { filter: undefined, orderingMode: 'RELAXED_IN_RETRY' },
      runtime.clock,
    )
    const batch = [0n, 1n].map((offset) => workOf(recordOf({ offset })))
    expect(await runtime.run(() => batchDelivery.deliver(batchOf(batch), scope))).toBe('DONE')
    expect(calls).toBe(2)
  })

  test('that names a record after its time-out does not speak for the attempt that runs then', async () => {
    const script = [
      async ({ timers }: VirtualRuntime) => {
        await timers.sleep(1_500)
        return new BatchProcessingError(1, { cause: new NonRetryableError('late') })
      },
      () => new Promise<unknown>(() => {}),
    ]
    const { works, words, calls } = batchHandlerScene(script, {
      handlerTimeoutMs: 1_000,
      batchFailureStrategy: 'DLQ_AND_CONTINUE',
    })
    expect(await words(works(0, 1))).toEqual(['dead RETRIES_EXHAUSTED', 'dead RETRIES_EXHAUSTED'])
    expect(calls).toHaveLength(2)
  })

  test('is measured with the attempt that named a record, and again with the retries of that record', async () => {
    const { works, words, metrics } = batchHandlerScene([failsSlowly(1), failsSlowly(0)], {
      batchFailureStrategy: 'DLQ_AND_CONTINUE',
    })
    expect(await words(works(0, 1))).toEqual(['done', 'dead RETRIES_EXHAUSTED'])
    const { count, sum } = metrics.distribution('eventbus.processing.duration')
    expect([count, Math.round(sum)]).toEqual([2, 10 + 20])
  })

  test('never sees what the filter does not take', async () => {
    const { works, words, calls } = batchHandlerScene([], { filter: ({ offset }) => offset % 2n === 0n })
    expect(await words(works(0, 1, 2, 3))).toEqual(['done', 'FILTERED', 'done', 'FILTERED'])
    expect(calls).toEqual([[0, 2]])
  })

  test('never sees a replay that is meant for another group', async () => {
    const { works, workOf, words, calls } = batchHandlerScene([], {}, undefined, async () => recordOf())
    const [first, last] = works(0, 2) as [Work, Work]
    const foreign = workOf(recordOf({ offset: 1n, headers: replayed }))
    expect(await words([first, foreign, last])).toEqual(['done', 'CANCELLED', 'CANCELLED'])
    expect(await words([foreign, last])).toEqual(['FOREIGN_GROUP', 'CANCELLED'])
    expect(await words([last])).toEqual(['done'])
    expect(calls).toEqual([[0], [2]])
  })

  test('sees a record that only claims to be a replay for another group (forged replay header)', async () => {
    const { works, workOf, words, calls } = batchHandlerScene([], {}, undefined, async () => undefined)
    const [first, last] = works(0, 2) as [Work, Work]
    const forged = workOf(recordOf({ offset: 1n, headers: replayed }))
    expect(await words([first, forged, last])).toEqual(['done', 'CANCELLED', 'CANCELLED'])
    expect(await words([forged, last])).toEqual(['done', 'CANCELLED'])
    expect(calls).toEqual([[0], [1]])
  })

  test('is called without the record whose filter fails, which fails alone', async () => {
    const { works, words, calls } = batchHandlerScene([], { filter: oddFilter })
    const [first, second, third] = works(0, 1, 2) as [Work, Work, Work]
    expect(await words([first, second, third])).toEqual(['done', 'CANCELLED', 'CANCELLED'])
    expect(await words([second, third])).toEqual(['dead NON_RETRYABLE', 'CANCELLED'])
    expect(await words([third])).toEqual(['done'])
    expect(calls).toEqual([[0], [2]])
  })

  test('that names a record while the partition is given back decides about that record, whose attempt counts', async () => {
    const script = [
      () => {
        scene.scope.beginDraining()
        return fails(1, new NonRetryableError('never'))()
      },
    ]
    const scene = batchHandlerScene(script)
    expect(await scene.words(scene.works(0, 1, 2))).toEqual(['done', 'dead NON_RETRYABLE', 'CANCELLED'])
    expect(scene.calls).toHaveLength(1)
  })

  test('starts nothing more once the partition is given back', async () => {
    const { works, words, calls, scope } = batchHandlerScene([fails(1)])
    scope.beginDraining()
    expect(await words(works(0, 1))).toEqual(['CANCELLED', 'CANCELLED'])
    expect(calls).toEqual([])
  })

  test('that fails a whole batch is logged once while the records are delivered again', async () => {
    const { works, words, logger } = batchHandlerScene([throws(new Error('down'))], {
      retry: { tier0: { maxAttempts: 1 } },
    })
    expect(await words(works(0, 1))).toEqual(['REDELIVERED', 'REDELIVERED'])
    expect(logger.lines.map(({ text }) => text)).toEqual(['Record failed, redelivered with the next batch'])
  })

  test('does not decide about a record in a tier, which is delivered alone', async () => {
    const { deliver, workOf } = deliveryScene({
      listenerType: 'BATCH',
      handler: { handleBatch: () => Promise.reject(new Error('down')) },
      filter: () => {
        throw new Error('odd')
      },
    })
    expect(await deliver(workOf(undefined, 'SOURCE'))).toMatchObject({ kind: 'PAUSE', cause: 'REDELIVERED' })
    expect(await deliver(workOf(undefined, 'TIER', 1))).toMatchObject({ kind: 'RETRY', tier: 1, attempt: 2 })
  })

  test('counts each record that failed, and one call', async () => {
    const { works, words, metrics } = batchHandlerScene([throws(new TypeError('down'))], {
      retry: { tier0: { maxAttempts: 1 } },
      batchFailureStrategy: 'DLQ_AND_CONTINUE',
    })
    await words(works(0, 1, 2))
    expect(metrics.total('eventbus.records.failed', { exception: 'TypeError' })).toBe(3)
    expect(metrics.distribution('eventbus.processing.duration', { listenerType: 'BATCH' }).count).toBe(1)
  })
})
