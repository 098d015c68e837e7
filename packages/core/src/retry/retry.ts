import { ArgumentError } from '../errors.ts'
import { showValue } from '../option/show-value.ts'
import { abortReason } from '../runtime/abort.ts'
import type { Runtime } from '../runtime/runtime.ts'
import { backoffMs } from './backoff.ts'
import { RetryBudgetExceededError } from './retry-budget-exceeded-error.ts'
import type { RetryPolicy } from './retry-policy.ts'

/** The cost of a call. Waits count separately, so `handlerMs` shows a slow dependency and never the backoff. */
export interface RetryCost {
  /** Attempts that were started. */
  readonly attempts: number
  /** Time inside the attempts. */
  readonly handlerMs: number
  /** Time between the attempts. */
  readonly backoffMs: number
}

/**
 * How a call ended without success. Each ending has an `error` that a classifier can route:
 *
 * | outcome | error |
 * |---|---|
 * | EXHAUSTED | what the last allowed attempt threw |
 * | NOT_RETRYABLE | what was thrown and must not be tried again |
 * | BUDGET_EXCEEDED | {@link RetryBudgetExceededError}, its cause what the last attempt threw |
 * | REFUSED | what `beforeAttempt` answered |
 * | CANCELLED | the signal's reason; what an attempt throws after the signal aborted is no failure of the record |
 */
export type RetryFailure =
  | { readonly outcome: 'EXHAUSTED' | 'NOT_RETRYABLE'; readonly error: unknown }
  | { readonly outcome: 'BUDGET_EXCEEDED'; readonly error: RetryBudgetExceededError }
  | { readonly outcome: 'REFUSED' | 'CANCELLED'; readonly error: Error }

/** How a call ended, and what it cost. */
export type RetryResult<T> = RetryCost & (RetryFailure | { readonly outcome: 'SUCCEEDED'; readonly value: T })

/** One attempt, once it is over and its consequence is known. */
export interface AttemptReport {
  /** Counted from 1. */
  readonly attempt: number
  readonly handlerMs: number
  readonly isFailed: boolean
  /** The value the attempt threw; undefined when it succeeded, or threw undefined. */
  readonly error: unknown
  /** The wait before the next attempt; undefined when this was the last. */
  readonly nextInMs: number | undefined
}

/** An attempt that failed before {@link retry} was called. */
export interface FailedAttempt {
  readonly error: unknown
  readonly handlerMs: number
}

/** Callbacks that stop or observe a {@link retry}. They must not throw. */
export interface RetryControl {
  /**
   * Ends the waits and starts no further attempt. A running attempt is not interrupted: pass it the signal too. What it
   * throws after that is no failure: the call ends as CANCELLED.
   */
  readonly signal?: AbortSignal | undefined
  /**
   * Ends the waits and starts no second attempt: a failure that needs one ends as CANCELLED. One that would be the last
   * in any case counts.
   */
  readonly windDown?: AbortSignal | undefined
  /**
   * Whether trying again can help.
   * @defaultValue everything is retried
   */
  readonly isRetryable?: (error: unknown) => boolean
  /**
   * Asked right before each attempt, the first one included unless it was already made. An error refuses it, and the call
   * ends as REFUSED.
   */
  readonly beforeAttempt?: (attempt: number) => Error | undefined
  /**
   * No wait ends later than this after the call began, attempts included. The first attempt is always made.
   * @defaultValue Infinity
   */
  readonly budgetMs?: number
  /** The first attempt, where it was already made: what it threw, and the time it took. `run` is called for the others. */
  readonly firstFailure?: FailedAttempt | undefined
  /** Observes every attempt. */
  readonly onAttempt?: (report: AttemptReport) => void
}

/**
 * Runs `run` until it succeeds or must not be tried again. Resolves with the result in every case; nothing that `run`
 * throws, synchronously or not, comes out as a rejection. Only a call with wrong arguments rejects.
 */
