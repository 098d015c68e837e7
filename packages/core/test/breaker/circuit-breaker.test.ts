import {
  type CircuitBreaker,
  type CircuitBreakerOptions,
  createCircuitBreaker,
  noopLogger,
  onEngineEvent,
} from '@waybill/core'
import { type CircuitEvent, type CircuitPermit } from '@waybill/core/internal'
import { createVirtualRuntime, type VirtualRuntime } from '@waybill/sim'
import { describe, expect, test } from 'vitest'

const waitMs = 60_000
const slowMs = 5_001

/** Opens at half of four calls, probes with two. */
const small: CircuitBreakerOptions = {
  enabled: true,
  slidingWindowSize: 8,
  minimumNumberOfCalls: 4,
  permittedNumberOfCallsInHalfOpenState: 2,
}

function setUp(options: CircuitBreakerOptions = small, runtime: VirtualRuntime = createVirtualRuntime(1)) {
  const breaker = createCircuitBreaker('orders', options, runtime)
  const events: CircuitEvent[] = []
  breaker.subscribe((event) => events.push(event))
  return { breaker, runtime, events }
}

function acquire(breaker: CircuitBreaker): CircuitPermit {
  const permit = breaker.tryAcquire()
  if (permit === undefined) throw new Error(`no permit while ${breaker.state}`)
  return permit
}

function succeed(breaker: CircuitBreaker, times = 1, durationMs = 1): void {
  for (let call = 0; call < times; call++) acquire(breaker).succeed(durationMs)
}

function fail(breaker: CircuitBreaker, times = 1, durationMs = 1): void {
  for (let call = 0; call < times; call++) acquire(breaker).fail(durationMs)
}

async function setUpHalfOpen(options: CircuitBreakerOptions = small) {
  const parts = setUp(options)
  fail(parts.breaker, 4)
  await parts.runtime.advance(waitMs)
  expect(parts.breaker.state).toBe('HALF_OPEN')
  return parts
}

describe('a closed breaker', () => {
  test('lets any number of calls through at once', () => {
    const { breaker } = setUp()
    const permits = Array.from({ length: 1_000 }, () => breaker.tryAcquire())
    expect(permits.every((permit) => permit?.isValid)).toBe(true)
  })

  test('does not judge before minimumNumberOfCalls, then opens when the failure rate is at its threshold', () => {
    const { breaker, events } = setUp()
    fail(breaker, 2)
    succeed(breaker)
    expect(breaker.state).toBe('CLOSED')
    expect(breaker.rates.failureRate).toBeCloseTo(66.67)
    succeed(breaker)
    expect(breaker.state).toBe('OPEN')
    expect(events).toEqual([
      {
        type: 'STATE_CHANGED',
        from: 'CLOSED',
        to: 'OPEN',
        reason: 'FAILURE_RATE',
        calls: 4,
        failureRate: 50,
        slowCallRate: 0,
      },
    ])
  })

  test('stays closed when the failure rate is below its threshold', () => {
    const { breaker } = setUp()
    for (let round = 0; round < 100; round++) {
      succeed(breaker, 2)
      fail(breaker, 1)
    }
    expect(breaker.state).toBe('CLOSED')
    expect(breaker.rates.calls).toBe(8)
  })

  test('forgets what left its window', () => {
    const { breaker } = setUp({ ...small, minimumNumberOfCalls: 8 })
    fail(breaker, 3)
    succeed(breaker, 8)
    fail(breaker, 3)
    expect(breaker.state).toBe('CLOSED')
    fail(breaker, 1)
    expect(breaker.state).toBe('OPEN')
  })

  test('opens when the slow-call rate is at its threshold, though all calls succeed', () => {
    const { breaker, events } = setUp({ ...small, minimumNumberOfCalls: 5 })
    succeed(breaker, 1)
    succeed(breaker, 3, slowMs)
    expect(breaker.state).toBe('CLOSED')
    succeed(breaker, 1, slowMs)
    expect(breaker.state).toBe('OPEN')
    expect(events).toMatchObject([{ reason: 'SLOW_CALL_RATE', slowCallRate: 80, failureRate: 0 }])
  })

  test('takes a call as slow only above slowCallDurationMs', () => {
    const { breaker } = setUp()
    succeed(breaker, 20, 5_000)
    expect(breaker.rates.slowCallRate).toBe(0)
    expect(breaker.state).toBe('CLOSED')
  })

  test('counts slow failures as both', () => {
    const { breaker } = setUp()
    fail(breaker, 1, slowMs)
    expect(breaker.rates).toEqual({ calls: 1, failureRate: 100, slowCallRate: 100 })
  })

  test('does not count calls that were released', () => {
    const { breaker, events } = setUp()
    for (let call = 0; call < 100; call++) acquire(breaker).release()
    expect(events).toEqual([])
    fail(breaker, 3)
    expect(breaker.rates.calls).toBe(3)
    expect(breaker.state).toBe('CLOSED')
  })
})

