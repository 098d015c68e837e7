import {
  createMemoryLogger,
  createService,
  LifecycleError,
  OptionsError,
  onEngineEvent,
  StateError,
  StopDeadlineError,
} from '@waybill/core'
import { type ServiceHooks, type ServiceState } from '@waybill/core/internal'
import { createVirtualRuntime } from '@waybill/sim'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'

/** Creates a service whose hooks record their calls and run the given behavior. */
function setup(hooks: Partial<ServiceHooks> = {}) {
  const logger = createMemoryLogger()
  const runtime = createVirtualRuntime(1, { logger })
  const calls: string[] = []
  const service = createService({
    ...hooks,
    name: 'outbox',
    runtime,
    async start(signal) {
      calls.push('start')
      await hooks.start?.(signal)
    },
    async stop(deadline) {
      calls.push('stop')
      await hooks.stop?.(deadline)
    },
  })
  return { service, calls, runtime, logger }
}

/** Observes a promise now, so that a test can read its outcome later. */
function outcomeOf(promise: PromiseLike<void>): { readonly error?: unknown; readonly settled: boolean } {
  const outcome: { error?: unknown; settled: boolean } = { settled: false }
  const settle = (error?: unknown): void => {
    outcome.settled = true
    if (error !== undefined) outcome.error = error
  }
  promise.then(() => settle(), settle)
  return outcome
}

test('createService names its three required options when one is missing', () => {
  for (const given of [
    undefined,
    'http',
    { name: 'http', start: () => {} },
    { name: 'http', stop: () => {} },
    { start: () => {}, stop: () => {} },
  ])
    expect(() => createService(given as never)).toThrow('createService takes { name, start, stop }')
})

describe('start', () => {
  test('does nothing until it is called', () => {
    const { service, calls } = setup()
    expect(service.state).toBe('CREATED')
    expect(calls).toEqual([])
  })

  test('answers the same promise while starting and while running', async () => {
    const { service, calls, runtime } = setup({ start: () => runtime.timers.sleep(100) })
    const first = service.start()
    expect(service.state).toBe('STARTING')
    expect(service.start()).toBe(first)
    await runtime.advance(100)
    await first
    expect(service.state).toBe('RUNNING')
    expect(service.start()).toBe(first)
    expect(calls).toEqual(['start'])
  })

  test.each([
    [
      'a hook that throws in its first turn',
      () => {
        throw new Error('no broker')
      },
    ],
    ['a hook that rejects', () => Promise.reject(new Error('no broker'))],
  ] as const)('%s releases what was opened, then rejects with the original error', async (_, start) => {
    const { service, calls } = setup({ start })
    await expect(service.start()).rejects.toThrow(new Error('no broker'))
    expect(calls).toEqual(['start', 'stop'])
    expect(service.state).toBe('FAILED')
    await service.stop()
    expect(calls).toEqual(['start', 'stop'])
  })

  test('a failed start whose release fails too reports both, the first as the cause', async () => {
    const [startError, stopError] = [new Error('no broker'), new Error('socket stuck')]
    const { service } = setup({ start: () => Promise.reject(startError), stop: () => Promise.reject(stopError) })
    const error = await service.start().catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(LifecycleError)
    expect((error as LifecycleError).cause).toBe(startError)
    expect((error as LifecycleError).failures).toEqual([
      { during: 'start of outbox', error: startError },
      { during: 'stop of outbox', error: stopError },
    ])
    expect((error as LifecycleError).message).toContain('stop of outbox: Error: socket stuck')
    await expect(service.stop()).rejects.toBe(stopError)
    await expect(service.start()).rejects.toMatchObject({ cause: startError })
  })

  test('a failed start whose release hangs rejects all the same, after the default deadline', async () => {
    const { service, runtime } = setup({
      start: () => Promise.reject(new Error('no broker')),
      stop: () => new Promise(() => {}),
    })
    const outcome = outcomeOf(service.start())
    await runtime.advance(29_999)
    expect(outcome.settled).toBe(false)
    expect(service.state).toBe('STOPPING')
    await runtime.advance(1)
    expect((outcome.error as LifecycleError).failures.map(({ error }) => (error as Error).name)).toEqual([
      'Error',
      'StopDeadlineError',
    ])
  })

  test.each(['STOPPED', 'FAILED'] as const)('is refused once %s, and says what to do instead', async (state) => {
    const failure = new Error('no broker')
    const { service, calls } = setup(state === 'FAILED' ? { start: () => Promise.reject(failure) } : {})
    await (state === 'FAILED' ? service.start().catch(() => {}) : service.stop())
    const before = calls.length
    const error = await service.start().catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(StateError)
    expect((error as StateError).message).toBe(
      `Cannot start outbox: it is ${state}, and a service runs only once. Create a new one and start that.`,
    )
    expect((error as StateError).cause).toBe(state === 'FAILED' ? failure : undefined)
    expect(calls).toHaveLength(before)
  })
})

