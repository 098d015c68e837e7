import { createVirtualRuntime } from '@waybill/sim'
import { createRecordingHandler, WaitDeadlineError } from '@waybill/testkit'
import { describe, expect, test } from 'vitest'
import { contextOf, recordAt } from './delivered.ts'

describe('a recording handler', () => {
  test('writes down what it is called with, and as what', async () => {
    const handler = createRecordingHandler()
    await handler(recordAt(7n), contextOf(recordAt(7n), { attempt: 2, tier: 1 }))
    await handler(recordAt(8n, null), contextOf(recordAt(8n)))
    expect(handler.values).toEqual(['value 7', null])
    expect(handler.handled[0]).toMatchObject({
      record: { offset: 7n },
      attempt: 2,
      tier: 1,
      original: { topic: 'orders', partition: 0, offset: 7n },
    })
  })

  test('can be awaited, before and after it is called', async () => {
    const handler = createRecordingHandler()
    const waiting = handler.wait({ count: 2 })
    await handler(recordAt(7n), contextOf(recordAt(7n)))
    await handler(recordAt(8n), contextOf(recordAt(8n)))
    expect((await waiting).record.offset).toBe(8n)
    expect((await handler.wait()).record.offset).toBe(7n)
  })

  test('does the work it is given; a call that fails has begun and is not handled', async () => {
    const handler = createRecordingHandler({
      work: ({ offset }) => {
        if (offset === 7n) throw new TypeError('not this one')
      },
    })
    await expect(handler(recordAt(7n), contextOf(recordAt(7n)))).rejects.toThrow('not this one')
    await handler(recordAt(8n), contextOf(recordAt(8n)))
    expect([handler.calls.length, handler.values]).toEqual([2, ['value 8']])
    expect((await handler.waitForCalls({ count: 2 })).record.offset).toBe(8n)
  })

  test('says at the deadline what did not happen', async () => {
    const runtime = createVirtualRuntime(1)
    const handler = createRecordingHandler({ runtime })
    const waiting = runtime.run(() => handler.wait({ deadlineMs: 500 }))
    await expect(waiting).rejects.toThrow(WaitDeadlineError)
    await expect(waiting).rejects.toThrow('a record that is handled')
  })

  test('calls onHandled for each success, and for no failure', async () => {
    const reported: bigint[] = []
    const handler = createRecordingHandler({
      onHandled: ({ record }) => void reported.push(record.offset),
      work: ({ offset }) => (offset === 7n ? Promise.reject(new TypeError('not this one')) : undefined),
    })
    await expect(handler(recordAt(7n), contextOf(recordAt(7n)))).rejects.toThrow('not this one')
    await handler(recordAt(8n), contextOf(recordAt(8n)))
    expect(reported).toEqual([8n])
  })

  test('waits as long as it was made to wait, unless the wait says otherwise', async () => {
    const runtime = createVirtualRuntime(1)
    const handler = createRecordingHandler({ runtime, deadlineMs: 60_000 })
    await expect(runtime.run(() => handler.wait())).rejects.toThrow('Waited 60000 ms')
    await expect(runtime.run(() => handler.waitForCalls({ deadlineMs: 5 }))).rejects.toThrow('Waited 5 ms')
  })
})
