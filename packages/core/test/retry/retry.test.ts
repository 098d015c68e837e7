import { ArgumentError, NonRetryableError, type RetryBudgetExceededError, retry } from '@waybill/core'
import { type AttemptReport, type RetryControl, type RetryPolicy, type RetryResult } from '@waybill/core/internal'
import { createVirtualRuntime, type VirtualRuntime } from '@waybill/sim'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'

const policy: RetryPolicy = {
  maxAttempts: 3,
  backoff: { initialMs: 100, multiplier: 2, maxMs: 2_000, jitterExceedsMax: false },
}

/** Without jitter, so that tests can name the waits. */
function evenRuntime(): VirtualRuntime {
  return Object.create(createVirtualRuntime(1), { random: { value: () => 0.5 } }) as VirtualRuntime
}

/** Returns a handler that takes `handlerMs` and throws the given values one after another, then succeeds. */
function failing(
  runtime: VirtualRuntime,
  errors: readonly unknown[],
  handlerMs = 0,
): (attempt: number) => Promise<string> {
  return async (attempt) => {
    if (handlerMs > 0) await runtime.timers.sleep(handlerMs)
    if (attempt <= errors.length) throw errors[attempt - 1]
    return `attempt ${attempt}`
  }
}

const neverCalled = (): never => expect.unreachable('the handler was called')
const isNoNonRetryableError = (error: unknown): boolean => !(error instanceof NonRetryableError)

async function finish<T>(runtime: VirtualRuntime, call: Promise<RetryResult<T>>): Promise<RetryResult<T>> {
  await runtime.runToIdle()
  return call
}

describe('retry', () => {
  test('succeeds at once without waiting', async () => {
    const runtime = evenRuntime()
    const result = await finish(runtime, retry(runtime, policy, failing(runtime, [])))
    expect(result).toEqual({ outcome: 'SUCCEEDED', value: 'attempt 1', attempts: 1, handlerMs: 0, backoffMs: 0 })
  })

  test('tries again after failures and reports handler time apart from backoff time', async () => {
    const runtime = evenRuntime()
    const run = failing(runtime, ['first', 'second'], 70)
    const result = await finish(runtime, retry(runtime, policy, run))
    expect(result).toEqual({ outcome: 'SUCCEEDED', value: 'attempt 3', attempts: 3, handlerMs: 210, backoffMs: 300 })
    expect(runtime.clock.monotonic()).toBe(510)
  })

  test('counts the first call as an attempt and ends with the last error', async () => {
    const runtime = evenRuntime()
    const errors = [new Error('one'), new Error('two'), new Error('three'), new Error('four')]
    const result = await finish(runtime, retry(runtime, policy, failing(runtime, errors)))
    expect(result).toEqual({ outcome: 'EXHAUSTED', error: errors[2], attempts: 3, handlerMs: 0, backoffMs: 300 })
  })

  test('never tries again with one attempt', async () => {
    const runtime = evenRuntime()
    const result = await finish(runtime, retry(runtime, { ...policy, maxAttempts: 1 }, failing(runtime, ['x'])))
    expect(result).toMatchObject({ outcome: 'EXHAUSTED', error: 'x', attempts: 1, backoffMs: 0 })
  })

  test('may try without end', async () => {
    const runtime = evenRuntime()
    const endless = { ...policy, maxAttempts: Number.POSITIVE_INFINITY }
    const result = await finish(runtime, retry(runtime, endless, failing(runtime, Array.from({ length: 500 }))))
    expect(result).toMatchObject({ outcome: 'SUCCEEDED', attempts: 501 })
  })

  test('retries only errors that are retryable', async () => {
    const runtime = evenRuntime()
    const final = new NonRetryableError('negative total')
    const run = failing(runtime, [new Error('connection reset'), final])
    const result = await finish(runtime, retry(runtime, policy, run, { isRetryable: isNoNonRetryableError }))
    expect(result).toMatchObject({ outcome: 'NOT_RETRYABLE', error: final, attempts: 2, backoffMs: 100 })
  })

  test.each([undefined, null, 'text', 0, Symbol('thrown'), 1n, Object.freeze({})])(
    'never rejects, also when %o is thrown',
    async (thrown) => {
      const runtime = evenRuntime()
      const run = (): never => {
        throw thrown as Error
      }
      const result = await finish(runtime, retry(runtime, policy, run))
      expect(result).toMatchObject({ outcome: 'EXHAUSTED', attempts: 3 })
      expect(result).toHaveProperty('error', thrown)
    },
  )

  test('takes handlers that return without a promise', async () => {
    const runtime = evenRuntime()
    expect(
      await finish(
        runtime,
        retry(runtime, policy, () => 7),
      ),
    ).toMatchObject({ outcome: 'SUCCEEDED', value: 7 })
  })
})

