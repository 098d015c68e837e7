/**
 * Checks every retry record, dead letter and waiting record once it is in its log.
 *
 * I10: key, value, headers and coordinates are those of the original. I11: it follows from its predecessor, tier by
 * tier, and the calls it reports were made.
 */

import { Buffer } from 'node:buffer'
import { type Behaviour, type BindingPlan, type PlannedOptions, skippingError } from './binding-plan.ts'
import type { Derived, Evidence, Fate, Original } from './evidence.ts'
import type { Ground } from './ground.ts'
import type { MarkChecker } from './mark-checker.ts'
import type { RecordPlan } from './record-plan.ts'
import { headerNumber, headerText, type LogRecord } from './topic-log.ts'

const enginePrefix = 'x-eventbus-'

/** Dependencies of the checker. */
type Known = Ground & { readonly evidence: Evidence; readonly marks: Pick<MarkChecker, 'attemptsWithoutCall'> }

/** See the file's comment. */
export class DerivedChecker {
  readonly #world: Known

  constructor(world: Known) {
    this.#world = world
  }

  check(derived: Derived): void {
    const { evidence, marks } = this.#world
    const original = evidence.originalOf(derived.record) as Original
    this.#checkHeaders(derived, original)
    if (derived.waitingKind === 'REPLAY' || derived.waitingKind === 'RELEASE') return
    if (derived.waitingKind !== 'MARKER') this.#checkContent(derived, original)
    const { binding } = derived.place
    const fate = evidence.fate(original.plan.id, binding)
    if (derived.place.kind === 'DLT') this.#checkDeath(derived, original, fate)
    else if (derived.waitingKind !== 'MARKER') this.#checkHop(derived, original, fate)
    const mostCalls = fate.calls + marks.attemptsWithoutCall(binding, original)
    if (derived.replayCount === 0 && derived.totalAttempts > mostCalls)
      this.#violate('C-03', derived, `it reports ${derived.totalAttempts} calls, and ${fate.calls} were made`)
    this.#note(derived, fate)
  }

