import {
  type CircuitBreaker,
  type CircuitBreakerOptions,
  CircuitOpenError,
  createCircuitBreaker,
  createExceptionClassifier,
  NonRetryableError,
} from '@waybill/core'
import {
  type CircuitState,
  isRetryable,
  type RetryControl,
  type RetryPolicy,
  type RetryResult,
  retryThroughBreaker,
} from '@waybill/core/internal'
import { createVirtualRuntime, type VirtualRuntime } from '@waybill/sim'
import { describe, expect, test } from 'vitest'

const policy: RetryPolicy = {
  maxAttempts: 3,
  backoff: { initialMs: 100, multiplier: 2, maxMs: 2_000, jitterExceedsMax: false },
}
const small: CircuitBreakerOptions = {
  enabled: true,
  slidingWindowSize: 4,
  minimumNumberOfCalls: 2,
  permittedNumberOfCallsInHalfOpenState: 1,
}
const classify = createExceptionClassifier()
const control: RetryControl = { isRetryable: (error) => isRetryable(classify(error, 0)) }

function setUp(options: CircuitBreakerOptions = small) {
  const runtime = createVirtualRuntime(7)
  const breaker = createCircuitBreaker('orders', options, runtime)
  const call = async <T>(
    run: (attempt: number) => T | PromiseLike<T>,
    more: RetryControl = {},
    retryPolicy: RetryPolicy = policy,
  ): Promise<RetryResult<T>> => {
    const result = retryThroughBreaker(breaker, runtime, retryPolicy, run, { ...control, ...more })
    await runtime.advance(10_000)
    return result
  }
  return { runtime, breaker, call }
}

const failAlways = (): never => {
  throw new Error('connection reset')
}

function open(breaker: CircuitBreaker): void {
  while (breaker.state !== 'OPEN') breaker.tryAcquire()?.fail(1)
}

describe('a call through a breaker', () => {
  test('is one outcome, however many attempts it took', async () => {
    const { breaker, call } = setUp()
    const first = await call((attempt) => (attempt < 3 ? failAlways() : 'done'))
    expect(first).toMatchObject({ outcome: 'SUCCEEDED', attempts: 3 })
    expect(breaker.rates).toEqual({ calls: 1, failureRate: 0, slowCallRate: 0 })
    expect(await call(failAlways)).toMatchObject({ outcome: 'EXHAUSTED', attempts: 3 })
    expect(breaker.state).toBe('OPEN')
  })

  test('is refused by an open breaker without spending an attempt', async () => {
    const { breaker, call } = setUp()
    open(breaker)
    const result = await call(() => expect.unreachable('the handler was called'))
    expect(result).toMatchObject({ outcome: 'REFUSED', attempts: 0 })
    expect((result as { error: Error }).error).toBeInstanceOf(CircuitOpenError)
    expect((result as { error: Error }).error.message).toContain('The circuit breaker orders is open')
  })

  test('is refused with an error that is classified as an extended failure', async () => {
    const { breaker, call } = setUp()
    open(breaker)
    const { error } = (await call(failAlways)) as { error: Error }
    expect(classify(error, 0)).toEqual({ routing: 'SKIP_TO_TIER', targetTier: 2 })
  })

  test('stops between its attempts when the breaker opens meanwhile', async () => {
    const { breaker, call } = setUp()
    const result = await call(() => {
      open(breaker)
      return failAlways()
    })
    expect(result).toMatchObject({ outcome: 'REFUSED', attempts: 1 })
  })

  test('that the breaker overtook does not become a probe', async () => {
    const { runtime, breaker } = setUp({ ...small, waitDurationInOpenStateMs: 50 })
    let attempts = 0
    const overtaken = retryThroughBreaker(breaker, runtime, policy, () => {
      attempts++
      open(breaker)
      return failAlways()
    })
    await runtime.advance(2_000)
    expect(breaker.state).toBe('HALF_OPEN')
    expect(attempts).toBe(1)
    await expect(overtaken).resolves.toMatchObject({ outcome: 'REFUSED' })
    expect(breaker.tryAcquire()).toBeDefined()
  })

  test('is not slow because of its waits', async () => {
    const { runtime, breaker, call } = setUp({ ...small, slowCallDurationMs: 100 })
    const slowPolicy = { ...policy, backoff: { ...policy.backoff, initialMs: 1_000 } }
    const run = async (attempt: number): Promise<void> => {
      await runtime.timers.sleep(30)
      if (attempt < 3) failAlways()
    }
    expect(await call(run, {}, slowPolicy)).toMatchObject({ outcome: 'SUCCEEDED', handlerMs: 90 })
    expect(breaker.rates).toEqual({ calls: 1, failureRate: 0, slowCallRate: 0 })
  })

  test('that fails is not slow because of its waits either', async () => {
    const { breaker, call } = setUp({ ...small, slowCallDurationMs: 100 })
    expect(await call(failAlways)).toMatchObject({ outcome: 'EXHAUSTED', handlerMs: 0 })
    expect(breaker.rates).toEqual({ calls: 1, failureRate: 100, slowCallRate: 0 })
  })

  test('is slow when its attempts take long in all', async () => {
    const { runtime, breaker, call } = setUp({ ...small, slowCallDurationMs: 100 })
    await call(async (attempt) => {
      await runtime.timers.sleep(50)
      if (attempt < 3) failAlways()
    })
    expect(breaker.rates).toEqual({ calls: 1, failureRate: 0, slowCallRate: 100 })
  })

  test('that fails permanently does not count: a bad record says nothing about the dependency', async () => {
    const { breaker, call } = setUp()
    for (let record = 0; record < 20; record++)
      expect(
        await call(() => {
          throw new NonRetryableError('negative total')
        }),
      ).toMatchObject({ outcome: 'NOT_RETRYABLE' })
    expect(breaker.rates.calls).toBe(0)
  })

  test('that is cancelled does not count', async () => {
    const { breaker, call } = setUp()
    const controller = new AbortController()
    const result = await call(
      () => {
        controller.abort(new Error('revoked'))
        return failAlways()
      },
      { signal: controller.signal },
    )
    expect(result.outcome).toBe('CANCELLED')
    expect(breaker.rates.calls).toBe(0)
  })

  test('that exceeds its budget counts as failed', async () => {
    const { breaker, call } = setUp()
    expect(await call(failAlways, { budgetMs: 10 })).toMatchObject({ outcome: 'BUDGET_EXCEEDED' })
    expect(breaker.rates).toMatchObject({ calls: 1, failureRate: 100 })
  })

  test('returns its probe whenever it ends without an outcome', async () => {
    const { runtime, breaker, call } = setUp()
    open(breaker)
    await runtime.advance(60_000)
    const unanswered: RetryControl[] = [
      { isRetryable: () => false },
      { signal: AbortSignal.abort() },
      { beforeAttempt: () => new Error('shutting down') },
    ]
    for (const ending of unanswered) {
      expect(breaker.state).toBe('HALF_OPEN')
      await call(failAlways, ending)
    }
    expect(await call(() => 'done')).toMatchObject({ outcome: 'SUCCEEDED' })
    expect(breaker.state).toBe('CLOSED')
  })
})