describe('an open breaker', () => {
  test('lets no call through, and half-opens by its own timer without any call', async () => {
    const { breaker, runtime, events } = setUp()
    fail(breaker, 4)
    await runtime.advance(waitMs - 1)
    expect(breaker.tryAcquire()).toBeUndefined()
    expect(breaker.state).toBe('OPEN')
    await runtime.advance(1)
    expect(breaker.state).toBe('HALF_OPEN')
    expect(events.at(-1)).toMatchObject({ from: 'OPEN', to: 'HALF_OPEN', reason: 'WAIT_ELAPSED' })
  })

  test('still shows the rates that opened it', () => {
    const { breaker } = setUp()
    fail(breaker, 4)
    expect(breaker.rates).toEqual({ calls: 4, failureRate: 100, slowCallRate: 0 })
  })

  test('drops results of calls that began before it opened', () => {
    const { breaker, events } = setUp()
    const late = Array.from({ length: 10 }, () => acquire(breaker))
    fail(breaker, 4)
    for (const permit of late) permit.succeed(1)
    expect(breaker.state).toBe('OPEN')
    expect(breaker.rates.calls).toBe(4)
    expect(events).toHaveLength(1)
  })

  test('no longer honours permits from before', () => {
    const { breaker } = setUp()
    const early = acquire(breaker)
    expect(early.isValid).toBe(true)
    fail(breaker, 4)
    expect(early.isValid).toBe(false)
  })
})

