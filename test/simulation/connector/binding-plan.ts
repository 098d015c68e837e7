/** A binding of a seed: its options, from all valid combinations, and the behavior of its handler. */

import type { Binding } from '@waybill/connector'
import type { Draw } from '../draw.ts'
import type { DeduplicationPlan } from './deduplication-plan.ts'
import type { ObstructionPlan } from './obstruction.ts'
import { sourceTopic } from './source-topic.ts'

/** How a handler treats a record, on every call or on the first ones. */
export type Behaviour =
  | { readonly kind: 'OK' }
  /** The first calls fail. */
  | { readonly kind: 'FAIL'; readonly times: number; readonly throws: 'ERROR' | 'ODD' | 'SKIP' }
  | { readonly kind: 'ALWAYS'; readonly throws: 'ERROR' | 'SKIP' }
  | { readonly kind: 'FATAL' }
  | { readonly kind: 'SLOW'; readonly ms: number }
  /** The first calls never end. Only used with a timeout that ends them for the engine. */
  | { readonly kind: 'HANG'; readonly times: number }
  /** The first calls succeed after the engine has timed them out. */
  | { readonly kind: 'LATE'; readonly times: number }

/** Options as a user writes them, without those that the world adds. */
export type PlannedOptions = Omit<Binding, 'topic' | 'groupId' | 'handler' | 'deduplicate'>

/** One binding. */
export interface BindingPlan {
  readonly name: string
  readonly groupId: string
  /** The sources that it reads, and whether it names them by an expression. */
  readonly topics: readonly string[]
  readonly isExpression: boolean
  readonly options: PlannedOptions
  /** By record number. */
  readonly behaviours: readonly Behaviour[]
  /** Longest duration of a handler; 0: some calls complete synchronously. */
  readonly handlerMs: number
  /** Period in which a dependency of the handler is down and every call fails. */
  readonly down: { readonly fromMs: number; readonly forMs: number } | undefined
  /** Ids of the records that its filter rejects; undefined: it has no filter. */
  readonly filtered: readonly string[] | undefined
  /** It is registered while its process runs, and removed and registered again at times. */
  readonly isDynamic: boolean
  /** The handler processes a batch of records in one call. */
  readonly handlesBatches: boolean
  /** How it detects duplicates; undefined: its handler tolerates them. */
  readonly deduplicate: DeduplicationPlan | undefined
}

/** An error with this name makes records skip to a tier, where a binding has such a rule. */
export const skippingError = 'SlowDownError'

/** Inputs for drawing bindings. */
export interface BindingFrame {
  readonly isCalm: boolean
  readonly chaosMs: number
  readonly records: number
  readonly obstruction: ObstructionPlan | undefined
}

/** Draws one or two bindings that read the same topic. */
export function drawBindings(draw: Draw, frame: BindingFrame): BindingPlan[] {
  const { isCalm, chaosMs, records, obstruction } = frame
  const count = draw.chance(0.2) ? 2 : 1
  return Array.from({ length: count }, (_, index): BindingPlan => {
    const drawn = drawOptions(draw, isCalm, count)
    const options = obstruction === undefined ? drawn : obstructed(drawn)
    const isHealthy = obstruction?.kind === 'NO_DEAD_LETTER_TOPIC'
    return {
      name: `b${index}`,
      groupId: `g${index}`,
      topics: [sourceTopic],
      isExpression: false,
      options,
      behaviours: drawBehaviours(draw, options, records, isHealthy),
      handlerMs: draw.pick([0, 5, 40, 120]),
      down:
        draw.chance(0.3) && obstruction === undefined
          ? { fromMs: draw.ms(0, chaosMs), forMs: draw.msOfMagnitude(200, 1_500) }
          : undefined,
      filtered: undefined,
      isDynamic: false,
      handlesBatches: false,
      deduplicate: undefined,
    }
  })
}

/**
 * Turns some of the eligible bindings into batch listeners.
 *
 * @param draw - a separate stream, so that no other draw changes
 */
export function drawBatches(draw: Draw, bindings: readonly BindingPlan[], areEvents: boolean): BindingPlan[] {
  return bindings.map((binding): BindingPlan => {
    const { options } = binding
    const { orderingMode, failureProfile = 'TIERED', parallelism, retry, handlerTimeoutMs } = options
    const [isChosen, handlesBatches, strategy] = [draw.chance(0.4), draw.chance(0.4), draw.integer(0, 3)]
    const batchMaxRedeliveries = draw.integer(1, 3)
    if (!isChosen || parallelism !== 'PARTITION') return binding
    const mayGoOn = failureProfile === 'TIERED' && orderingMode !== 'STRICT'
    const continuing = (retry?.tiers ?? []).length > 0 && strategy === 3 ? 'TIER_AND_CONTINUE' : 'DLQ_AND_CONTINUE'
    const batchFailureStrategy = mayGoOn && strategy > 1 ? continuing : 'SEEK_TO_FAILED'
    return {
      ...binding,
      options: { ...options, listenerType: 'BATCH', batchFailureStrategy, batchMaxRedeliveries },
      // A timed-out call does not say for any record whether it was handled.
      handlesBatches: handlesBatches && !areEvents && handlerTimeoutMs === false,
    }
  })
}

/**
 * Gives some bindings a filter, and makes some dynamic.
 *
 * @param draw - a separate stream, so that no other draw changes
 */