describe('a first attempt that was made before', () => {
  const firstFailure = { error: new Error('one'), handlerMs: 70 }

  test('counts as one, with its time, and is not made again', async () => {
    const runtime = evenRuntime()
    const calls: number[] = []
    const reports: number[] = []
    const run = (attempt: number): string => {
      calls.push(attempt)
      return 'done'
    }
    const onAttempt = ({ handlerMs }: AttemptReport): void => void reports.push(handlerMs)
    const result = await finish(runtime, retry(runtime, policy, run, { firstFailure, onAttempt }))
    expect(result).toEqual({ outcome: 'SUCCEEDED', value: 'done', attempts: 2, handlerMs: 70, backoffMs: 100 })
    expect([calls, reports]).toEqual([[2], [70, 0]])
  })

  test.each([
    ['EXHAUSTED', { ...policy, maxAttempts: 1 }, {}],
    ['NOT_RETRYABLE', policy, { isRetryable: () => false }],
  ] as const)('may be the last: %s', async (outcome, given, control) => {
    const runtime = evenRuntime()
    const result = await finish(runtime, retry(runtime, given, neverCalled, { firstFailure, ...control }))
    expect(result).toEqual({ outcome, error: firstFailure.error, attempts: 1, handlerMs: 70, backoffMs: 0 })
  })

  test('is not refused afterwards, and neither is what it says of the record', async () => {
    const runtime = evenRuntime()
    const refusal = new Error('open')
    const control = { firstFailure, beforeAttempt: () => refusal }
    const refused = await finish(runtime, retry(runtime, policy, neverCalled, control))
    expect(refused).toEqual({ outcome: 'REFUSED', error: refusal, attempts: 1, handlerMs: 70, backoffMs: 100 })
    const final = { ...control, isRetryable: () => false }
    expect(await finish(runtime, retry(runtime, policy, neverCalled, final))).toMatchObject({
      outcome: 'NOT_RETRYABLE',
      attempts: 1,
    })
  })

  test('counts also when it ended too late', async () => {
    const runtime = evenRuntime()
    const result = retry(runtime, policy, neverCalled, { firstFailure, signal: AbortSignal.abort(new Error('over')) })
    expect(await finish(runtime, result)).toMatchObject({ outcome: 'CANCELLED', attempts: 1, handlerMs: 70 })
  })
})

describe('a check before each attempt', () => {
  test('can refuse the first one, which spends no attempt', async () => {
    const runtime = evenRuntime()
    const refusal = new Error('open')
    const result = await finish(runtime, retry(runtime, policy, neverCalled, { beforeAttempt: () => refusal }))
    expect(result).toEqual({ outcome: 'REFUSED', error: refusal, attempts: 0, handlerMs: 0, backoffMs: 0 })
  })

  test('can refuse a later one, after its wait', async () => {
    const runtime = evenRuntime()
    const refusal = new Error('open')
    const asked: number[] = []
    const beforeAttempt = (attempt: number): Error | undefined => {
      asked.push(attempt)
      return runtime.clock.monotonic() >= 100 ? refusal : undefined
    }
    const result = await finish(runtime, retry(runtime, policy, failing(runtime, ['x', 'y']), { beforeAttempt }))
    expect(result).toMatchObject({ outcome: 'REFUSED', error: refusal, attempts: 1, backoffMs: 100 })
    expect(asked).toEqual([1, 2])
  })
})