describe('stop', () => {
  test('before start calls no hook', async () => {
    const { service, calls, runtime } = setup()
    await service.stop()
    expect(service.state).toBe('STOPPED')
    expect(calls).toEqual([])
    expect(runtime.pending).toBe(0)
  })

  test('before start releases what the service was handed open', async () => {
    const { service, calls } = setup({ holdsFromCreation: true })
    await service.stop()
    expect(calls).toEqual(['stop'])
  })

  test('runs once however often it is called, and leaves no timer behind', async () => {
    const { service, calls, runtime } = setup({ stop: () => runtime.timers.sleep(100) })
    await service.start()
    const outcomes = [outcomeOf(service.stop()), outcomeOf(service.stop())]
    expect(service.state).toBe('STOPPING')
    await runtime.advance(100)
    await service.stop()
    expect(outcomes).toEqual([{ settled: true }, { settled: true }])
    expect(calls).toEqual(['start', 'stop'])
    expect(service.state).toBe('STOPPED')
    expect(runtime.pending).toBe(0)
  })

  test('rejects with what the hook threw, to every caller, and ends FAILED', async () => {
    const error = new Error('socket stuck')
    const { service } = setup({ stop: () => Promise.reject(error) })
    await service.start()
    await expect(service.stop()).rejects.toBe(error)
    await expect(service.stop()).rejects.toBe(error)
    expect(service.state).toBe('FAILED')
    await expect(service.start()).rejects.toMatchObject({ code: 'WAYBILL_STATE_INVALID', cause: error })
  })

  test('disposing stops', async () => {
    const { service, calls } = setup()
    await service.start()
    await service[Symbol.asyncDispose]()
    expect(service.state).toBe('STOPPED')
    expect(calls).toEqual(['start', 'stop'])
  })

  test('refuses options it does not know', async () => {
    const { service } = setup()
    await expect(service.stop({ deadlineMs: Number.NaN })).rejects.toBeInstanceOf(OptionsError)
    await expect(service.stop({ deadline: 1 } as never)).rejects.toThrow('did you mean deadlineMs?')
    expect(service.state).toBe('CREATED')
  })
})

