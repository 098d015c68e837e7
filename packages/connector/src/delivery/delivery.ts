/**
 * One record through decode ▸ deduplicate ▸ guard ▸ invoke ▸ decide. What comes out is an outcome, and nothing else
 * happens here: no offset moves, nothing is published.
 *
 * | step | what ends the delivery |
 * |---|---|
 * | decode | another group is meant, the filter says no, or no handler for the event: SKIP; poison: DEAD_LETTER |
 * | deduplicate | it had its effect before: SKIP; with an inbox the call finds it out |
 * | guard | the circuit is open: PAUSE, or on to a tier |
 * | invoke | success: DONE; tier 0 repeats what may pass, within the retry budget |
 * | decide | everything else, by decideOutcome |
 */

import {
  type CircuitBreaker,
  type ExceptionClassifier,
  type ExceptionRoutingDecision,
  type Runtime,
  retry,
} from '@waybill/core'
import {
  type FailedAttempt,
  isRetryable,
  pollTimeLimitMs,
  type RetryControl,
  type RetryCost,
  type RetryFailure,
  type RetryResult,
  retryBudgetMs,
  retryThroughBreaker,
  withLogContext,
} from '@waybill/core/internal'
import type { BindingTelemetry } from '../binding/binding-telemetry.ts'
import type { ResolvedBinding } from '../binding/resolved-binding.ts'
import { type ContextScope, logContextOf, RecordContext } from '../handlers/delivery-context.ts'
import type { Invocation } from '../handlers/invocation.ts'
import type { Outputs } from '../handlers/outputs.ts'
import { duplicateFound, type Prepared } from '../handlers/prepared.ts'
import { exceptionClassOf } from '../records/failure-text.ts'
import { hasEngineHeaders } from '../records/trail.ts'
import { decideInBatch } from './batch-outcome.ts'
import { decideOutcome } from './decide-outcome.ts'
import { failureLineOf } from './failure-line.ts'
import { callWithin } from './handler-timeout.ts'
import type { Outcome } from './outcome.ts'
import type { Slice, Work } from './work.ts'

/** How long a delivery may go on. */
export interface DeliveryScope {
  /** Aborts when no further attempt may be made. */
  readonly retrying: AbortSignal
  /** Aborts when the handler has no more time. */
  readonly handling: AbortSignal
}

/** What deliveries of a binding stand on. */
export interface DeliveryDeps {
  readonly binding: ResolvedBinding
  readonly invocation: Invocation
  readonly context: ContextScope
  readonly breaker: CircuitBreaker
  readonly classifier: ExceptionClassifier
  readonly telemetry: BindingTelemetry
  readonly runtime: Runtime
}

/** A call that is prepared. */
export type Run = Extract<Prepared, { kind: 'RUN' }>

/** What needs no failure to be told is the same for every record. */
export const done: Outcome = Object.freeze({ kind: 'DONE' })
const foreign: Outcome = Object.freeze({ kind: 'SKIP', cause: 'FOREIGN_GROUP', failure: undefined })
export const cancelled: Outcome = Object.freeze({ kind: 'PAUSE', cause: 'CANCELLED', failure: undefined })
const unhandled: Outcome = Object.freeze({ kind: 'SKIP', cause: 'UNHANDLED', failure: undefined })
const duplicate: Outcome = Object.freeze({ kind: 'SKIP', cause: 'DUPLICATE', failure: undefined })
export const filtered: Outcome = Object.freeze({ kind: 'SKIP', cause: 'FILTERED', failure: undefined })

/** Delivers the records of a binding, on its source and its tiers alike. */
export class Delivery {
  readonly #deps: DeliveryDeps
  readonly #safeMs: number
  /** Whether calls go through the breaker. */
  readonly #isGuarded: boolean

  constructor(deps: DeliveryDeps) {
    this.#deps = deps
    this.#safeMs = pollTimeLimitMs(deps.binding.maxPollIntervalMs, deps.binding.pollIntervalSafetyThreshold)
    this.#isGuarded = deps.binding.circuitBreaker.enabled
  }