describe('a half-open breaker', () => {
  test('lets only the permitted calls through', async () => {
    const { breaker } = await setUpHalfOpen()
    expect([breaker.tryAcquire(), breaker.tryAcquire(), breaker.tryAcquire()]).toEqual([
      expect.anything(),
      expect.anything(),
      undefined,
    ])
  })

  test('closes with an empty window when its probes succeed', async () => {
    const { breaker, events } = await setUpHalfOpen()
    succeed(breaker, 1)
    expect(breaker.state).toBe('HALF_OPEN')
    succeed(breaker, 1)
    expect(breaker.state).toBe('CLOSED')
    expect(breaker.rates.calls).toBe(0)
    expect(events.at(-1)).toMatchObject({ from: 'HALF_OPEN', to: 'CLOSED', reason: 'PROBES_SUCCEEDED', calls: 2 })
  })

  test('opens again when the failure rate of its probes is at its threshold, and waits anew', async () => {
    const { breaker, runtime, events } = await setUpHalfOpen()
    fail(breaker, 1)
    expect(breaker.state).toBe('HALF_OPEN')
    succeed(breaker, 1)
    expect(breaker.state).toBe('OPEN')
    expect(events.at(-1)).toMatchObject({ from: 'HALF_OPEN', to: 'OPEN', reason: 'FAILURE_RATE', failureRate: 50 })
    await runtime.advance(waitMs - 1)
    expect(breaker.state).toBe('OPEN')
    await runtime.advance(1)
    expect(breaker.state).toBe('HALF_OPEN')
  })

  test('opens again when its probes are slow', async () => {
    const { breaker, events } = await setUpHalfOpen()
    succeed(breaker, 2, slowMs)
    expect(events.at(-1)).toMatchObject({ to: 'OPEN', reason: 'SLOW_CALL_RATE' })
  })

  test('judges all its probes, whatever minimumNumberOfCalls is', async () => {
    const { breaker } = await setUpHalfOpen({ ...small, permittedNumberOfCallsInHalfOpenState: 6 })
    succeed(breaker, 5)
    expect(breaker.state).toBe('HALF_OPEN')
    succeed(breaker, 1)
    expect(breaker.state).toBe('CLOSED')
  })

  test('gives a released permit to the next call and notifies its subscribers', async () => {
    const { breaker, events } = await setUpHalfOpen()
    const [first, second] = [acquire(breaker), acquire(breaker)]
    expect(breaker.tryAcquire()).toBeUndefined()
    first.release()
    expect(events.at(-1)).toEqual({ type: 'PERMIT_RETURNED' })
    const third = acquire(breaker)
    expect(breaker.tryAcquire()).toBeUndefined()
    second.succeed(1)
    third.succeed(1)
    expect(breaker.state).toBe('CLOSED')
  })

  test('takes back a permit that goes out of scope without an outcome', async () => {
    const { breaker } = await setUpHalfOpen()
    for (let call = 0; call < 10; call++) {
      using permit = breaker.tryAcquire()
      expect(permit?.isValid).toBe(true)
    }
    expect(breaker.state).toBe('HALF_OPEN')
  })

  test('counts a probe that hangs as failed, so that it does not stay half-open permanently', async () => {
    const { breaker, runtime, events } = await setUpHalfOpen()
    const [one, other] = [acquire(breaker), acquire(breaker)]
    await runtime.advance(59_999)
    expect(breaker.state).toBe('HALF_OPEN')
    await runtime.advance(1)
    expect(events.at(-1)).toMatchObject({ from: 'HALF_OPEN', to: 'OPEN', reason: 'FAILURE_RATE', failureRate: 100 })
    expect([one.isValid, other.isValid]).toEqual([false, false])
    one.succeed(70_000)
    await runtime.advance(waitMs)
    expect(breaker.state).toBe('HALF_OPEN')
    expect(breaker.rates.calls).toBe(0)
  })

  test('closes although one probe hangs, and lets that call continue then', async () => {
    const { breaker, runtime } = await setUpHalfOpen({ ...small, permittedNumberOfCallsInHalfOpenState: 3 })
    const hanging = acquire(breaker)
    succeed(breaker, 2)
    expect(breaker.state).toBe('HALF_OPEN')
    await runtime.advance(60_000)
    expect(breaker.state).toBe('CLOSED')
    expect(hanging.isValid).toBe(true)
    hanging.fail(1)
    expect(breaker.rates.calls).toBe(0)
  })

  test('gives a probe at least the time after which a call is slow', async () => {
    const { breaker, runtime } = await setUpHalfOpen({ ...small, probeTimeoutMs: 10, slowCallDurationMs: 500 })
    acquire(breaker)
    const second = acquire(breaker)
    await runtime.advance(499)
    second.succeed(499)
    expect(breaker.rates.calls).toBe(1)
    await runtime.advance(1)
    expect(breaker.state).toBe('OPEN')
  })

  test('takes back a permit once', async () => {
    const { breaker } = await setUpHalfOpen()
    const first = acquire(breaker)
    acquire(breaker)
    first.release()
    first.release()
    first[Symbol.dispose]()
    expect(breaker.tryAcquire()).toBeDefined()
    expect(breaker.tryAcquire()).toBeUndefined()
  })

  test('does not take results of calls from before for probes', async () => {
    const { breaker, runtime } = setUp()
    const early = Array.from({ length: 6 }, () => acquire(breaker))
    fail(breaker, 4)
    await runtime.advance(waitMs)
    for (const [index, permit] of early.entries()) {
      expect(permit.isValid).toBe(false)
      if (index % 3 === 0) permit.succeed(1)
      else if (index % 3 === 1) permit.fail(1)
      else permit.release()
    }
    expect(breaker.state).toBe('HALF_OPEN')
    expect(breaker.rates.calls).toBe(0)
    acquire(breaker)
    acquire(breaker)
    expect(breaker.tryAcquire()).toBeUndefined()
  })

  test('does not count late probes of an earlier half-open state', async () => {
    const { breaker, runtime } = await setUpHalfOpen({ ...small, permittedNumberOfCallsInHalfOpenState: 1 })
    const hung = acquire(breaker)
    hung.fail(1)
    await runtime.advance(waitMs)
    hung.succeed(1)
    expect(breaker.state).toBe('HALF_OPEN')
    expect(breaker.tryAcquire()).toBeDefined()
  })
})

describe('a permit', () => {
  test('counts once, with its first outcome', () => {
    const { breaker } = setUp()
    const permit = acquire(breaker)
    permit.succeed(1)
    permit.fail(1)
    permit.succeed(1)
    permit.release()
    expect(breaker.rates).toEqual({ calls: 1, failureRate: 0, slowCallRate: 0 })
    expect(permit.isValid).toBe(false)
  })

  test('from an earlier closed state may continue when the breaker is closed again, and no longer counts', async () => {
    const { breaker, runtime } = setUp()
    const early = acquire(breaker)
    fail(breaker, 4)
    await runtime.advance(waitMs)
    succeed(breaker, 2)
    expect(early.isValid).toBe(true)
    early.fail(1)
    expect(breaker.rates.calls).toBe(0)
  })
})