describe('a simulated hour', () => {
  const hourMs = 3_600_000
  const minuteMs = 60_000
  const laneCount = 8
  const probes = 5

  interface Hour {
    readonly outcomes: Map<string, number>
    readonly changes: { readonly atMs: number; readonly to: CircuitState; readonly reason: string }[]
    handlerStarts: number
    startsWhileOpen: number
    mostProbes: number
  }

  /** Down from minute 10 to 20, slow from minute 40 to 45, and healthy otherwise, except for one failure in fifty. */
  async function dependency(runtime: VirtualRuntime): Promise<void> {
    const minute = runtime.clock.monotonic() / minuteMs
    await runtime.timers.sleep(minute >= 40 && minute < 45 ? 6_000 : 10 + 40 * runtime.random())
    if ((minute >= 10 && minute < 20) || runtime.random() < 0.02) throw new Error('unavailable')
  }

  async function runLane(runtime: VirtualRuntime, breaker: CircuitBreaker, hour: Hour, inFlight: Set<object>) {
    while (runtime.clock.monotonic() < hourMs) {
      const record = {}
      const result = await retryThroughBreaker(breaker, runtime, policy, async () => {
        hour.handlerStarts++
        if (breaker.state === 'OPEN') hour.startsWhileOpen++
        if (breaker.state === 'HALF_OPEN') inFlight.add(record)
        hour.mostProbes = Math.max(hour.mostProbes, inFlight.size)
        await dependency(runtime)
      })
      inFlight.delete(record)
      hour.outcomes.set(result.outcome, (hour.outcomes.get(result.outcome) ?? 0) + 1)
      await runtime.timers.sleep(2_000)
    }
  }

  async function runHour(seed: number): Promise<Hour> {
    const runtime = createVirtualRuntime(seed)
    using breaker = createCircuitBreaker('orders', { enabled: true }, runtime)
    const hour: Hour = { outcomes: new Map(), changes: [], handlerStarts: 0, startsWhileOpen: 0, mostProbes: 0 }
    breaker.subscribe((event) => {
      if (event.type === 'STATE_CHANGED')
        hour.changes.push({ atMs: runtime.clock.monotonic(), to: event.to, reason: event.reason })
    })
    const inFlight = new Set<object>()
    const lanes = Array.from({ length: laneCount }, () => runLane(runtime, breaker, hour, inFlight))
    await runtime.advance(hourMs)
    await runtime.runToIdle()
    await Promise.all(lanes)
    return hour
  }

  test('with an outage and a slow spell opens, probes and closes as it should, over thousands of calls', async () => {
    const hour = await runHour(1)
    const calls = [...hour.outcomes.values()].reduce((sum, count) => sum + count, 0)
    expect(calls).toBeGreaterThan(10_000)
    expect(hour.handlerStarts).toBeGreaterThan(8_000)
    expect(hour.startsWhileOpen).toBe(0)
    expect(hour.mostProbes).toBeLessThanOrEqual(probes)

    const between = (from: number, to: number) =>
      hour.changes.filter(({ atMs }) => atMs >= from * minuteMs && atMs < to * minuteMs)
    expect(between(0, 10)).toEqual([])
    // The window of 100 calls has to fill up with failures first; then it probes once a minute until it is healthy.
    expect(between(10, 12)[0]).toMatchObject({ to: 'OPEN', reason: 'FAILURE_RATE' })
    expect(between(12, 20).filter(({ to }) => to === 'HALF_OPEN').length).toBeGreaterThanOrEqual(6)
    expect(between(12, 20).filter(({ to }) => to === 'CLOSED')).toEqual([])
    expect(between(20, 22).at(-1)).toMatchObject({ to: 'CLOSED', reason: 'PROBES_SUCCEEDED' })
    expect(between(22, 40)).toEqual([])
    expect(between(40, 45)[0]).toMatchObject({ to: 'OPEN', reason: 'SLOW_CALL_RATE' })
    expect(between(45, 47).at(-1)).toMatchObject({ to: 'CLOSED' })
    expect(between(47, 60)).toEqual([])
  })

  test('has the same history for the same seed', async () => {
    expect(await runHour(2)).toEqual(await runHour(2))
  })
})
