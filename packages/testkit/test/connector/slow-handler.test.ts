import { ArgumentError } from '@waybill/core'
import { createVirtualRuntime } from '@waybill/sim'
import { createSlowHandler } from '@waybill/testkit'
import { describe, expect, test } from 'vitest'
import { contextOf, recordAt } from './delivered.ts'

describe('a slow handler', () => {
  test('takes the given time', async () => {
    const runtime = createVirtualRuntime(1)
    const handler = createSlowHandler(5_000, { runtime })
    const done = handler(recordAt(7n), contextOf(recordAt(7n)))
    await runtime.advance(4_999)
    expect([handler.calls.length, handler.handled.length]).toEqual([1, 0])
    await runtime.advance(1)
    await done
    expect(handler.handled).toHaveLength(1)
  })

  test('does its work when the time is over, and succeeds when that does', async () => {
    const runtime = createVirtualRuntime(1)
    const handler = createSlowHandler(5_000, { runtime, work: () => Promise.reject(new TypeError('too heavy')) })
    const done = runtime.run(() => handler(recordAt(7n), contextOf(recordAt(7n))))
    await expect(done).rejects.toThrow('too heavy')
    expect([runtime.clock.monotonic(), handler.handled.length]).toEqual([5_000, 0])
  })

  test('gives up when its signal aborts', async () => {
    const runtime = createVirtualRuntime(1)
    const abort = new AbortController()
    const handler = createSlowHandler(5_000, { runtime })
    const done = handler(recordAt(7n), contextOf(recordAt(7n), { signal: abort.signal }))
    abort.abort(new Error('the partition is gone'))
    await expect(done).rejects.toThrow('the partition is gone')
    expect([handler.handled.length, runtime.pending]).toEqual([0, 0])
  })

  test('cannot take less than no time', () => {
    expect(() => createSlowHandler(-1)).toThrow(ArgumentError)
  })
})
