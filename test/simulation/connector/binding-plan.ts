/** A binding of a seed: its options, from the whole space of those that go together, and what its handler does. */

import type { Binding } from '@waybill/kafka'
import type { Draw } from '../draw.ts'

/** What a handler does with a record, on every call or on the first ones. */
export type Behaviour =
  | { readonly kind: 'OK' }
  /** The first calls fail. */
  | { readonly kind: 'FAIL'; readonly times: number; readonly isOdd: boolean }
  | { readonly kind: 'ALWAYS' }
  | { readonly kind: 'FATAL' }
  | { readonly kind: 'SLOW'; readonly ms: number }
  /** The first calls never end. Only where a time-out ends them for the engine. */
  | { readonly kind: 'HANG'; readonly times: number }
  /** The first calls end well, after the engine has given them up. */
  | { readonly kind: 'LATE'; readonly times: number }

/** Options as a user gives them, without what the world adds. */
export type PlannedOptions = Omit<Binding, 'topic' | 'groupId' | 'handler'>

/** One binding. */
export interface BindingPlan {
  readonly name: string
  readonly groupId: string
  readonly options: PlannedOptions
  /** By the number of the record. */
  readonly behaviours: readonly Behaviour[]
  /** Longest that a handler takes; 0: some calls end without ever having waited. */
  readonly handlerMs: number
  /** While what the handler needs is down every call fails. */
  readonly down: { readonly fromMs: number; readonly forMs: number } | undefined
}

/** One or two bindings, which read the same topic. */
export function drawBindings(draw: Draw, isCalm: boolean, chaosMs: number, records: number): BindingPlan[] {
  const count = draw.chance(0.2) ? 2 : 1
  return Array.from({ length: count }, (_, index): BindingPlan => {
    const options = drawOptions(draw, isCalm, count)
    return {
      name: `b${index}`,
      groupId: `g${index}`,
      options,
      behaviours: drawBehaviours(draw, options, records),
      handlerMs: draw.pick([0, 5, 40, 120]),
      down: draw.chance(0.3) ? { fromMs: draw.ms(0, chaosMs), forMs: draw.msOfMagnitude(200, 1_500) } : undefined,
    }
  })
}

function drawOptions(draw: Draw, isCalm: boolean, count: number): PlannedOptions {
  const sessionTimeoutMs = isCalm ? 6_000 : draw.ms(1_200, 3_000)
  return {
    ...drawFailure(draw),
    ackMode: draw.chance(0.5) ? 'MANUAL' : 'MANUAL_IMMEDIATE',
    concurrency: draw.pick([1, 1, 1, 2]),
    maxPollRecords: draw.pick([1, 5, 50]),
    maxPollIntervalMs: 600_000,
    sessionTimeoutMs,
    heartbeatIntervalMs: draw.ms(sessionTimeoutMs / 6, sessionTimeoutMs / 3 - 1),
    pollTimeoutMs: draw.ms(100, 600),
    staticMembership: !isCalm && draw.chance(0.2),
    maxInFlight: draw.pick([1, 3, 64]),
    maxAhead: draw.pick([1, 3, 10, 100]),
    maxBufferedRecords: draw.pick([1, 5, 1_000]),
    maxBufferedBytes: draw.pick([200, 10_000_000]),
    handlerTimeoutMs: draw.chance(0.4) ? draw.ms(200, 600) : false,
    retryTopicNaming: count > 1 ? 'PER_GROUP' : draw.pick(['PER_TOPIC', 'PER_GROUP']),
    circuitBreaker: drawBreaker(draw),
    dlt: { format: draw.chance(0.85) ? 'HEADERS' : 'ENVELOPE' },
    shutdownTimeoutMs: isCalm ? 15_000 : draw.ms(500, 5_000),
  }
}

function drawBreaker(draw: Draw): NonNullable<Binding['circuitBreaker']> {
  if (draw.chance(0.55)) return { enabled: false }
  const minimumNumberOfCalls = draw.integer(2, 5)
  return {
    enabled: true,
    failureRateThreshold: draw.pick([30, 50, 80]),
    slowCallDurationMs: draw.pick([100, 5_000]),
    waitDurationInOpenStateMs: draw.ms(100, 1_500),
    slidingWindowSize: minimumNumberOfCalls + draw.integer(0, 5),
    minimumNumberOfCalls,
    permittedNumberOfCallsInHalfOpenState: draw.integer(1, 3),
    // Shorter than what tier 0 may take, no record that always fails would ever be given up.
    probeTimeoutMs: draw.ms(6_000, 12_000),
    automaticPauseOnOpen: draw.chance(0.8),
  }
}