describe('stop while starting', () => {
  test('cancels the start, waits until it has ended, then releases', async () => {
    const { service, calls, runtime } = setup({
      async start(signal) {
        await runtime.timers.sleep(1_000, signal).catch(() => runtime.timers.sleep(50))
        signal.throwIfAborted()
      },
    })
    const started = outcomeOf(service.start())
    const stopped = outcomeOf(service.stop())
    await runtime.advance(49)
    expect(calls).toEqual(['start'])
    await runtime.advance(1)
    expect(calls).toEqual(['start', 'stop'])
    expect(started.error).toBeInstanceOf(StateError)
    expect((started.error as Error).message).toBe('outbox was stopped while it was starting.')
    expect(stopped).toEqual({ settled: true })
    expect(service.state).toBe('STOPPED')
  })

  test('rejects the start although its hook succeeded: it never ran', async () => {
    const { service, runtime } = setup({ start: () => runtime.timers.sleep(10) })
    const started = outcomeOf(service.start())
    const stopped = service.stop()
    await runtime.advance(10)
    await stopped
    expect(started.error).toBeInstanceOf(StateError)
  })

  test('does not hide why the start failed meanwhile', async () => {
    const error = new Error('no broker')
    const { service } = setup({ start: () => Promise.reject(error) })
    const started = outcomeOf(service.start())
    await service.stop()
    expect(started.error).toBe(error)
    expect(service.state).toBe('STOPPED')
  })

  test('keeps the deadline when the start ignores its signal, and releases what it opens in the end', async () => {
    const { service, calls, runtime, logger } = setup({ start: () => runtime.timers.sleep(1_000) })
    const started = outcomeOf(service.start())
    const stopped = outcomeOf(service.stop({ deadlineMs: 200 }))
    await runtime.advance(200)
    expect((stopped.error as StopDeadlineError).stillRunning).toEqual(['start of outbox'])
    expect(started.error).toBe(stopped.error)
    expect(calls).toEqual(['start'])
    await runtime.advance(800)
    expect(calls).toEqual(['start', 'stop'])
    expect(logger.lines).toMatchObject([{ level: 'WARN', fields: { service: 'outbox' } }])
  })

  test('does not lose the failure of a start that is no longer awaited', async () => {
    const error = new Error('no broker')
    const { service, calls, runtime, logger } = setup({
      start: () => runtime.timers.sleep(1_000).then(() => Promise.reject(error)),
    })
    service.start().catch(() => {})
    service.stop({ deadlineMs: 200 }).catch(() => {})
    await runtime.advance(1_000)
    expect(calls).toEqual(['start', 'stop'])
    expect(logger.lines).toMatchObject([{ level: 'ERROR', fields: { service: 'outbox', err: error } }])
  })

  test('requested by a subscriber of the start event, prevents the start hook', async () => {
    const { service, calls } = setup()
    const stops: Promise<void>[] = []
    const subscription = onEngineEvent('service:state-changed', ({ to }) => {
      if (to === 'STARTING') stops.push(service.stop())
    })
    await expect(service.start()).rejects.toBeInstanceOf(StateError)
    await Promise.all(stops)
    subscription[Symbol.dispose]()
    expect(calls).toEqual(['stop'])
    expect(service.state).toBe('STOPPED')
  })
})