  /** True while the breaker would refuse a call. */
  get isRefusing(): boolean {
    return this.#isGuarded && this.#deps.breaker.isRefusing
  }

  /** Never rejects because of the record or its handler. */
  deliver(work: Work, scope: DeliveryScope): Promise<Outcome> {
    const { outputs } = work
    if (outputs?.refusal !== undefined) return Promise.resolve(this.#refused(work, outputs.refusal, outputs.calls))
    const passedOver = this.passOver(work)
    if (passedOver !== undefined) return Promise.resolve(passedOver)
    const prepared = this.#deps.invocation(work.record, work.kind, work.groupId)
    return prepared instanceof Promise ? this.#whenPrepared(work, prepared, scope) : this.#route(work, prepared, scope)
  }

  /** The outcome of a record that is not for this binding. */
  passOver(work: Work): Outcome | undefined {
    return hasEngineHeaders(work.record) && work.trail.isForeign ? foreign : undefined
  }

  /**
   * Guard ▸ invoke ▸ decide, of a call that is prepared: what becomes of the first record it is for.
   *
   * @param firstFailure - the first call, where it was already made
   */
  attempt(work: Work, run: Run, scope: DeliveryScope, firstFailure?: FailedAttempt): Promise<Outcome> {
    const isPlain = firstFailure === undefined && !(this.#isGuarded && this.#deps.breaker.state !== 'CLOSED')
    return isPlain ? this.#attemptOnce(work, run, scope) : this.#attempt(work, run, scope, firstFailure)
  }

  /** The outcome of a record whose call failed with another record's, and for the same reason. */
  failAlike(work: Work, outcome: Outcome): Outcome {
    const { telemetry } = this.#deps
    const alike = this.#inBatch(work, outcome)
    if ('failure' in alike && alike.failure !== undefined)
      telemetry.failed(work.record.topic, exceptionClassOf(alike.failure.error))
    return alike.kind === 'PAUSE' ? alike : this.#told(work, alike)
  }

  /** The outcome of a record that had its effect before. */
  skipRepeat(work: Work): Outcome {
    return this.#told(work, duplicate)
  }

  /** True when the records of a slice have had their share of the poll interval; counted, and another begins. */
  isOverdue(slice: Slice): boolean {
    return this.#watchInterval(slice, this.#deps.runtime.clock.monotonic())
  }

  /** A schema may be asynchronous, and is bounded as its handler is: one that takes too long counts as a failed call. */
  async #whenPrepared(work: Work, preparing: Promise<Prepared>, scope: DeliveryScope): Promise<Outcome> {
    const { binding, runtime } = this.#deps
    const { handlerTimeoutMs } = binding
    if (handlerTimeoutMs === false) return this.#route(work, await preparing, scope)
    let prepared: Prepared
    try {
      prepared = await callWithin(runtime.timers, handlerTimeoutMs, scope.handling, () => preparing)
    } catch (error) {
      return this.#attempt(work, this.#preparingAgain(work), scope, { error, handlerMs: handlerTimeoutMs })
    }
    return this.#route(work, prepared, scope)
  }

  #preparingAgain({ record, kind, groupId }: Work): Run {
    const run: Run['run'] = async (context) => {
      const prepared = await this.#deps.invocation(record, kind, groupId)
      if (prepared.kind === 'POISON') throw prepared.error
      if (prepared.kind === 'DUPLICATE') throw duplicateFound
      if (prepared.kind !== 'RUN') return
      context.signal.throwIfAborted() // It took time, and a call that is given up starts nothing (I3).
      await prepared.run(context)
    }
    return { kind: 'RUN', run }
  }

  #route(work: Work, prepared: Prepared, scope: DeliveryScope): Promise<Outcome> {
    switch (prepared.kind) {
      case 'UNHANDLED':
        return Promise.resolve(unhandled)
      case 'FILTERED':
        return Promise.resolve(filtered)
      case 'DUPLICATE':
        return Promise.resolve(this.skipRepeat(work))
      case 'POISON':
        return Promise.resolve(this.#poison(work, prepared.error))
      case 'RUN':
        return this.attempt(work, prepared, scope)
    }
  }

