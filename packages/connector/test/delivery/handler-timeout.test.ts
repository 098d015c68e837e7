import { createVirtualRuntime } from '@waybill/sim'
import { watchRejections } from '@waybill/test-support/kafka'
import { describe, expect, test } from 'vitest'
import { callWithin, HandlerTimeoutError } from '../../src/delivery/handler-timeout.ts'

watchRejections()

const never = new AbortController().signal

describe('a call with a time limit', () => {
  test('that ends in time leaves neither a timer nor a listener behind', async () => {
    const runtime = createVirtualRuntime(1)
    const outer = new AbortController()
    let inner: AbortSignal | undefined
    await callWithin(runtime.timers, 1_000, outer.signal, (signal) => {
      inner = signal
    })
    outer.abort(new Error('later'))
    expect([runtime.pending, inner?.aborted]).toEqual([0, false])
  })

  test('that throws, at once or later, rejects with just that', async () => {
    const { timers } = createVirtualRuntime(1)
    const thrown = new Error('no')
    const throwing = (): void => {
      throw thrown
    }
    await expect(callWithin(timers, 1_000, never, throwing)).rejects.toBe(thrown)
    await expect(callWithin(timers, 1_000, never, () => Promise.reject(thrown))).rejects.toBe(thrown)
  })

  test('rejects when the time is over, aborts the signal with the same error, and does not wait', async () => {
    const runtime = createVirtualRuntime(1)
    let inner: AbortSignal | undefined
    const call = callWithin(runtime.timers, 1_000, never, (signal) => {
      inner = signal
      return new Promise(() => {})
    })
    const ended = call.catch((error: unknown) => error)
    await runtime.advance(999)
    expect(inner?.aborted).toBe(false)
    await runtime.advance(1)
    expect(await ended).toBeInstanceOf(HandlerTimeoutError)
    expect(inner?.reason).toBeInstanceOf(HandlerTimeoutError)
  })

  test('ignores what a late handler does in the end', async () => {
    const runtime = createVirtualRuntime(1)
    const { promise, reject } = Promise.withResolvers<void>()
    const ended = callWithin(runtime.timers, 1_000, never, () => promise).catch((error: unknown) => error)
    await runtime.advance(1_000)
    expect(await ended).toBeInstanceOf(HandlerTimeoutError)
    reject(new Error('nobody waits for this'))
    await runtime.advance(1_000)
  })

  test('passes an abort on, also one that came before, and still waits for the handler', async () => {
    const runtime = createVirtualRuntime(1)
    const reason = new Error('revoked')
    const signals: AbortSignal[] = []
    const outer = new AbortController()
    const { promise, resolve } = Promise.withResolvers<void>()
    const run = (signal: AbortSignal): Promise<void> => {
      signals.push(signal)
      return promise
    }
    const first = callWithin(runtime.timers, 1_000, outer.signal, run)
    outer.abort(reason)
    const second = callWithin(runtime.timers, 1_000, outer.signal, run)
    expect(signals.map((signal) => signal.reason as unknown)).toEqual([reason, reason])
    resolve()
    await Promise.all([first, second])
    expect(runtime.pending).toBe(0)
  })
})
