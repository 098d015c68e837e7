import { OptionsError } from '@waybill/core'
import { createVirtualRuntime } from '@waybill/sim'
import { eventually, leakCheck, WaitDeadlineError } from '@waybill/testkit'
import { describe, expect, test } from 'vitest'

describe('eventually', () => {
  test('answers what the assertion returns, at once when it passes at once', async () => {
    const runtime = createVirtualRuntime(1)
    expect(await runtime.run(() => eventually(() => 'now', { runtime }))).toBe('now')
    expect(await runtime.run(() => eventually(() => Promise.resolve('now'), { runtime }))).toBe('now')
    expect([runtime.clock.monotonic(), runtime.pending]).toEqual([0, 0])
  })

  test('tries again every so often until the assertion passes', async () => {
    const runtime = createVirtualRuntime(1)
    const triedAt: number[] = []
    await runtime.run(() =>
      eventually(
        () => {
          triedAt.push(runtime.clock.monotonic())
          expect(runtime.clock.monotonic()).toBeGreaterThanOrEqual(70)
        },
        { runtime, everyMs: 20 },
      ),
    )
    expect(triedAt).toEqual([0, 20, 40, 60, 80])
  })

  test('throws at the deadline, after a last try, with the last failure as its text and cause', async () => {
    const runtime = createVirtualRuntime(1)
    const failures: Error[] = []
    const waiting = runtime.run(() =>
      eventually(
        () => {
          failures.push(Object.freeze(new Error(`failure ${failures.length}`)))
          throw failures.at(-1) as Error
        },
        { runtime, deadlineMs: 25, everyMs: 10 },
      ),
    )
    await expect(waiting).rejects.toThrow(WaitDeadlineError)
    await expect(waiting).rejects.toThrow('The assertion still failed after 25 ms: Error: failure 3')
    await expect(waiting).rejects.toMatchObject({ cause: failures[3] })
    expect([failures.length, runtime.clock.monotonic(), runtime.pending]).toEqual([4, 25, 0])
  })

  test('describes whatever an assertion throws', async () => {
    const runtime = createVirtualRuntime(1)
    const waiting = runtime.run(() => eventually(() => Promise.reject('no'), { runtime, deadlineMs: 0 }))
    await expect(waiting).rejects.toThrow('The assertion still failed after 0 ms: no')
  })

  test('gives up an attempt that never answers', async () => {
    const runtime = createVirtualRuntime(1)
    const waiting = runtime.run(() => eventually(() => new Promise(() => {}), { runtime, deadlineMs: 100 }))
    await expect(waiting).rejects.toThrow('the attempt did not complete within 100 ms')
  })

  test('waits on the system clock by default, and leaves no timer', async () => {
    let tries = 0
    const passed = await leakCheck(() =>
      eventually(() => {
        expect(++tries).toBe(3)
        return 'passed'
      }),
    )
    expect(passed).toBe('passed')
  })

  test('refuses options it does not know', async () => {
    await expect(eventually(() => {}, { timeout: 5 } as never)).rejects.toThrow(OptionsError)
  })
})