describe('an abort', () => {
  const reason = new Error('revoked')

  test('before the first attempt starts none', async () => {
    const runtime = evenRuntime()
    const result = await finish(runtime, retry(runtime, policy, neverCalled, { signal: AbortSignal.abort(reason) }))
    expect(result).toEqual({ outcome: 'CANCELLED', error: reason, attempts: 0, handlerMs: 0, backoffMs: 0 })
  })

  test('during a wait ends it at once and leaves no timer behind', async () => {
    const runtime = evenRuntime()
    const controller = new AbortController()
    const call = retry(runtime, policy, failing(runtime, ['x', 'y']), { signal: controller.signal })
    await runtime.advance(40)
    controller.abort(reason)
    await expect(call).resolves.toEqual({
      outcome: 'CANCELLED',
      error: reason,
      attempts: 1,
      handlerMs: 0,
      backoffMs: 40,
    })
    expect(runtime.pending).toBe(0)
  })

  test('during an attempt that then fails is a cancellation, not a failure of the record', async () => {
    const runtime = evenRuntime()
    const controller = new AbortController()
    const run = async (): Promise<never> => {
      controller.abort(reason)
      throw new NonRetryableError('half done')
    }
    const control: RetryControl = { signal: controller.signal, isRetryable: () => false }
    const result = await finish(runtime, retry(runtime, { ...policy, maxAttempts: 1 }, run, control))
    expect(result).toMatchObject({ outcome: 'CANCELLED', error: reason, attempts: 1 })
  })

  test('during an attempt that then succeeds is a success, since its effect has happened', async () => {
    const runtime = evenRuntime()
    const controller = new AbortController()
    const run = async (): Promise<string> => {
      controller.abort(reason)
      return 'done'
    }
    const result = await finish(runtime, retry(runtime, policy, run, { signal: controller.signal }))
    expect(result).toMatchObject({ outcome: 'SUCCEEDED', value: 'done' })
  })
})

describe('winding down', () => {
  const reason = new Error('drains')

  const windingDown = (error: unknown): { run: () => Promise<never>; windDown: AbortSignal } => {
    const controller = new AbortController()
    const run = async (): Promise<never> => {
      controller.abort(reason)
      throw error
    }
    return { run, windDown: controller.signal }
  }

  test('cancels a failure that a retry might fix', async () => {
    const runtime = evenRuntime()
    const { run, windDown } = windingDown('x')
    const result = await finish(runtime, retry(runtime, policy, run, { windDown }))
    expect(result).toMatchObject({ outcome: 'CANCELLED', error: reason, attempts: 1, backoffMs: 0 })
  })

  test('counts a failure that is final, or the last one allowed', async () => {
    const runtime = evenRuntime()
    const final = windingDown('x')
    expect(
      await finish(runtime, retry(runtime, policy, final.run, { windDown: final.windDown, isRetryable: () => false })),
    ).toMatchObject({ outcome: 'NOT_RETRYABLE', error: 'x' })
    const last = windingDown('y')
    expect(
      await finish(runtime, retry(runtime, { ...policy, maxAttempts: 1 }, last.run, { windDown: last.windDown })),
    ).toMatchObject({ outcome: 'EXHAUSTED', error: 'y' })
  })

  test('ends a wait at once and leaves no timer behind', async () => {
    const runtime = evenRuntime()
    const controller = new AbortController()
    const { signal } = new AbortController()
    const call = retry(runtime, policy, failing(runtime, ['x', 'y']), { signal, windDown: controller.signal })
    await runtime.advance(40)
    controller.abort(reason)
    await expect(call).resolves.toMatchObject({ outcome: 'CANCELLED', error: reason, attempts: 1, backoffMs: 40 })
    expect(runtime.pending).toBe(0)
  })
})

describe('a budget', () => {
  test('lets the first attempt be made even when nothing is left', async () => {
    const runtime = evenRuntime()
    const result = await finish(runtime, retry(runtime, policy, failing(runtime, []), { budgetMs: 0 }))
    expect(result).toMatchObject({ outcome: 'SUCCEEDED' })
  })

  test('ends a call whose next wait would overrun it, without waiting', async () => {
    const runtime = evenRuntime()
    const errors = [new Error('one'), new Error('two')]
    const result = await finish(runtime, retry(runtime, policy, failing(runtime, errors, 50), { budgetMs: 399 }))
    expect(result).toMatchObject({ outcome: 'BUDGET_EXCEEDED', attempts: 2, handlerMs: 100, backoffMs: 100 })
    const error = (result as { error: RetryBudgetExceededError }).error
    expect(error.cause).toBe(errors[1])
    expect(error.attempts).toBe(2)
    expect(error.message).toContain(
      'the next one would start 400 ms after the first, beyond the retry budget of 399 ms',
    )
  })

  test('may be used up to its last millisecond', async () => {
    const runtime = evenRuntime()
    const run = failing(runtime, ['one', 'two'], 50)
    const result = await finish(runtime, retry(runtime, policy, run, { budgetMs: 400 }))
    expect(result).toMatchObject({ outcome: 'SUCCEEDED', attempts: 3 })
  })

  test('does not hide that attempts are exhausted', async () => {
    const runtime = evenRuntime()
    const result = await finish(
      runtime,
      retry(runtime, { ...policy, maxAttempts: 1 }, failing(runtime, ['x']), { budgetMs: 0 }),
    )
    expect(result).toMatchObject({ outcome: 'EXHAUSTED' })
  })
})

