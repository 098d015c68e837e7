import { setImmediate } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { BoundedWaits } from '../../src/records/bounded-waits.ts'

/** A clock that stands still until it is moved, and the timers that are waiting for it. */
function stoppedTime() {
  let now = 0
  const timers = new Set<{ readonly at: number; readonly run: () => void }>()
  const schedule = (ms: number, run: () => void): Disposable => {
    const timer = { at: now + ms, run }
    timers.add(timer)
    return { [Symbol.dispose]: () => void timers.delete(timer) }
  }
  const moveTo = async (ms: number): Promise<void> => {
    now = ms
    for (const timer of [...timers].filter(({ at }) => at <= now)) {
      timers.delete(timer)
      timer.run()
    }
    await setImmediate()
  }
  const runtime = {
    clock: { now: () => now, monotonic: () => now },
    timers: { schedule, sleep: () => Promise.reject(new Error('not used')) },
  }
  return { runtime, moveTo, timers }
}

const never = (): Promise<string> => new Promise(() => {})

describe('bounded waits', () => {
  test('resolve with what comes in time, and leave no timer behind', async () => {
    const { runtime, timers } = stoppedTime()
    const waits = new BoundedWaits(runtime, 100, () => 'late')
    const { signal } = new AbortController()
    const all = Promise.all([waits.for(Promise.resolve('one'), signal), waits.for(Promise.resolve('two'), signal)])
    expect(timers.size).toBe(1)
    expect(await all).toEqual(['one', 'two'])
    expect(timers.size).toBe(0)
  })

  test('end each at its own bound, with one timer for all', async () => {
    const { runtime, moveTo, timers } = stoppedTime()
    const waits = new BoundedWaits(runtime, 100, () => 'late')
    const { signal } = new AbortController()
    const ended: string[] = []
    const wait = (name: string): void =>
      void waits.for(never(), signal).then((value) => void ended.push(`${name} ${value}`))
    wait('first')
    await moveTo(40)
    wait('second')
    wait('third')
    expect(timers.size).toBe(1)
    await moveTo(100)
    expect(ended).toEqual(['first late'])
    await moveTo(139)
    expect(ended).toEqual(['first late'])
    await moveTo(140)
    expect(ended).toEqual(['first late', 'second late', 'third late'])
    expect(timers.size).toBe(0)
  })

  test('reject all of a signal with its reason, and none of another', async () => {
    const { runtime, timers } = stoppedTime()
    const waits = new BoundedWaits(runtime, 100, () => 'late')
    const [lost, kept] = [new AbortController(), new AbortController()]
    const answer = Promise.withResolvers<string>()
    const rejected = Promise.allSettled([waits.for(never(), lost.signal), waits.for(never(), lost.signal)])
    const resolved = waits.for(answer.promise, kept.signal)
    const reason = new Error('the partition is lost')
    lost.abort(reason)
    expect(await rejected).toEqual([
      { status: 'rejected', reason },
      { status: 'rejected', reason },
    ])
    answer.resolve('written')
    expect(await resolved).toBe('written')
    expect(timers.size).toBe(0)
  })

  test('reject at once when the signal has aborted before', async () => {
    const { runtime, timers } = stoppedTime()
    const waits = new BoundedWaits(runtime, 100, () => 'late')
    const reason = new Error('the partition is lost')
    await expect(waits.for(never(), AbortSignal.abort(reason))).rejects.toBe(reason)
    expect(timers.size).toBe(0)
  })
})
