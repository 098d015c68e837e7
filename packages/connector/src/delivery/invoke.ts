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
  type RetryControl,
  type RetryResult,
  retryThroughBreaker,
} from '@waybill/core/internal'
import { duplicateFound, notStarted } from '../handlers/prepared.ts'
import { callHandler, type Invoking } from './call-handler.ts'
import type { StageDeps } from './delivery-deps.ts'
import type { DeliveryScope } from './delivery-scope.ts'
import type { Passage } from './guard.ts'
import type { Completion, Ready } from './stage-values.ts'
import type { Work } from './work.ts'

const cancelled: Completion = Object.freeze({ kind: 'CANCELLED' })

/** Makes the attempts of one delivery. Never rejects because of the handler. */
export function invoke(
  work: Work,
  ready: Ready,
  passage: Passage,
  scope: DeliveryScope,
  deps: StageDeps,
): Completion | Promise<Completion> {
  if (ready.kind !== 'RUN') return ready
  if (passage === 'CANCELLED') return cancelled
  const invoking: Invoking = { work, call: ready, scope, deps }
  if (passage === 'PER_ATTEMPT') return new Retries(invoking, ready.firstFailure).completion()
  return attemptOnce(invoking, typeof passage === 'string' ? undefined : passage)
}

function attemptOnce(invoking: Invoking, permit: CircuitPermit | undefined): Completion | Promise<Completion> {
  const { work, deps } = invoking
  const { clock, failpoint } = deps.runtime
  const startedAt = work.startedAt ?? clock.monotonic()
  try {
    const running = callHandler(invoking, 1)
    if (running !== undefined) return whenReturned(invoking, permit, startedAt, running, failpoint)
    const after = failpoint('handler.after')
    if (after !== undefined) return whenReturned(invoking, permit, startedAt, after, undefined)
  } catch (error) {
    return retriesAfter(error, invoking, permit, startedAt).completion()
  }
  return returned(permit, clock.monotonic() - startedAt)
}

async function whenReturned(
  invoking: Invoking,
  permit: CircuitPermit | undefined,
  startedAt: number,
  running: Promise<void>,
  failpoint: Runtime['failpoint'] | undefined,
): Promise<Completion> {
  try {
    await running
    const after = failpoint?.('handler.after')
    if (after !== undefined) await after
  } catch (error) {
    return retriesAfter(error, invoking, permit, startedAt).completion()
  }
  return returned(permit, invoking.deps.runtime.clock.monotonic() - startedAt)
}

function returned(permit: CircuitPermit | undefined, handlerMs: number): Completion {
  permit?.succeed(handlerMs)
  return { kind: 'RETURNED', attempts: 1, handlerMs }
}

/** The breaker counts the first attempt with those that follow, as one outcome. */
function retriesAfter(
  error: unknown,
  invoking: Invoking,
  permit: CircuitPermit | undefined,
  startedAt: number,
): Retries {
  permit?.release()
  return new Retries(invoking, { error, handlerMs: invoking.deps.runtime.clock.monotonic() - startedAt })
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
