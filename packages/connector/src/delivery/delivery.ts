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
import { invoke } from './invoke.ts'
import type { Outcome } from './outcome.ts'
import { PollInterval } from './poll-interval.ts'
import { prepareInTime } from './prepare-in-time.ts'
import type { Ready } from './stage-values.ts'
import { isUnverified, verifyReplay } from './verify-replay.ts'
import type { Slice, Work } from './work.ts'

/** Delivers the records of a binding, on its source and its tiers alike. */
export class Delivery {
  readonly #deps: StageDeps
  /** Undefined without a tracer. */
  readonly #spans: DeliverySpans | undefined

  constructor(deps: DeliveryDeps) {
    this.#deps = { ...deps, pollInterval: new PollInterval(deps.binding, deps.telemetry) }
    this.#spans = DeliverySpans.of(deps)
  }

  /** Delivers one record: decode ▸ deduplicate ▸ {@link attempt}. Never rejects because of the record or its handler. */
  deliver(work: Work, scope: DeliveryScope): Promise<Outcome> {
    const decoded = decode(work, this.#deps)
    if (decoded === foreignReady && isUnverified(work)) return this.#deliverUnverified(work, scope)
    const ready = deduplicate(work, decoded, this.#deps)
    return ready instanceof Promise ? this.#whenReady(work, ready, scope) : this.attempt(work, ready, scope)
  }

  /**
   * Takes a prepared record, or the first of a prepared batch, through guard ▸ invoke ▸ decide. Awaits only what is a
   * promise: a record with a synchronous handler costs one promise, of this function.
   */
  attempt(work: Work, ready: Ready, scope: DeliveryScope): Promise<Outcome> {
    const span = this.#spans?.begin(work, ready)
    return span === undefined ? this.#attempt(work, ready, scope) : span.run(() => this.#attempt(work, ready, scope))
  }

  async #attempt(work: Work, ready: Ready, scope: DeliveryScope): Promise<Outcome> {
    const passage = guard(work, ready, scope, this.#deps)
    const completion = invoke(work, ready, passage, scope, this.#deps)
    const outcome = decide(work, completion instanceof Promise ? await completion : completion, this.#deps)
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
