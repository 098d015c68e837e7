/**
 * Calls the handler until it succeeds or must not be tried again in memory (tier 0).
 *
 *     first attempt ──▶ RETURNED
 *          └── fails ──▶ retries, each through the breaker ──▶ RETURNED, FAILED
 *
 * Most records need one attempt. It needs neither a classifier nor a retry budget, which saves half of the time that a
 * record takes.
 */

import { type ExceptionClassifier, type ExceptionRoutingDecision, type Runtime, retry } from '@waybill/core'
import {
  type CircuitPermit,
  type FailedAttempt,
  isRetryable,
  type LogContext,
  type RetryControl,
  type RetryResult,
  retryThroughBreaker,
} from '@waybill/core/internal'
import { logContextOf } from '../handlers/delivery-context.ts'
import { duplicateFound, notStarted } from '../handlers/prepared.ts'
import { callHandler, type Invoking } from './call-handler.ts'
import type { StageDeps } from './delivery-deps.ts'
import type { DeliveryScope } from './delivery-scope.ts'
import type { Passage } from './guard.ts'
import type { Completion, HandlerCall, Ready } from './stage-values.ts'
import type { Work } from './work.ts'

const cancelled: Completion = Object.freeze({ kind: 'CANCELLED' })

/**
 * Makes the attempts of one delivery. Never fails because of the handler. A first attempt that is still running is
 * returned as such: its caller awaits the promise of the handler, and no promise of a function in between.
 */
export function invoke(
  work: Work,
  ready: Ready,
  passage: Passage,
  scope: DeliveryScope,
  deps: StageDeps,
): Completion | FirstAttempt | Promise<Completion> {
  if (ready.kind !== 'RUN') return ready
  if (passage === 'CANCELLED') return cancelled
  const first = new FirstAttempt(work, ready, scope, deps, typeof passage === 'string' ? undefined : passage)
  return passage === 'PER_ATTEMPT' ? new Retries(first, ready.firstFailure).completion() : first.start()
}

/** The error that a handler failed with. It may be anything, also undefined. */
export interface HandlerFailure {
  readonly error: unknown
}

/** The first attempt of a delivery. One object is all that it allocates around the call. */
export class FirstAttempt implements Invoking {
  readonly work: Work
  readonly call: HandlerCall
  readonly scope: DeliveryScope
  readonly deps: StageDeps
  readonly #permit: CircuitPermit | undefined
  readonly #startedAt: number
  #running: Promise<void> | void = undefined
  #isBehindHandler = false
  #endedAt: number | undefined

  constructor(work: Work, call: HandlerCall, scope: DeliveryScope, deps: StageDeps, permit: CircuitPermit | undefined) {
    this.work = work
    this.call = call
    this.scope = scope
    this.deps = deps
    this.#permit = permit
    this.#startedAt = work.startedAt ?? deps.runtime.clock.monotonic()
  }

  /** The promise of the handler while it runs. It may reject. */
  get running(): Promise<void> | void {
    return this.#running
  }

  /** Monotonic time of its end. */
  get endedAt(): number | undefined {
    return this.#endedAt
  }

  logContext(): LogContext {
    return logContextOf(this.deps.context, this.work.record, this.work)
  }

  /** Calls the handler. Returns itself while it runs: continue with {@link completion} or {@link end}. */
  start(): Completion | FirstAttempt | Promise<Completion> {
    try {
      this.#running = callHandler(this, 1) ?? this.#passFailpoint()
    } catch (error) {
      return this.#failed(error)
    }
    return this.#running === undefined ? this.#returned() : this
  }

  /** Awaits the handler. */
  async completion(): Promise<Completion> {
    try {
      await this.#running
      const after = this.#passFailpoint()
      if (after !== undefined) await after
    } catch (error) {
      return this.#failed(error)
    }
    return this.#returned()
  }

  /** Does what {@link completion} does, for a caller that has awaited {@link running} itself. */
  end(failure: HandlerFailure | undefined): Completion | Promise<Completion> {
    if (failure !== undefined) return this.#failed(failure.error)
    try {
      const after = this.#passFailpoint()
      if (after !== undefined) {
        this.#running = after
        return this.completion()
      }
    } catch (error) {
      return this.#failed(error)
    }
    return this.#returned()
  }

  #passFailpoint(): Promise<void> | void {
    if (this.#isBehindHandler) return
    this.#isBehindHandler = true
    return this.deps.runtime.failpoint('handler.after')
  }

  #returned(): Completion {
    const handlerMs = this.#handlerMs()
    this.#permit?.succeed(handlerMs)
    return { kind: 'RETURNED', attempts: 1, handlerMs }
  }

  /** The breaker counts the first attempt with those that follow, as one outcome. */
  #failed(error: unknown): Promise<Completion> {
    this.#permit?.release()
    return new Retries(this, { error, handlerMs: this.#handlerMs() }).completion()
  }

  #handlerMs(): number {
    this.#endedAt = this.deps.runtime.clock.monotonic()
    return this.#endedAt - this.#startedAt
  }
}

/** The attempts behind the first one, or all attempts while the circuit is not closed. */
class Retries {
  readonly #invoking: Invoking
  readonly #firstFailure: FailedAttempt | undefined
  readonly #classifier: ReturnType<typeof memoizeLast>

  constructor(invoking: Invoking, firstFailure: FailedAttempt | undefined) {
    this.#invoking = invoking
    this.#firstFailure = firstFailure
    this.#classifier = memoizeLast(invoking.deps.classifier)
  }

  async completion(): Promise<Completion> {
    const result = await this.#retry()
    return result.outcome === 'SUCCEEDED'
      ? { kind: 'RETURNED', attempts: result.attempts, handlerMs: result.handlerMs }
      : { kind: 'FAILED', failure: result, classify: this.#classifier.classify }
  }

  #retry(): Promise<RetryResult<void>> {
    const { binding, breaker, runtime } = this.#invoking.deps
    const attempt = (number: number): Promise<void> | void => this.#attempt(number)
    return binding.circuitBreaker.enabled
      ? retryThroughBreaker(breaker, runtime, binding.tier0, attempt, this.#control())
      : retry(runtime, binding.tier0, attempt, this.#control())
  }

  #control(): RetryControl {
    const { work, scope, deps } = this.#invoking
    const { classify } = this.#classifier
    return {
      signal: scope.handling,
      windDown: scope.retrying,
      isRetryable: (error) =>
        error !== duplicateFound && error !== notStarted && isRetryable(classify(error, work.tier)),
      budgetMs: deps.pollInterval.retryBudgetMs(work.slice, deps.runtime.clock.monotonic()),
      firstFailure: this.#firstFailure,
    }
  }

  #attempt(number: number): Promise<void> | void {
    this.#classifier.forget()
    const { failpoint } = this.#invoking.deps.runtime
    const running = callHandler(this.#invoking, number)
    return running === undefined ? failpoint('handler.after') : passAfter(running, failpoint)
  }
}

async function passAfter(running: Promise<void>, failpoint: Runtime['failpoint']): Promise<void> {
  await running
  const after = failpoint('handler.after')
  if (after !== undefined) await after
}

/** Asks a classifier once for each failed attempt: whether to retry and where the record goes are one decision. */
function memoizeLast(classifier: ExceptionClassifier): { readonly classify: ExceptionClassifier; forget(): void } {
  let last: { readonly error: unknown; readonly decision: ExceptionRoutingDecision } | undefined
  return {
    classify: (error, tier) => {
      if (last === undefined || !Object.is(last.error, error)) last = { error, decision: classifier(error, tier) }
      return last.decision
    },
    forget: () => {
      last = undefined
    },
  }
}