export async function retry<T>(
  runtime: Pick<Runtime, 'clock' | 'timers' | 'random'>,
  policy: RetryPolicy,
  run: (attempt: number) => T | PromiseLike<T>,
  control: RetryControl = {},
): Promise<RetryResult<T>> {
  requireArguments(runtime, policy, run)
  const { clock, timers, random } = runtime
  const { signal, windDown, beforeAttempt, onAttempt } = control
  const startedAt = clock.monotonic()
  let made = control.firstFailure
  let handlerMs = 0
  let waitedMs = 0
  const cost = (attempts: number): RetryCost => ({ attempts, handlerMs, backoffMs: waitedMs })

  for (let attempt = 1; ; attempt++) {
    const end = signal?.aborted ? signal : attempt > 1 && windDown?.aborted ? windDown : undefined
    if (end !== undefined && made === undefined)
      return { outcome: 'CANCELLED', error: abortReason(end), ...cost(attempt - 1) }
    // An attempt that was made counts, whatever would be said of it now.
    const refusal = made === undefined ? beforeAttempt?.(attempt) : undefined
    if (refusal !== undefined) return { outcome: 'REFUSED', error: refusal, ...cost(attempt - 1) }

    const attemptedAt = clock.monotonic()
    const ended = made === undefined ? await settled(run, attempt) : failed(made)
    const endedAt = clock.monotonic()
    const attemptMs = made?.handlerMs ?? endedAt - attemptedAt
    made = undefined
    handlerMs += attemptMs
    if (!ended.isFailed) {
      onAttempt?.({ attempt, handlerMs: attemptMs, isFailed: false, error: undefined, nextInMs: undefined })
      return { outcome: 'SUCCEEDED', value: ended.value, ...cost(attempt) }
    }

    const waitMs = backoffMs(policy.backoff, attempt, random)
    const failure = failureAfter(ended.error, attempt, endedAt - startedAt + waitMs, policy, control)
    const nextInMs = failure === undefined ? waitMs : undefined
    onAttempt?.({ attempt, handlerMs: attemptMs, isFailed: true, error: ended.error, nextInMs })
    if (failure !== undefined) return { ...failure, ...cost(attempt) }

    await sleepUnlessAborted(timers, waitMs, eitherOf(signal, windDown))
    waitedMs += clock.monotonic() - endedAt
  }
}

/** Without this a forgotten runtime would surface as a TypeError from inside, far from the call. */
function requireArguments(runtime: unknown, policy: unknown, run: unknown): void {
  if (typeof (runtime as Partial<Runtime> | null | undefined)?.clock?.monotonic !== 'function')
    throw wrongArgument('a runtime first, such as systemRuntime', runtime)
  if (typeof (policy as Partial<RetryPolicy> | null | undefined)?.backoff !== 'object')
    throw wrongArgument('a policy second, such as { maxAttempts: 3, backoff }', policy)
  if (typeof run !== 'function') throw wrongArgument('a function third', run)
}

function wrongArgument(expected: string, given: unknown): ArgumentError {
  return new ArgumentError(`retry(runtime, policy, run) takes ${expected}, not ${showValue(given)}.`)
}

/** Why a failed attempt was the last one; undefined when another may follow. */
function failureAfter(
  error: unknown,
  attempt: number,
  nextAtMs: number,
  policy: RetryPolicy,
  { signal, windDown, isRetryable, budgetMs = Number.POSITIVE_INFINITY }: RetryControl,
): RetryFailure | undefined {
  if (signal?.aborted) return { outcome: 'CANCELLED', error: abortReason(signal) }
  if (isRetryable?.(error) === false) return { outcome: 'NOT_RETRYABLE', error }
  if (attempt >= policy.maxAttempts) return { outcome: 'EXHAUSTED', error }
  if (nextAtMs > budgetMs)
    return { outcome: 'BUDGET_EXCEEDED', error: new RetryBudgetExceededError(attempt, nextAtMs, budgetMs, error) }
  if (windDown?.aborted) return { outcome: 'CANCELLED', error: abortReason(windDown) }
  return undefined
}

function eitherOf(one: AbortSignal | undefined, other: AbortSignal | undefined): AbortSignal | undefined {
  return one === undefined || other === undefined ? (one ?? other) : AbortSignal.any([one, other])
}

type Settled<T> = { readonly isFailed: false; readonly value: T } | { readonly isFailed: true; readonly error: unknown }

function failed({ error }: FailedAttempt): Settled<never> {
  return { isFailed: true, error }
}

async function settled<T>(run: (attempt: number) => T | PromiseLike<T>, attempt: number): Promise<Settled<T>> {
  try {
    return { isFailed: false, value: await run(attempt) }
  } catch (error) {
    return { isFailed: true, error }
  }
}

async function sleepUnlessAborted(timers: Runtime['timers'], ms: number, signal?: AbortSignal): Promise<void> {
  try {
    await timers.sleep(ms, signal)
  } catch (error) {
    // The loop sees the aborted signal before its next attempt. Anything else is a fault of the timers.
    if (!signal?.aborted) throw error
  }
}