  #violate(invariant: string, { record }: Derived, what: string): void {
    const { court } = this.#world
    court.note('court', () => record.headers.map(([name, value]) => `${name}=${value?.toString() ?? null}`).join(' '))
    court.violate(invariant, `${record.place}: ${what}`)
  }

  #checkHeaders(derived: Derived, { record, plan }: Original): void {
    const names = derived.record.headers.map(([name]) => name).filter((name) => name.startsWith(enginePrefix))
    if (new Set(names).size < names.length) this.#violate('I10', derived, `a header is there twice: ${names.join(' ')}`)
    const key = partsBehind(derived.record).has('key') ? null : record.key
    if (!sameBytes(derived.record.key, key)) this.#violate('I10', derived, `it does not have the key of ${plan.id}`)
    if (headerNumber(derived.record, 'x-eventbus-original-timestamp') !== record.timestamp)
      this.#violate('I10', derived, `it does not have the timestamp of ${plan.id}`)
  }

  #checkContent(derived: Derived, { record, plan }: Original): void {
    const { value, headers } = contentOf(derived.record)
    const behind = partsBehind(derived.record)
    if (behind.size > 0) this.#checkParked(derived)
    const wantedValue = behind.has('value') ? null : record.value
    if (!sameBytes(value, wantedValue)) this.#violate('I10', derived, `it does not have the value of ${plan.id}`)
    const wanted = behind.has('headers') ? [] : record.headers.filter(([name]) => !name.startsWith(enginePrefix))
    const isSame =
      headers.length === wanted.length &&
      headers.every(([name, bytes], at) => name === wanted[at]?.[0] && sameBytes(bytes, wanted[at][1]))
    if (!isSame) this.#violate('I10', derived, `it does not have the headers of ${plan.id}`)
  }

  /** Checks that only a dead letter omits parts, and only where its topic limits the size. */
  #checkParked(derived: Derived): void {
    const { court, program } = this.#world
    court.reach('dead letter: too large for its topic, and parked by reference')
    if (derived.place.kind !== 'DLT' || program.deadLetterBytes > 10_000)
      this.#violate('I10', derived, 'it omits a part, though its topic accepts the whole record')
  }

  /**
   * Checks the step from its predecessor: the next attempt of its tier, or the next tier after the last attempt of its
   * own.
   */
  #checkHop(derived: Derived, original: Original, fate: Fate): void {
    const { tier, attempt, place } = derived
    const { binding } = place
    const tiers = binding.options.retry?.tiers ?? []
    const most = tiers[tier - 1]?.maxAttempts ?? 1
    if (place.kind === 'TIER' && tier !== place.tier) this.#violate('C-03', derived, `it is for tier ${tier}`)
    if (tier > tiers.length || attempt < 1 || attempt > most)
      return this.#violate('C-03', derived, `there is no attempt ${attempt} of tier ${tier}`)
    if (tier > 0 && tier < this.#skipTarget(binding, original))
      this.#violate('C-03', derived, `it skips to tier ${this.#skipTarget(binding, original)}`)
    const before = this.#beforeHop(derived, original, fate, tiers)
    if (before.length === 0)
      return this.#violate('C-03', derived, `nothing comes before attempt ${attempt} of tier ${tier}`)
    if (!before.some((one) => this.#isCounted(derived, original, one)))
      this.#violate('C-03', derived, `it reports ${derived.totalAttempts} calls after ${JSON.stringify(before)}`)
  }

  /** Returns the calls that possible predecessors report, and whether that was another delivery. */
  #beforeHop(
    derived: Derived,
    { plan }: Original,
    { hops }: Fate,
    tiers: readonly { readonly maxAttempts?: number }[],
  ): { readonly calls: number; readonly isDelivery: boolean }[] {
    const { tier, attempt, replayCount, place } = derived
    const others = hops.filter(
      (one) => one !== derived && one.replayCount === replayCount && one.waitingKind !== 'MARKER',
    )
    const at = (tierBefore: number, attemptBefore: number): Derived[] =>
      others.filter((one) => one.tier === tierBefore && one.attempt === attemptBefore)
    const same =
      place.kind === 'WAITING' ? at(tier, attempt).map((one) => ({ calls: one.totalAttempts, isDelivery: false })) : []
    const mayJump = attempt === 1 && (isRefusedTo(place.binding, tier) || isSkippedTo(place.binding, plan, tier))
    const fromSource = (tier <= 1 && attempt === 1) || mayJump ? [{ calls: 0, isDelivery: tier > 0 }] : []
    const from = mayJump
      ? others.filter((one) => one.tier < tier)
      : attempt > 1
        ? at(tier, attempt - 1)
        : at(tier - 1, tiers[tier - 2]?.maxAttempts ?? 1)
    return [...same, ...fromSource, ...from.map((one) => ({ calls: one.totalAttempts, isDelivery: true }))]
  }

  /** Returns the tier that a record must skip to, provided that only its own handler can have failed. */
  #skipTarget({ options, behaviours, down, deduplicate }: BindingPlan, { plan }: Original): number {
    const isSure =
      down === undefined &&
      deduplicate === undefined &&
      options.handlerTimeoutMs === false &&
      options.circuitBreaker?.enabled !== true &&
      !hasBudget(options) &&
      this.#world.obstruction.plan === undefined
    return isSure && throwsSkip(behaviours[indexOf(plan)]) ? skipTargetOf(options) : 0
  }

  #isFatal({ behaviours }: BindingPlan, { plan, record }: Original): boolean {
    return behaviours[indexOf(plan)]?.kind === 'FATAL' || this.#world.obstruction.kills(record)
  }

  #isCounted(
    { totalAttempts, place }: Derived,
    original: Original,
    before: { readonly calls: number; readonly isDelivery: boolean },
  ): boolean {
    const made = totalAttempts - before.calls
    // A copy that is written again may have been delivered, and held by an open circuit.
    if (!before.isDelivery) return made === 0 || (made > 0 && staysInMemory(place.binding.options))
    return this.#isPossible(place.binding, original, made)
  }

  /** Returns true when a failed delivery can have made that many calls. */
  #isPossible(binding: BindingPlan, original: Original, calls: number): boolean {
    const { options, down, groupId, deduplicate } = binding
    if (original.plan.content === 'POISON') return calls === 0
    const { maxAttempts = 3 } = options.retry?.tier0 ?? {}
    const isFatal = this.#isFatal(binding, original)
    const timeOuts = original.fates.get(groupId)?.timeOuts ?? 0
    // It fails differently while a dependency is down, an obstruction hinders it, or its process is frozen.
    const isOther = isFatal && (down !== undefined || this.#world.obstruction.plan !== undefined || timeOuts > 0)
    const redeliveries = redeliveriesOf(options)
    // A failing store can end any attempt.
    const isHandlers = !isOther && deduplicate === undefined
    const isExact = options.circuitBreaker?.enabled !== true && !hasBudget(options) && isHandlers && redeliveries === 1
    // A record that stays in memory is delivered again, and reports the calls of all its deliveries.
    const most = staysInMemory(options) ? Number.POSITIVE_INFINITY : maxAttempts * redeliveries
    if (!isExact) return calls >= 0 && calls <= most
    return calls === (isFatal ? 1 : maxAttempts)
  }

  #checkDeath(derived: Derived, original: Original, fate: Fate): void {
    const { place, replayCount, totalAttempts, record } = derived
    const { plan } = original
    const { options } = place.binding
    const tiers = options.retry?.tiers ?? []
    const reason = headerText(record, 'x-eventbus-dlt-reason')
    if (reason === 'NON_RETRYABLE' && !this.#isFatal(place.binding, original) && plan.content !== 'POISON')
      this.#violate('C-03', derived, `${plan.id} could have been retried`)
    const last = fate.hops.filter(
      (one) =>
        one.replayCount === replayCount &&
        one.tier === tiers.length &&
        one.attempt === (tiers.at(-1)?.maxAttempts ?? 1),
    )
    if (reason === 'RETRIES_EXHAUSTED' && tiers.length > 0 && last.length === 0) {
      const isOutOfTime = hasBudget(options) && options.budgetExceededRouting === 'DLT'
      if (!isOutOfTime && options.batchFailureStrategy !== 'DLQ_AND_CONTINUE')
        this.#violate('C-03', derived, `${plan.id} has not been through all tiers`)
      this.#world.court.reach('retry: no time is left for it')
    }
    if (
      options.failureProfile === 'BEST_EFFORT_SKIP' ||
      options.failureProfile === 'BLOCKING_UNLIMITED' ||
      options.strictExhaustion === 'PAUSE_PARTITION'
    )
      if (reason !== 'NON_RETRYABLE') this.#violate('D10', derived, `${plan.id} must not be given up`)
    const before = [0, ...fate.hops.filter((one) => one.replayCount === replayCount).map((one) => one.totalAttempts)]
    if (!before.some((calls) => this.#isPossible(place.binding, original, totalAttempts - calls)))
      this.#violate('C-03', derived, `it reports ${totalAttempts} calls after ${before.join(', ')}`)
  }

  #note(derived: Derived, { hops, deadLetters }: Fate): void {
    const { court } = this.#world
    const { place, tier, attempt, replayCount, waitingKind } = derived
    const isTwin = (one: Derived): boolean =>
      one !== derived && one.tier === tier && one.attempt === attempt && one.replayCount === replayCount
    if (place.kind === 'TIER' && hops.some(isTwin)) court.reach('publish: a retry record is there twice')
    if (place.kind === 'DLT' && deadLetters.some((one) => one !== derived && one.replayCount === replayCount))
      court.reach('publish: a dead letter is there twice')
    if (
      place.kind === 'TIER' &&
      tier > 1 &&
      attempt === 1 &&
      hops.every((one) => one === derived || one.tier !== tier - 1)
    )
      court.reach('tier: a record skips to it')
    if (place.kind === 'DLT' && hops.length > 1) court.reach('dead letter: after all tiers')
    if (waitingKind === 'MARKER') court.reach('waiting: a marker blocks its key')
    if (waitingKind === 'HELD' && tier === 0) court.reach('waiting: a record joins the chain of its key')
    const isAgain = (one: Derived): boolean =>
      isTwin(one) && one.waitingKind === waitingKind && one.record.producerEpoch === derived.record.producerEpoch
    if (place.kind === 'WAITING' && hops.some(isAgain))
      court.reach('waiting: the lowest copy is written again to keep the span')
    if (waitingKind === 'HELD' && hops.length > 1) court.reach('waiting: a copy is replaced by its next attempt')
  }
}