  /** The last call succeeded, and what it sent cannot be written: it failed after all, and none is made again (C-04). */
  #refused(work: Work, error: Error, calls: number): Outcome {
    return this.#failed(work, { outcome: 'EXHAUSTED', error, attempts: calls }, this.#deps.classifier)
  }

  #poison(work: Work, error: Error): Outcome {
    this.#deps.telemetry.failed(work.record.topic, exceptionClassOf(error))
    const failure = { error, attempts: 0, atMs: this.#deps.runtime.clock.now() }
    return this.#told(work, { kind: 'DEAD_LETTER', reason: 'NON_RETRYABLE', failure })
  }

  /**
   * The first call, while calls are let through: it needs nothing of what retries need, and most records need no second.
   * Half of the time that a record takes is saved here.
   */
  async #attemptOnce(work: Work, run: Run, scope: DeliveryScope): Promise<Outcome> {
    const { breaker, runtime, telemetry } = this.#deps
    if (scope.retrying.aborted) return cancelled // While it was prepared.
    const startedAt = work.startedAt ?? runtime.clock.monotonic()
    this.#watchInterval(work.slice, startedAt)
    const permit = this.#isGuarded ? breaker.tryAcquire() : undefined
    try {
      const running = this.#call(work, run, 1, scope)
      if (running !== undefined) await running
    } catch (error) {
      permit?.release() // Counted with the attempts that follow, as one outcome.
      return this.#attempt(work, run, scope, { error, handlerMs: runtime.clock.monotonic() - startedAt })
    }
    const ms = runtime.clock.monotonic() - startedAt
    permit?.succeed(ms)
    telemetry.attempts(work.tier, 1)
    telemetry.duration(ms)
    return done
  }

  /** @param firstFailure - the first call, where it was already made */
  async #attempt(work: Work, run: Run, scope: DeliveryScope, firstFailure?: FailedAttempt): Promise<Outcome> {
    const { binding, breaker, runtime, classifier } = this.#deps
    if (firstFailure === undefined && scope.retrying.aborted) return cancelled
    const classify = askedOnce(classifier)
    const call = (attempt: number): Promise<void> | void => {
      classify.forget()
      return this.#call(work, run, attempt, scope)
    }
    const control: RetryControl = {
      signal: scope.handling,
      windDown: scope.retrying,
      isRetryable: (error) => error !== duplicateFound && isRetryable(classify.decide(error, work.tier)),
      budgetMs: this.#budgetMs(work),
      firstFailure,
    }
    const result = this.#isGuarded
      ? await retryThroughBreaker(breaker, runtime, binding.tier0, call, control)
      : await retry(runtime, binding.tier0, call, control)
    return this.#decide(work, result, classify.decide)
  }

  #call(work: Work, run: Run, attempt: number, { handling }: DeliveryScope): Promise<void> | void {
    const { binding, context, runtime } = this.#deps
    const { handlerTimeoutMs } = binding
    const call = (signal: AbortSignal): Promise<void> | void =>
      run.run(RecordContext.of(context, work, work.record, attempt, signal))
    return withLogContext(
      () => logContextOf(context, work.record, work),
      () =>
        callAtFailpoints(runtime.failpoint, () =>
          endingOutputs(work.outputs, () =>
            handlerTimeoutMs === false ? call(handling) : callWithin(runtime.timers, handlerTimeoutMs, handling, call),
          ),
        ),
    )
  }

  /** A slice that used up its share of the poll interval begins another (S0-150). */
  #watchInterval(slice: Slice, now: number): boolean {
    if (now - slice.startedAt <= this.#safeMs) return false
    slice.startedAt = now
    this.#deps.telemetry.safetyTriggered()
    return true
  }

  /** What is left of the poll interval for retries of this record (S0-151). */
  #budgetMs({ slice }: Work): number {
    const { binding, runtime } = this.#deps
    if (binding.failureProfile === 'BLOCKING_UNLIMITED') return Number.POSITIVE_INFINITY
    const now = runtime.clock.monotonic()
    this.#watchInterval(slice, now)
    return retryBudgetMs({
      configuredMs: Number.POSITIVE_INFINITY,
      maxPollIntervalMs: binding.maxPollIntervalMs,
      pollIntervalSafetyThreshold: binding.pollIntervalSafetyThreshold,
      elapsedMs: now - slice.startedAt,
    })
  }

  #decide(work: Work, result: RetryResult<void>, classifier: ExceptionClassifier): Outcome {
    const { telemetry } = this.#deps
    if (result.outcome === 'NOT_RETRYABLE' && result.error === duplicateFound) return this.skipRepeat(work)
    telemetry.attempts(work.tier, result.attempts)
    telemetry.duration(result.handlerMs)
    return result.outcome === 'SUCCEEDED' ? done : this.#failed(work, result, classifier)
  }

  #failed(work: Work, ended: RetryFailure & Pick<RetryCost, 'attempts'>, classifier: ExceptionClassifier): Outcome {
    const { binding, telemetry, runtime } = this.#deps
    if (ended.outcome !== 'CANCELLED') telemetry.failed(work.record.topic, exceptionClassOf(ended.error))
    const at = { tier: work.tier, attempt: work.trail.attempt }
    return this.#told(work, this.#inBatch(work, decideOutcome(ended, at, binding, classifier, runtime.clock.now())))
  }

  /** In a tier a record is alone, and its deliveries are counted there. */
  #inBatch(work: Work, outcome: Outcome): Outcome {
    const { binding } = this.#deps
    if (binding.listenerType === 'SINGLE' || work.kind !== 'SOURCE') return outcome
    return decideInBatch(outcome, ++work.failedInBatch, binding)
  }

  /** A record that failed is on a line of the log, with what becomes of it. */
  #told(work: Work, outcome: Outcome): Outcome {
    const line = failureLineOf(outcome)
    if (line !== undefined)
      withLogContext(
        () => logContextOf(this.#deps.context, work.record, work),
        () => this.#deps.runtime.logger[line.level](line.fields, line.text),
      )
    return outcome
  }
}

