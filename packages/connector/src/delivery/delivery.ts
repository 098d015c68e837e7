/**
 * Takes one record through decode ▸ deduplicate ▸ guard ▸ invoke ▸ decide. The result is an outcome; no offset moves here
 * and nothing is published.
 *
 * | stage | may end the delivery |
 * |---|---|
 * | decode | an operator sent it to the dead letter topic, or poison: DEAD_LETTER; another group is meant, the filter refuses it, or no handler for the event: SKIP. On a source, a replay for another group is verified first |
 * | deduplicate | it had its effect before: SKIP; with an inbox, the handler's transaction finds the mark |
 * | guard | paused, revoked or stopping: PAUSE; otherwise it decides how attempts pass the breaker |
 * | invoke | success: DONE; tier 0 retries what may pass, within the retry budget |
 * | decide | everything else, by decideOutcome |
 */

import { decide, decideAlike, decideDuplicate, decidePoison } from './decide.ts'
import { decode, foreignReady } from './decode.ts'
import { deduplicate } from './deduplicate.ts'
import type { DeliveryDeps, StageDeps } from './delivery-deps.ts'
import type { DeliveryScope } from './delivery-scope.ts'
import { DeliverySpans } from './delivery-spans.ts'
import { guard, isRefusing } from './guard.ts'
import { FirstAttempt, type HandlerFailure, invoke } from './invoke.ts'
import type { Outcome } from './outcome.ts'
import { PollInterval } from './poll-interval.ts'
import { prepareInTime } from './prepare-in-time.ts'
import type { Completion, Ready } from './stage-values.ts'
import { isUnverified, verifyReplay } from './verify-replay.ts'
import type { Slice, Work } from './work.ts'

/** A delivery that has begun: its outcome, or the call of its handler that is still running. */
export type Begun = Outcome | FirstAttempt | Promise<Outcome>

/** Delivers the records of a binding, on its source and its tiers alike. */
export class Delivery {
  readonly #deps: StageDeps
  /** Undefined without a tracer. */
  readonly #spans: DeliverySpans | undefined

  constructor(deps: DeliveryDeps) {
    this.#deps = { ...deps, pollInterval: new PollInterval(deps.binding, deps.telemetry) }
    this.#spans = DeliverySpans.of(deps)
  }

  /** Delivers one record: decode ▸ deduplicate ▸ {@link attempt}. Never fails because of the record or its handler. */
  deliver(work: Work, scope: DeliveryScope): Outcome | Promise<Outcome> {
    return this.#complete(work, this.begin(work, scope))
  }

  /**
   * Begins to deliver one record. A call that is still running is returned as such: its caller awaits the promise of the
   * handler, passes the result to {@link end}, and no record costs another promise.
   */
  begin(work: Work, scope: DeliveryScope): Begun {
    const decoded = decode(work, this.#deps)
    if (decoded === foreignReady && isUnverified(work)) return this.#deliverUnverified(work, scope)
    const ready = deduplicate(work, decoded, this.#deps)
    return ready instanceof Promise ? this.#whenReady(work, ready, scope) : this.#begin(work, ready, scope)
  }

  /** Completes a delivery whose handler has returned or failed. */
  end(work: Work, call: FirstAttempt, failure: HandlerFailure | undefined): Outcome | Promise<Outcome> {
    const { span } = work
    return span === undefined ? this.#end(work, call, failure) : span.run(() => this.#end(work, call, failure))
  }

  #end(work: Work, call: FirstAttempt, failure: HandlerFailure | undefined): Outcome | Promise<Outcome> {
    const completion = call.end(failure)
    return completion instanceof Promise ? this.#whenCompleted(work, completion) : this.#decide(work, completion)
  }

  /** Takes a prepared record, or the first of a prepared batch, through guard ▸ invoke ▸ decide. */
  attempt(work: Work, ready: Ready, scope: DeliveryScope): Outcome | Promise<Outcome> {
    return this.#complete(work, this.#begin(work, ready, scope))
  }

  #begin(work: Work, ready: Ready, scope: DeliveryScope): Begun {
    const span = this.#spans?.begin(work, ready)
    return span === undefined ? this.#invoke(work, ready, scope) : span.run(() => this.#invoke(work, ready, scope))
  }

  #invoke(work: Work, ready: Ready, scope: DeliveryScope): Begun {
    const passage = guard(work, ready, scope, this.#deps)
    const completion = invoke(work, ready, passage, scope, this.#deps)
    if (completion instanceof FirstAttempt) return completion
    return completion instanceof Promise ? this.#whenCompleted(work, completion) : this.#decide(work, completion)
  }

  #complete(work: Work, begun: Begun): Outcome | Promise<Outcome> {
    if (!(begun instanceof FirstAttempt)) return begun
    const { span } = work
    return this.#whenCompleted(work, span === undefined ? begun.completion() : span.run(() => begun.completion()))
  }

  async #whenCompleted(work: Work, completing: Promise<Completion>): Promise<Outcome> {
    return this.#decide(work, await completing)
  }

  #decide(work: Work, completion: Completion): Outcome {
    const outcome = decide(work, completion, this.#deps)
    return this.#spans === undefined ? outcome : this.#spans.end(work, outcome)
  }

  /** See {@link verifyReplay}. */
  verify(work: Work, scope: DeliveryScope): Promise<Outcome | 'FORGED'> {
    return verifyReplay(work, scope, this.#deps)
  }

  async #deliverUnverified(work: Work, scope: DeliveryScope): Promise<Outcome> {
    const outcome = await this.verify(work, scope)
    return outcome === 'FORGED' ? this.deliver(work, scope) : outcome
  }

  async #whenReady(work: Work, preparing: Promise<Ready>, scope: DeliveryScope): Promise<Outcome> {
    return this.attempt(work, await prepareInTime(work, preparing, scope, this.#deps), scope)
  }

  /** True while the circuit breaker refuses calls. */
  get isRefusing(): boolean {
    return isRefusing(this.#deps)
  }

  /** See {@link decideAlike}. */
  failAlike(work: Work, outcome: Outcome): Outcome {
    return decideAlike(work, outcome, this.#deps)
  }

  /** See {@link decideDuplicate}. */
  skipDuplicate(work: Work): Outcome {
    return decideDuplicate(work, this.#deps)
  }

  /** See {@link decidePoison}. */
  failPoison(work: Work, error: Error): Outcome {
    return decidePoison(work, error, this.#deps)
  }

  /** Returns true when the records of a slice have used their share of the poll interval, and starts another. */
  isOverdue(slice: Slice): boolean {
    return this.#deps.pollInterval.restartIfOver(slice, this.#deps.runtime.clock.monotonic())
  }
}