/**
 * Returns true for the tier that an open circuit without a pause sends records to: the second, or the last if there is
 * none.
 */
function isRefusedTo({ options }: BindingPlan, tier: number): boolean {
  const { enabled, automaticPauseOnOpen } = options.circuitBreaker ?? {}
  const target = Math.min(2, options.retry?.tiers?.length ?? 0)
  return enabled === true && automaticPauseOnOpen === false && tier === target
}

/** Returns true when the handler's error makes the record skip to that tier. */
function isSkippedTo({ options, behaviours }: BindingPlan, plan: RecordPlan, tier: number): boolean {
  return tier > 0 && tier === skipTargetOf(options) && throwsSkip(behaviours[indexOf(plan)])
}

function throwsSkip(behaviour: Behaviour | undefined): boolean {
  return (behaviour?.kind === 'FAIL' || behaviour?.kind === 'ALWAYS') && behaviour.throws === 'SKIP'
}

/** 0: nothing is skipped. */
function skipTargetOf({ retry }: PlannedOptions): number {
  const mapping = retry?.skipToTierMapping as Readonly<Record<string, number>> | undefined
  return mapping?.[skippingError] ?? 0
}

/** Returns true when a failed record may be delivered again without leaving memory. */
function staysInMemory({ failureProfile, strictExhaustion, circuitBreaker }: PlannedOptions): boolean {
  const isHeldByBreaker = circuitBreaker?.enabled === true && circuitBreaker.automaticPauseOnOpen === true
  return failureProfile === 'BLOCKING_UNLIMITED' || strictExhaustion === 'PAUSE_PARTITION' || isHeldByBreaker
}