/** Asks a classifier once for each failed call: whether to repeat it and where its record goes are one decision. */
function askedOnce(classifier: ExceptionClassifier): { readonly decide: ExceptionClassifier; forget(): void } {
  let known: { readonly error: unknown; readonly decision: ExceptionRoutingDecision } | undefined
  return {
    decide: (error, tier) => {
      if (known === undefined || !Object.is(known.error, error)) known = { error, decision: classifier(error, tier) }
      return known.decision
    },
    forget: () => {
      known = undefined
    },
  }
}

/** What a call sends once it is over, or its time is, would be written by nobody: it is refused. */
function endingOutputs(outputs: Outputs | undefined, run: () => Promise<void> | void): Promise<void> | void {
  return outputs === undefined ? run() : endAfter(outputs, run)
}

async function endAfter(outputs: Outputs, run: () => Promise<void> | void): Promise<void> {
  try {
    await run()
  } finally {
    outputs.end()
  }
}

/** Without a promise where neither the handler nor a failpoint has one: making and awaiting it costs more than the call. */
function callAtFailpoints(failpoint: Runtime['failpoint'], run: () => Promise<void> | void): Promise<void> | void {
  const before = failpoint('handler.before')
  if (before !== undefined) return callAfter(before, failpoint, run)
  const running = run()
  return running === undefined ? failpoint('handler.after') : finish(running, failpoint)
}

async function callAfter(
  before: Promise<void>,
  failpoint: Runtime['failpoint'],
  run: () => Promise<void> | void,
): Promise<void> {
  await before
  await finish(run(), failpoint)
}

async function finish(running: Promise<void> | void, failpoint: Runtime['failpoint']): Promise<void> {
  await running
  const after = failpoint('handler.after')
  if (after !== undefined) await after
}