export function drawUses(
  draw: Draw,
  bindings: readonly BindingPlan[],
  { records, isAlone }: { readonly records: readonly { readonly id: string }[]; readonly isAlone: boolean },
): BindingPlan[] {
  return bindings.map((binding): BindingPlan => {
    const [hasFilter, isDynamic, rate] = [draw.chance(0.12), draw.chance(0.12), draw.pick([0.1, 0.5])]
    const ids = draw.some(records, rate).map(({ id }) => id)
    if (isAlone) return binding
    return { ...binding, filtered: hasFilter ? ids : undefined, isDynamic }
  })
}

/** Returns true when the binding's filter rejects a record. */
export function isFiltered({ filtered }: BindingPlan, { id }: { readonly id: string }): boolean {
  return filtered?.includes(id) === true
}

/** Removes options that stop a binding or use its last slot: they stop more than the one partition under test. */
function obstructed(options: PlannedOptions): PlannedOptions {
  return {
    ...options,
    circuitBreaker: { enabled: false },
    handlerTimeoutMs: false,
    maxInFlight: Math.max(3, options.maxInFlight ?? 3),
    startFrom: 'EARLIEST',
  }
}

function drawOptions(draw: Draw, isCalm: boolean, count: number): PlannedOptions {
  const sessionTimeoutMs = isCalm ? 6_000 : draw.ms(1_200, 3_000)
  const failure = drawFailure(draw)
  return {
    ...failure,
    ackMode: draw.chance(0.5) ? 'MANUAL' : 'MANUAL_IMMEDIATE',
    concurrency: draw.pick([1, 1, 1, 2]),
    ...drawPolls(draw, failure),
    sessionTimeoutMs,
    heartbeatIntervalMs: draw.ms(sessionTimeoutMs / 5, sessionTimeoutMs / 3 - 1),
    pollTimeoutMs: draw.ms(200, 800),
    startFrom: draw.pick(['EARLIEST', 'EARLIEST', 'EARLIEST', 'EARLIEST', 'EARLIEST', 'LATEST', 'ERROR'] as const),
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

type PollOptions = Pick<PlannedOptions, 'maxPollRecords' | 'maxPollIntervalMs'>

/**
 * Draws, at times, a poll interval that the waits of tier 0 nearly use up: a slow handler then leaves no time for
 * retries.
 */
function drawPolls(draw: Draw, { retry }: FailureOptions): PollOptions {
  if (!draw.chance(0.15)) return { maxPollRecords: draw.pick([1, 5, 50]), maxPollIntervalMs: 600_000 }
  const maxPollRecords = draw.pick([1, 5])
  const { maxAttempts = 3, maxBackoffMs = 300 } = retry?.tier0 ?? {}
  const neededMs = (maxAttempts - 1) * maxBackoffMs * maxPollRecords
  return { maxPollRecords, maxPollIntervalMs: Math.round(Math.max(800, neededMs / 0.7) * draw.between(1.01, 1.5)) }
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
    // If it were shorter than tier 0 may take, a record that always fails would never be given up.
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
  | 'keyOrder'
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
  const tiers = drawTiers(draw)
  const target = draw.integer(1, 3)
  const skips = draw.chance(0.4) && target <= tiers.length
  const tiered = {
    budgetExceededRouting: draw.chance(0.5) && tiers.length > 0 ? 'NEXT_TIER' : 'DLT',
    retry: { tier0, tiers, ...(skips ? { skipToTierMapping: { [skippingError]: target } } : {}) },
  } as const
  if (kind <= 3) return { failureProfile: 'TIERED', parallelism, ...tiered }
  if (kind <= 6)
    return {
      orderingMode: 'KEY',
      parallelism: 'KEY',
      keyOrder: {
        onDeadKey: draw.chance(0.5) ? 'RELEASE' : 'BLOCK',
        maxWaitingRecords: draw.pick([1, 5, 500]),
        maxWaitingBytes: draw.pick([100, 10_000_000]),
      },
      ...tiered,
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

function drawBehaviours(draw: Draw, options: PlannedOptions, records: number, isHealthy: boolean): Behaviour[] {
  const { failureProfile, strictExhaustion, handlerTimeoutMs } = options
  const mayEnd = failureProfile !== 'BLOCKING_UNLIMITED' && strictExhaustion !== 'PAUSE_PARTITION'
  const failRate = isHealthy ? 0 : draw.pick([0.03, 0.15, 0.4])
  const kinds: readonly Behaviour['kind'][] = [
    'FAIL',
    'FAIL',
    'FATAL',
    // Slower than its timeout, it would never complete.
    mayEnd || handlerTimeoutMs === false ? 'SLOW' : 'FAIL',
    mayEnd ? 'ALWAYS' : 'FAIL',
    ...(typeof handlerTimeoutMs === 'number' ? (['HANG', 'LATE'] as const) : []),
  ]
  return Array.from({ length: records }, (): Behaviour => {
    if (!draw.chance(failRate)) return { kind: 'OK' }
    const kind = draw.pick(kinds)
    switch (kind) {
      case 'FAIL':
        return { kind, times: draw.integer(1, 6), throws: draw.pick(['ERROR', 'ERROR', 'ODD', 'SKIP'] as const) }
      case 'ALWAYS':
        return { kind, throws: draw.pick(['ERROR', 'ERROR', 'SKIP'] as const) }
      case 'SLOW':
        return { kind, ms: draw.ms(200, 1_500) }
      case 'HANG':
      case 'LATE':
        return { kind, times: draw.integer(1, 2) }
      case 'OK':
      case 'FATAL':
        return { kind }
    }
  })
}