describe('the deadline of a stop', () => {
  test('is 30 seconds unless another is given', async () => {
    const { service, runtime } = setup({ stop: () => new Promise(() => {}) })
    await service.start()
    const stopped = outcomeOf(service.stop())
    await runtime.advance(29_999)
    expect(stopped.settled).toBe(false)
    await runtime.advance(1)
    expect(stopped.error).toBeInstanceOf(StopDeadlineError)
  })

  test('passes the remaining time to the hook, aborts its signal, and names what still runs', async () => {
    let left: number[] = []
    let isCutOff = false
    const { service, runtime } = setup({
      async stop(deadline) {
        deadline.signal.addEventListener('abort', () => {
          isCutOff = true
        })
        left = [deadline.remainingMs()]
        await runtime.timers.sleep(60)
        left.push(deadline.remainingMs())
        await new Promise(() => {})
      },
      running: () => ['handler of orders.events-3@14209', 'commit'],
    })
    await service.start()
    const stopped = outcomeOf(service.stop({ deadlineMs: 100 }))
    await runtime.advance(99)
    expect(isCutOff).toBe(false)
    await runtime.advance(1)
    expect(isCutOff).toBe(true)
    expect(left).toEqual([100, 40])
    expect(stopped.error).toBeInstanceOf(StopDeadlineError)
    expect((stopped.error as StopDeadlineError).stillRunning).toEqual(['handler of orders.events-3@14209', 'commit'])
    expect((stopped.error as StopDeadlineError).message).toContain(
      'Still running: handler of orders.events-3@14209, commit.',
    )
    expect(service.state).toBe('FAILED')
  })

  test('keeps the names of what still runs as they were when it passed', async () => {
    const names = ['commit']
    const { service, runtime } = setup({ stop: () => new Promise(() => {}), running: () => names })
    await service.start()
    const stopped = outcomeOf(service.stop({ deadlineMs: 0 }))
    await runtime.advance(0)
    names.pop()
    expect((stopped.error as StopDeadlineError).stillRunning).toEqual(['commit'])
    expect(stopped.error).toHaveProperty('stillRunning', expect.toSatisfy(Object.isFrozen))
  })

  test.each([undefined, () => []])('names the service itself when it can name nothing better', async (running) => {
    const { service, runtime } = setup({
      stop: () => new Promise(() => {}),
      ...(running === undefined ? {} : { running }),
    })
    await service.start()
    const stopped = outcomeOf(service.stop({ deadlineMs: 0 }))
    await runtime.advance(0)
    expect((stopped.error as StopDeadlineError).stillRunning).toEqual(['outbox'])
  })

  test('of zero still lets a hook that ends at once end well', async () => {
    const { service } = setup()
    await service.start()
    await service.stop({ deadlineMs: 0 })
    expect(service.state).toBe('STOPPED')
  })

  test('is brought forward by a later stop, and never pushed back', async () => {
    const { service, runtime } = setup({ stop: () => new Promise(() => {}) })
    await service.start()
    const stopped = outcomeOf(service.stop({ deadlineMs: 10_000 }))
    void service.stop({ deadlineMs: 60_000 }).catch(() => {})
    void service.stop().catch(() => {})
    await runtime.advance(5_000)
    expect(stopped.settled).toBe(false)
    void service.stop({ deadlineMs: 100 }).catch(() => {})
    await runtime.advance(99)
    expect(stopped.settled).toBe(false)
    await runtime.advance(1)
    expect(stopped.error).toBeInstanceOf(StopDeadlineError)
    expect(runtime.pending).toBe(0)
  })

  test('a default asked for later does not shorten a longer one that was given', async () => {
    const { service, runtime } = setup({ stop: () => runtime.timers.sleep(50_000) })
    await service.start()
    const stopped = outcomeOf(service.stop({ deadlineMs: 60_000 }))
    const disposed = outcomeOf(service[Symbol.asyncDispose]())
    await runtime.advance(50_000)
    expect([stopped, disposed]).toEqual([{ settled: true }, { settled: true }])
  })

  test.each([
    ['fails', 'ERROR'],
    ['succeeds', 'WARN'],
  ] as const)('a hook that %s after it is logged, not lost', async (how, level) => {
    const { service, runtime, logger } = setup({
      async stop() {
        await runtime.timers.sleep(500)
        if (how === 'fails') throw new Error('socket stuck')
      },
    })
    await service.start()
    void service.stop({ deadlineMs: 100 }).catch(() => {})
    await runtime.advance(500)
    expect(logger.lines.map((line) => line.level)).toEqual([level])
    expect(service.state).toBe('FAILED')
  })
})

describe('state', () => {
  test('each change is an engine event, with the reason of a failure', async () => {
    const events: object[] = []
    const subscription = onEngineEvent('service:state-changed', (event) => events.push(event))
    const error = new Error('no broker')
    await setup({ start: () => Promise.reject(error) })
      .service.start()
      .catch(() => {})
    subscription[Symbol.dispose]()
    expect(events).toEqual([
      { service: 'outbox', from: 'CREATED', to: 'STARTING' },
      { service: 'outbox', from: 'STARTING', to: 'STOPPING' },
      { service: 'outbox', from: 'STOPPING', to: 'FAILED', error },
    ])
  })

  test('I18 any order of starts and stops over any hooks keeps the contract', async () => {
    const hook = fc.record({
      takesMs: fc.constantFrom(0, 1, 30, 1_000, Number.POSITIVE_INFINITY),
      fails: fc.boolean(),
      obeysSignal: fc.boolean(),
    })
    const step = fc.oneof(
      fc.constant({ kind: 'start' as const }),
      fc.record({ kind: fc.constant('stop' as const), deadlineMs: fc.constantFrom(0, 1, 50, 5_000) }),
      fc.record({ kind: fc.constant('wait' as const), ms: fc.constantFrom(0, 1, 29, 400) }),
    )
    const reached = new Set<string>()
    const life = fc.asyncProperty(fc.integer(), hook, hook, fc.array(step, { maxLength: 8 }), async (...drawn) => {
      const { states, violations } = await live(...drawn)
      expect(violations).toEqual([])
      reached.add(states.join(' '))
    })
    await fc.assert(life, { numRuns: 500 })
    // The property means little unless its runs covered the states.
    expect([...reached].toSorted()).toEqual([
      'CREATED STARTING RUNNING STOPPING FAILED',
      'CREATED STARTING RUNNING STOPPING STOPPED',
      'CREATED STARTING STOPPING FAILED',
      'CREATED STARTING STOPPING STOPPED',
      'CREATED STOPPED',
    ])
  })
})