describe('the reports of attempts', () => {
  test('come one for each attempt, with its own time and what follows', async () => {
    const runtime = evenRuntime()
    const reports: AttemptReport[] = []
    const run = failing(runtime, ['one', 'two'], 20)
    await finish(runtime, retry(runtime, policy, run, { onAttempt: (report) => reports.push(report) }))
    expect(reports).toEqual([
      { attempt: 1, handlerMs: 20, isFailed: true, error: 'one', nextInMs: 100 },
      { attempt: 2, handlerMs: 20, isFailed: true, error: 'two', nextInMs: 200 },
      { attempt: 3, handlerMs: 20, isFailed: false, error: undefined, nextInMs: undefined },
    ])
  })

  test('say of the last failed attempt that none follows', async () => {
    const runtime = evenRuntime()
    const waits: unknown[] = []
    const run = failing(runtime, ['one', 'two', 'three'])
    await finish(runtime, retry(runtime, policy, run, { onAttempt: ({ nextInMs }) => waits.push(nextInMs) }))
    expect(waits).toEqual([100, 200, undefined])
  })
})

test('every call ends, accounts for all its time, and stays within its attempts and its budget', async () => {
  const anyCall = fc.record({
    seed: fc.integer(),
    maxAttempts: fc.integer({ min: 1, max: 6 }),
    failures: fc.integer({ min: 0, max: 8 }),
    handlerMs: fc.integer({ min: 0, max: 500 }),
    budgetMs: fc.option(fc.integer({ min: 0, max: 3_000 }), { nil: Number.POSITIVE_INFINITY }),
    abortAtMs: fc.option(fc.integer({ min: 0, max: 3_000 }), { nil: undefined }),
  })
  await fc.assert(
    fc.asyncProperty(anyCall, async ({ seed, maxAttempts, failures, handlerMs, budgetMs, abortAtMs }) => {
      const runtime = createVirtualRuntime(seed)
      const controller = new AbortController()
      if (abortAtMs !== undefined) runtime.timers.schedule(abortAtMs, () => controller.abort())
      let startedLast = 0
      const control: RetryControl = {
        signal: controller.signal,
        budgetMs,
        beforeAttempt: () => {
          expect(controller.signal.aborted).toBe(false)
          startedLast = runtime.clock.monotonic()
          return undefined
        },
      }
      const errors = Array.from({ length: failures }, (_, index) => index)
      let endedAt = 0
      const timed = async (): Promise<RetryResult<string>> => {
        const result = await retry(runtime, { ...policy, maxAttempts }, failing(runtime, errors, handlerMs), control)
        endedAt = runtime.clock.monotonic()
        return result
      }
      const result = await finish(runtime, timed())
      expect(result.attempts).toBeLessThanOrEqual(maxAttempts)
      expect(result.handlerMs).toBeCloseTo(result.attempts * handlerMs)
      expect(result.handlerMs + result.backoffMs).toBeCloseTo(endedAt)
      expect(startedLast).toBeLessThanOrEqual(budgetMs)
      const isRight: Record<typeof result.outcome, boolean> = {
        SUCCEEDED: result.attempts === failures + 1,
        EXHAUSTED: result.attempts === maxAttempts,
        CANCELLED: abortAtMs !== undefined && abortAtMs <= endedAt,
        BUDGET_EXCEEDED: result.attempts < maxAttempts && budgetMs < Number.POSITIVE_INFINITY,
        NOT_RETRYABLE: false,
        REFUSED: false,
      }
      expect(isRight).toMatchObject({ [result.outcome]: true })
    }),
  )
})

test.each<[string, unknown[], RegExp]>([
  ['no runtime', [policy, neverCalled], /takes a runtime first, such as systemRuntime, not an object/],
  ['a runtime that is null', [null, policy, neverCalled], /takes a runtime first/],
  [
    'no policy',
    [evenRuntime(), neverCalled],
    /takes a policy second, such as \{ maxAttempts: 3, backoff \}, not a function/,
  ],
  [
    'a promise to run',
    [evenRuntime(), policy, Promise.resolve()],
    /takes a function third, not an instance of Promise/,
  ],
])('a call with %s is refused by name', async (_, given, message) => {
  const call = (retry as (...given: unknown[]) => Promise<unknown>)(...given)
  await expect(call).rejects.toThrow(ArgumentError)
  await expect(call).rejects.toThrow(message)
})
