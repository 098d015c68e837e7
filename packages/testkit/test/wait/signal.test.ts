import { OptionsError } from '@waybill/core'
import { createVirtualRuntime } from '@waybill/sim'
import { createSignal, leakCheck, WaitDeadlineError } from '@waybill/testkit'
import { describe, expect, test } from 'vitest'

describe('a signal', () => {
  test('wakes who waits, with what was sent', async () => {
    const shipped = createSignal<number>('an order is shipped')
    const waits = [shipped.wait(), shipped.wait()]
    shipped.send(7)
    expect(await Promise.all(waits)).toEqual([7, 7])
  })

  test('keeps values sent before a wait', async () => {
    const shipped = createSignal<number>('an order is shipped')
    shipped.send(7)
    shipped.send(8)
    expect(await shipped.wait()).toBe(7)
    expect(await shipped.wait({ count: 2 })).toBe(8)
    expect(shipped.values).toEqual([7, 8])
  })

  test('needs nothing to send', async () => {
    const done = createSignal('it is done')
    setImmediate(done.send)
    expect(await done.wait()).toBeUndefined()
    expect(done.values).toHaveLength(1)
  })

  test('counts: a wait for the third time ends at the third time', async () => {
    const runtime = createVirtualRuntime(1)
    const tick = createSignal<number>('a tick', { runtime })
    for (const ms of [10, 20, 30, 40]) runtime.timers.schedule(ms, () => tick.send(ms))
    expect(await runtime.run(() => tick.wait({ count: 3 }))).toBe(30)
    expect([runtime.clock.monotonic(), runtime.pending]).toEqual([30, 1])
  })

  test('names the awaited occurrence at the deadline, and stays usable', async () => {
    const runtime = createVirtualRuntime(1)
    const shipped = createSignal<number>('order 7 is shipped', { runtime })
    const waiting = runtime.run(() => shipped.wait({ deadlineMs: 500 }))
    await expect(waiting).rejects.toThrow(WaitDeadlineError)
    await expect(waiting).rejects.toThrow(/^Waited 500 ms for "order 7 is shipped", which did not happen\.$/)
    expect(runtime.clock.monotonic()).toBe(500)
    const next = shipped.wait()
    shipped.send(7)
    expect(await next).toBe(7)
    expect(runtime.pending).toBe(0)
  })

  test('says at the deadline how often it happened', async () => {
    const runtime = createVirtualRuntime(1)
    const shipped = createSignal('an order is shipped', { runtime })
    shipped.send()
    await expect(runtime.run(() => shipped.wait({ count: 3 }))).rejects.toThrow('to happen 3 times; it happened once.')
    shipped.send()
    await expect(runtime.run(() => shipped.wait({ count: 3 }))).rejects.toThrow(
      'Waited 10000 ms for "an order is shipped" to happen 3 times; it happened 2 times.',
    )
  })

  test('leaves no timer behind', async () => {
    await leakCheck(async () => {
      const done = createSignal('it is done')
      const waiting = done.wait()
      done.send()
      await waiting
    })
  })

  test('cannot be awaited for less than once', async () => {
    await expect(createSignal('x').wait({ count: 0 })).rejects.toThrow(OptionsError)
  })
})