interface HookBehaviour {
  readonly takesMs: number
  readonly fails: boolean
  readonly obeysSignal: boolean
}
type Step =
  | { readonly kind: 'start' }
  | { readonly kind: 'stop'; readonly deadlineMs: number }
  | { readonly kind: 'wait'; readonly ms: number }

const nextStates: Record<ServiceState, readonly ServiceState[]> = {
  CREATED: ['STARTING', 'STOPPED'],
  STARTING: ['RUNNING', 'STOPPING'],
  RUNNING: ['STOPPING'],
  STOPPING: ['STOPPED', 'FAILED'],
  STOPPED: [],
  FAILED: [],
}

/**
 * Takes one service through its steps and a final stop. Contract violations are collected, not thrown: a throw inside a
 * hook or a subscriber would be contained.
 */
async function live(seed: number, onStart: HookBehaviour, onStop: HookBehaviour, steps: readonly Step[]) {
  const runtime = createVirtualRuntime(seed)
  const { clock, timers } = runtime
  const states: ServiceState[] = ['CREATED']
  const violations: string[] = []
  const running: string[] = []
  const called = new Set<string>()

  const act = async (name: string, does: HookBehaviour, signal: AbortSignal): Promise<void> => {
    if (called.has(name)) violations.push(`${name} called twice`)
    if (running.length > 0) violations.push(`${name} beside ${running.join()}`)
    called.add(name)
    running.push(name)
    const cut = new Promise<void>((resolve) => {
      if (does.obeysSignal) signal.addEventListener('abort', () => resolve())
    })
    await Promise.race([cut, does.takesMs === Number.POSITIVE_INFINITY ? cut : timers.sleep(does.takesMs)])
    running.pop()
    if (does.fails) throw new Error(name)
  }
  const service = createService({
    name: 'engine',
    runtime,
    start: (signal) => act('start', onStart, signal),
    stop: ({ signal }) => act('stop', onStop, signal),
  })
  const subscription = onEngineEvent('service:state-changed', ({ from, to }) => {
    if (from !== states.at(-1) || !nextStates[from].includes(to)) violations.push(`${from} to ${to}`)
    states.push(to)
  })

  let dueAt = Number.POSITIVE_INFINITY
  let unanswered = 0
  const stop = async (deadlineMs: number): Promise<void> => {
    const askedAt = clock.monotonic()
    dueAt = Math.min(dueAt, askedAt + deadlineMs)
    unanswered++
    try {
      await service.stop({ deadlineMs })
      if (running.length > 0) violations.push(`stop() resolved while ${running.join()} runs`)
    } catch {}
    unanswered--
    if (clock.monotonic() > Math.max(askedAt, dueAt)) violations.push('deadline missed')
  }

  for (const step of steps) {
    if (step.kind === 'wait') await runtime.advance(step.ms)
    else if (step.kind === 'stop') void stop(step.deadlineMs)
    else service.start().catch(() => {})
  }
  void stop(5_000)
  await runtime.advance(10_000)
  subscription[Symbol.dispose]()
  if (unanswered > 0) violations.push('stop() never answered')
  if (service.state !== 'STOPPED' && service.state !== 'FAILED') violations.push(`ends ${service.state}`)
  return { states, violations }
}

test('a stop called from within the start hook waits for the hook before it releases anything', async () => {
  const order: string[] = []
  const { service, runtime } = setup({
    start: async () => {
      void service.stop()
      await runtime.timers.sleep(20)
      order.push('opened')
    },
    stop: () => {
      order.push('released')
    },
  })
  const started = outcomeOf(service.start())
  await runtime.runToIdle()
  await service.stop()
  expect(order).toEqual(['opened', 'released'])
  expect(started.settled).toBe(true)
})
