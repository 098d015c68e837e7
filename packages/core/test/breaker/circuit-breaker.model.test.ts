import { type CircuitBreakerOptions, createCircuitBreaker } from '@waybill/core'
import { type CallRates, type CircuitEvent, type CircuitPermit, type CircuitState } from '@waybill/core/internal'
import { createVirtualRuntime } from '@waybill/sim'
import fc from 'fast-check'
import { expect, test } from 'vitest'

type CountingOptions = Required<Omit<CircuitBreakerOptions, 'enabled' | 'automaticPauseOnOpen'>>

interface ModelPermit {
  readonly era: number
  readonly givenAtMs: number
  hasEnded: boolean
  isOverdue: boolean
}

/** A reference breaker: it keeps the full history and recounts it on each query. */
class NaiveBreaker {
  readonly transitions: string[] = []
  state: CircuitState = 'CLOSED'
  era = 0
  readonly #options: CountingOptions
  readonly #outcomes: { readonly era: number; readonly isFailed: boolean; readonly isSlow: boolean }[] = []
  readonly #given: ModelPermit[] = []
  readonly #returned: number[] = []
  #openedAtMs = 0

  constructor(options: CountingOptions) {
    this.#options = options
  }

  get rates(): CallRates {
    const era = this.state === 'OPEN' ? this.era - 1 : this.era
    const isJudged =
      this.state === 'OPEN' ? this.transitions.at(-1)?.startsWith('HALF_OPEN') : this.state === 'HALF_OPEN'
    const size = isJudged ? this.#options.permittedNumberOfCallsInHalfOpenState : this.#options.slidingWindowSize
    const counted = this.#outcomes.filter((outcome) => outcome.era === era).slice(-size)
    const percent = (count: number): number => (counted.length === 0 ? 0 : (100 * count) / counted.length)
    return {
      calls: counted.length,
      failureRate: percent(counted.filter(({ isFailed }) => isFailed).length),
      slowCallRate: percent(counted.filter(({ isSlow }) => isSlow).length),
    }
  }

  mayAcquire(): boolean {
    if (this.state !== 'HALF_OPEN') return this.state === 'CLOSED'
    const inEra = (eras: readonly number[]): number => eras.filter((era) => era === this.era).length
    return (
      inEra(this.#given.map(({ era }) => era)) - inEra(this.#returned) <
      this.#options.permittedNumberOfCallsInHalfOpenState
    )
  }

  acquire(nowMs: number): ModelPermit {
    const permit = { era: this.era, givenAtMs: nowMs, hasEnded: false, isOverdue: false }
    this.#given.push(permit)
    return permit
  }

  mayGoOn({ era, isOverdue }: ModelPermit): boolean {
    return this.state === 'CLOSED' || (era === this.era && !isOverdue)
  }

  end(permit: ModelPermit, how: 'succeed' | 'fail' | 'release', durationMs: number, nowMs: number): void {
    if (permit.hasEnded) return
    permit.hasEnded = true
    const { era } = permit
    if (era !== this.era) return
    if (how === 'release') {
      this.#returned.push(era)
      return
    }
    this.#outcomes.push({ era, isFailed: how === 'fail', isSlow: durationMs > this.#options.slowCallDurationMs })
    const { calls, failureRate, slowCallRate } = this.rates
    const isHalfOpen = this.state === 'HALF_OPEN'
    const needed = isHalfOpen ? this.#options.permittedNumberOfCallsInHalfOpenState : this.#options.minimumNumberOfCalls
    if (calls < needed) return
    if (failureRate >= this.#options.failureRateThreshold) this.#open('FAILURE_RATE', nowMs)
    else if (slowCallRate >= this.#options.slowCallRateThreshold) this.#open('SLOW_CALL_RATE', nowMs)
    else if (isHalfOpen) this.#move('CLOSED', 'PROBES_SUCCEEDED')
  }

  tick(nowMs: number): void {
    if (this.state === 'OPEN' && nowMs >= this.#openedAtMs + this.#options.waitDurationInOpenStateMs)
      this.#move('HALF_OPEN', 'WAIT_ELAPSED')
    else if (this.state === 'HALF_OPEN') this.#endOverdueProbes(nowMs)
  }

  #endOverdueProbes(nowMs: number): void {
    const { probeTimeoutMs, slowCallDurationMs } = this.#options
    const limitMs = Math.max(probeTimeoutMs, slowCallDurationMs)
    const { era } = this
    for (const permit of this.#given) {
      if (permit.era !== era || this.era !== era || permit.hasEnded || nowMs < permit.givenAtMs + limitMs) continue
      permit.isOverdue = true
      this.end(permit, 'fail', limitMs, nowMs)
    }
  }

  #open(reason: string, nowMs: number): void {
    this.#openedAtMs = nowMs
    this.#move('OPEN', reason)
  }

  #move(to: CircuitState, reason: string): void {
    this.transitions.push(`${this.state} to ${to}: ${reason}`)
    this.state = to
    this.era++
  }
}

const anyOptions = fc
  .record({
    failureRateThreshold: fc.constantFrom(1, 33.3, 50, 75, 100),
    slowCallRateThreshold: fc.constantFrom(20, 50, 80, 100),
    slowCallDurationMs: fc.constant(100),
    waitDurationInOpenStateMs: fc.integer({ min: 1, max: 50 }),
    slidingWindowSize: fc.integer({ min: 1, max: 12 }),
    minimumNumberOfCalls: fc.integer({ min: 1, max: 12 }),
    permittedNumberOfCallsInHalfOpenState: fc.integer({ min: 1, max: 4 }),
    probeTimeoutMs: fc.constantFrom(50, 150),
  })
  .map((options) => ({
    ...options,
    minimumNumberOfCalls: Math.min(options.minimumNumberOfCalls, options.slidingWindowSize),
  }))

const anyOperation = fc.oneof(
  { weight: 5, arbitrary: fc.constant({ kind: 'acquire' as const }) },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('end' as const),
      which: fc.nat(),
      how: fc.constantFrom('succeed' as const, 'succeed' as const, 'fail' as const, 'release' as const),
      durationMs: fc.constantFrom(0, 50, 100, 101, 5_000),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('advance' as const), ms: fc.integer({ min: 1, max: 60 }) }) },
)