/** Returns how often a record of a failing batch is delivered before it moves on. */
function redeliveriesOf({ listenerType, batchFailureStrategy, batchMaxRedeliveries = 3 }: PlannedOptions): number {
  return listenerType === 'BATCH' && batchFailureStrategy === 'SEEK_TO_FAILED' ? batchMaxRedeliveries : 1
}

/** Returns true when the poll interval may leave no time for retries. */
function hasBudget({ maxPollIntervalMs = 0 }: PlannedOptions): boolean {
  return maxPollIntervalMs < 600_000
}

function indexOf({ id }: RecordPlan): number {
  return Number(id.slice(1))
}

/** Returns the parts of the record that its dead letter omits. */
function partsBehind(record: LogRecord): ReadonlySet<string> {
  return new Set(headerText(record, 'x-eventbus-dlt-parked')?.split(',') ?? [])
}

function sameBytes(one: Buffer | null | undefined, other: Buffer | null | undefined): boolean {
  if (one === null || other === null || one === undefined || other === undefined) return one === other
  return one.equals(other)
}

interface Envelope {
  readonly original_record: {
    readonly value: string | null
    readonly headers: readonly { readonly name: string; readonly value: string | null }[]
  }
}

/** Returns the original's value and headers from either format. */
function contentOf(record: LogRecord): Pick<LogRecord, 'value' | 'headers'> {
  const outside = record.headers.filter(([name]) => !name.startsWith(enginePrefix))
  if (headerText(record, 'x-eventbus-dlt-format') !== 'ENVELOPE') return { value: record.value, headers: outside }
  const { value, headers } = (JSON.parse(record.value?.toString() ?? 'null') as Envelope).original_record
  return { value: bytesOf(value), headers: headers.map((header) => [header.name, bytesOf(header.value)] as const) }
}

function bytesOf(base64: string | null): Buffer | null {
  return base64 === null ? null : Buffer.from(base64, 'base64')
}