describe('a breaker that is off', () => {
  test('stays closed and counts nothing, which is the default', () => {
    const { breaker } = setUp({})
    fail(breaker, 1_000, slowMs)
    expect(breaker.state).toBe('CLOSED')
    expect(breaker.rates.calls).toBe(0)
  })
})

describe('stopping a breaker', () => {
  test('cancels its timer and freezes its state', async () => {
    const { breaker, runtime, events } = setUp()
    fail(breaker, 4)
    breaker.stop()
    breaker.stop()
    expect(runtime.pending).toBe(0)
    await runtime.advance(10 * waitMs)
    expect(breaker.state).toBe('OPEN')
    expect(events).toHaveLength(1)
  })

  test('while closed counts no more, so that no timer starts', () => {
    const runtime = createVirtualRuntime(1)
    {
      using breaker = createCircuitBreaker('orders', small, runtime)
      fail(breaker, 3)
      breaker.stop()
      fail(breaker, 3)
      expect(breaker.state).toBe('CLOSED')
    }
    expect(runtime.pending).toBe(0)
  })

  test('cancels the time-outs of its probes', async () => {
    const { breaker, runtime } = await setUpHalfOpen()
    acquire(breaker)
    acquire(breaker).succeed(1)
    expect(runtime.pending).toBe(1)
    breaker.stop()
    expect(runtime.pending).toBe(0)
  })

  test('happens when it goes out of scope', () => {
    const runtime = createVirtualRuntime(1)
    {
      using breaker = createCircuitBreaker('orders', small, runtime)
      fail(breaker, 4)
      expect(runtime.pending).toBe(1)
    }
    expect(runtime.pending).toBe(0)
  })
})

describe('subscribers', () => {
  test('receive events in the order they occurred, even when one of them causes the next', async () => {
    const runtime = createVirtualRuntime(1)
    const breaker = createCircuitBreaker('orders', { ...small, permittedNumberOfCallsInHalfOpenState: 1 }, runtime)
    breaker.subscribe((event) => {
      if (event.type === 'STATE_CHANGED' && event.to === 'HALF_OPEN') fail(breaker)
    })
    const heard: string[] = []
    breaker.subscribe((event) => heard.push(event.type === 'STATE_CHANGED' ? event.to : event.type))
    fail(breaker, 4)
    await runtime.advance(waitMs)
    expect(heard).toEqual(['OPEN', 'HALF_OPEN', 'OPEN'])
  })

  test('that throw are logged and do not keep the event from others', () => {
    const lines: object[] = []
    const logger = { ...noopLogger, error: (fields: object) => void lines.push(fields) }
    const breaker = createCircuitBreaker('orders', small, createVirtualRuntime(1, { logger }))
    const heard: CircuitEvent[] = []
    breaker.subscribe(() => {
      throw new Error('a bug')
    })
    breaker.subscribe((event) => heard.push(event))
    fail(breaker, 4)
    expect(breaker.state).toBe('OPEN')
    expect(heard).toHaveLength(1)
    expect(lines).toMatchObject([{ breaker: 'orders', err: new Error('a bug') }])
  })

  test('receive nothing once they are disposed, even during an event', async () => {
    const { breaker, runtime } = setUp()
    const heard: string[] = []
    const toEnd: Disposable[] = []
    breaker.subscribe(() => toEnd[0]?.[Symbol.dispose]())
    toEnd.push(breaker.subscribe(() => heard.push('ended')))
    breaker.subscribe(() => heard.push('other'))
    fail(breaker, 4)
    await runtime.advance(waitMs)
    expect(heard).toEqual(['other', 'other'])
  })

  test('that subscribe twice with one function are called twice, and end one by one', async () => {
    const { breaker, runtime } = setUp()
    let heard = 0
    const count = (): void => void heard++
    breaker.subscribe(count)
    const second = breaker.subscribe(count)
    fail(breaker, 4)
    expect(heard).toBe(2)
    second[Symbol.dispose]()
    await runtime.advance(waitMs)
    expect(heard).toBe(3)
  })

  test('of engine events receive state changes with the name of the breaker', async () => {
    const heard: object[] = []
    using _ = onEngineEvent('breaker:state-changed', (event) => void heard.push(event))
    const { breaker, runtime } = setUp()
    fail(breaker, 4)
    await runtime.advance(waitMs)
    expect(heard).toEqual([
      { breaker: 'orders', from: 'CLOSED', to: 'OPEN' },
      { breaker: 'orders', from: 'OPEN', to: 'HALF_OPEN' },
    ])
  })
})