test('a breaker does what a naive model that recounts everything does, for any history of calls', async () => {
  const seen = new Set<string>()

  await fc.assert(
    fc.asyncProperty(
      anyOptions,
      fc.array(anyOperation, { maxLength: 200, size: 'max' }),
      async (options, operations) => {
        const runtime = createVirtualRuntime(1)
        const breaker = createCircuitBreaker('orders', { ...options, enabled: true }, runtime)
        const events: CircuitEvent[] = []
        breaker.subscribe((event) => events.push(event))
        const model = new NaiveBreaker(options)
        const held: { readonly permit: CircuitPermit; readonly model: ModelPermit }[] = []
        for (const operation of operations) {
          switch (operation.kind) {
            case 'acquire': {
              const mayAcquire = model.mayAcquire()
              const permit = breaker.tryAcquire()
              if ((permit !== undefined) !== mayAcquire)
                throw new Error(`a permit is ${mayAcquire ? 'due' : 'not due'}`)
              if (permit !== undefined) held.push({ permit, model: model.acquire(runtime.clock.monotonic()) })
              break
            }
            case 'end': {
              const [ended] = held.splice(operation.which % Math.max(1, held.length), 1)
              if (ended === undefined) break
              if (ended.model.isOverdue) seen.add('overdue probe')
              else if (ended.model.era !== model.era) seen.add('late result')
              ended.permit[operation.how](operation.durationMs)
              model.end(ended.model, operation.how, operation.durationMs, runtime.clock.monotonic())
              break
            }
            case 'advance':
              for (let passed = 0; passed < operation.ms; passed++) {
                await runtime.advance(1)
                model.tick(runtime.clock.monotonic())
              }
              break
          }
          expect({ state: breaker.state, rates: breaker.rates }).toEqual({ state: model.state, rates: model.rates })
          expect(breaker.isRefusing).toBe(!model.mayAcquire())
          for (const one of held) expect(one.permit.isValid).toBe(model.mayGoOn(one.model))
        }
        const changes = events.flatMap((event) =>
          event.type === 'STATE_CHANGED' ? [`${event.from} to ${event.to}: ${event.reason}`] : [],
        )
        expect(changes).toEqual(model.transitions)
        for (const change of changes) seen.add(change)
      },
    ),
    { numRuns: 400 },
  )

  expect([...seen].toSorted()).toEqual([
    'CLOSED to OPEN: FAILURE_RATE',
    'CLOSED to OPEN: SLOW_CALL_RATE',
    'HALF_OPEN to CLOSED: PROBES_SUCCEEDED',
    'HALF_OPEN to OPEN: FAILURE_RATE',
    'HALF_OPEN to OPEN: SLOW_CALL_RATE',
    'OPEN to HALF_OPEN: WAIT_ELAPSED',
    'late result',
    'overdue probe',
  ])
})