type FailureOptions = Pick<
  PlannedOptions,
  | 'failureProfile'
  | 'orderingMode'
  | 'parallelism'
  | 'strictExhaustion'
  | 'budgetExceededRouting'
  | 'onDeadKey'
  | 'maxWaitingRecords'
  | 'maxWaitingBytes'
  | 'retry'
>

function drawFailure(draw: Draw): FailureOptions {
  const kind = draw.integer(0, 9)
  const tier0 = {
    maxAttempts: draw.integer(1, 3),
    initialBackoffMs: draw.ms(5, 100),
    maxBackoffMs: 300,
  }
  const parallelism = draw.pick(['PARTITION', 'KEY', 'UNORDERED'] as const)
  const ordered = draw.pick(['PARTITION', 'KEY'] as const)
  if (kind <= 3) return { failureProfile: 'TIERED', parallelism, retry: { tier0, tiers: drawTiers(draw) } }
  if (kind <= 6)
    return {
      orderingMode: 'KEY',
      parallelism: 'KEY',
      onDeadKey: draw.chance(0.5) ? 'RELEASE' : 'BLOCK',
      maxWaitingRecords: draw.pick([1, 5, 500]),
      maxWaitingBytes: draw.pick([100, 10_000_000]),
      retry: { tier0, tiers: drawTiers(draw) },
    }
  if (kind === 7)
    return {
      orderingMode: 'STRICT',
      parallelism: ordered,
      strictExhaustion: draw.chance(0.5) ? 'DLT' : 'PAUSE_PARTITION',
      retry: { tier0 },
    }
  const orderingMode = draw.chance(0.3) ? 'STRICT' : 'RELAXED_IN_RETRY'
  const lanes = { orderingMode, parallelism: orderingMode === 'STRICT' ? ordered : parallelism } as const
  if (kind === 8) return { ...lanes, failureProfile: 'BEST_EFFORT_SKIP', retry: { tier0 } }
  const blocking = { initialBackoffMs: draw.ms(20, 200), multiplier: 2, maxBackoffMs: 1_000 }
  return { ...lanes, failureProfile: 'BLOCKING_UNLIMITED', retry: { tier0, blocking } }
}

function drawTiers(draw: Draw): { delayMs: number; maxAttempts: number; concurrency: number }[] {
  let delayMs = 0
  return Array.from({ length: draw.pick([0, 1, 1, 2, 2, 3]) }, () => {
    delayMs += draw.ms(50, 500)
    return { delayMs, maxAttempts: draw.integer(1, 2), concurrency: draw.pick([1, 1, 2]) }
  })
}

function drawBehaviours(draw: Draw, options: PlannedOptions, records: number): Behaviour[] {
  const { failureProfile, strictExhaustion, handlerTimeoutMs } = options
  const mayEnd = failureProfile !== 'BLOCKING_UNLIMITED' && strictExhaustion !== 'PAUSE_PARTITION'
  const failRate = draw.pick([0.03, 0.15, 0.4])
  const kinds: readonly Behaviour['kind'][] = [
    'FAIL',
    'FAIL',
    'FATAL',
    // Slower than its time-out it would never end.
    mayEnd || handlerTimeoutMs === false ? 'SLOW' : 'FAIL',
    mayEnd ? 'ALWAYS' : 'FAIL',
    ...(typeof handlerTimeoutMs === 'number' ? (['HANG', 'LATE'] as const) : []),
  ]
  return Array.from({ length: records }, (): Behaviour => {
    if (!draw.chance(failRate)) return { kind: 'OK' }
    const kind = draw.pick(kinds)
    switch (kind) {
      case 'FAIL':
        return { kind, times: draw.integer(1, 6), isOdd: draw.chance(0.3) }
      case 'SLOW':
        return { kind, ms: draw.ms(200, 1_500) }
      case 'HANG':
      case 'LATE':
        return { kind, times: draw.integer(1, 2) }
      case 'OK':
      case 'ALWAYS':
      case 'FATAL':
        return { kind }
    }
  })
}
