/**
 * Evidence about every source record: the handlers that succeeded with it, and the records derived from it. All of it
 * comes from the logs and the journal of handler calls.
 */

import { type BindingPlan, isFiltered } from './binding-plan.ts'
import type { Ground } from './ground.ts'
import { type Place, placesOf } from './places.ts'
import type { RecordPlan } from './record-plan.ts'
import { isSource } from './source-topic.ts'
import { headerNumber, headerText, type LogRecord } from './topic-log.ts'

/** A record of the source, in its log. */
export interface Original {
  readonly plan: RecordPlan
  readonly record: LogRecord
  /** By group. */
  readonly fates: ReadonlyMap<string, Fate>
  /** Its topic was deleted, or its log was cut before it. */
  isGone: boolean
}

/** The outcome of an original in one group. It only grows. */
export interface Fate {
  /** Successful handler calls, by the place of the copy they received. */
  readonly successes: Map<string, number>
  /** Calls that started, and those that failed. */
  calls: number
  failures: number
  /** Calls that the engine timed out. */
  timeOuts: number
  /** Owners by delivered copy. */
  readonly deliveries: Map<string, string>
  /** True when a copy was delivered to two owners. */
  isRedelivered: boolean
  /** Retry records, in the order in which they were seen. */
  readonly hops: Derived[]
  readonly deadLetters: Derived[]
  /** Replays and releases that an operator wrote, by their counts. */
  readonly replays: number[]
  readonly releases: number[]
  /** Where the last release lies in its waiting topic. */
  releasedAt: bigint
  /** An operator has moved a position over it, or back before it. */
  isPassedOver: boolean
  isRepeated: boolean
}

/** A record derived from an original. */
export interface Derived {
  readonly place: Place
  readonly record: LogRecord
  /** HELD, MARKER, REPLAY, RELEASE on a waiting topic; undefined elsewhere. */
  readonly waitingKind: string | undefined
  readonly tier: number
  readonly attempt: number
  readonly totalAttempts: number
  readonly replayCount: number
  /** Monotonic time at which it was found in its log. */
  readonly foundAt: number
}

/** Returns the name of a copy's place, as used by all checkers. */
export function placeName({ topic, partition, offset }: Pick<LogRecord, 'topic' | 'partition' | 'offset'>): string {
  return `${topic}-${partition}@${offset}`
}

/** See the file's comment. */
export class Evidence {
  readonly originals = new Map<string, Original>()
  readonly #ground: Ground
  readonly #found: (derived: Derived) => void
  readonly #byPlace = new Map<string, Original>()
  /** Originals of a deleted topic: a recreated one has other records in the same places. */
  readonly #gone: Original[] = []
  /** By topic. */
  readonly #places = new Map<string, Place[]>()
  /** By the place of the copy. */
  readonly #derived = new Map<string, Derived>()
  readonly #fresh: Derived[] = []

  /** @param found - called for each derived record, once all logs are read */
  constructor(ground: Ground, found: (derived: Derived) => void) {
    this.#ground = ground
    this.#found = found
    for (const binding of ground.program.bindings)
      for (const place of placesOf(binding))
        this.#places.set(place.topic, [...(this.#places.get(place.topic) ?? []), place])
  }

  /** Reads all logs up to now. */
  update(): void {
    const changed = this.#ground.takeChangedLogs()
    if (changed.length === 0) return
    // Sources come first, even those discovered later than their derived topics.
    for (const log of changed) if (isSource(log.topic)) for (const one of log.readOn()) this.#takeOriginal(one)
    for (const log of changed) if (!isSource(log.topic)) for (const one of log.readOn()) this.#takeDerived(one)
    for (const derived of this.#fresh.splice(0)) this.#found(derived)
  }

  /** Returns the copy at a place. */
  derivedAt(place: string): Derived | undefined {
    return this.#derived.get(place)
  }

  /** Returns the original of a source record. */
  originalIn({ place }: LogRecord): Original | undefined {
    return this.#byPlace.get(place)
  }

  fate(id: string, { groupId }: Pick<BindingPlan, 'groupId'>): Fate {
    return this.originals.get(id)?.fates.get(groupId) as Fate
  }

  /** Records that the source is deleted with all its records. */
  sourceDeleted(): void {
    this.update()
    for (const original of this.#byPlace.values()) {
      original.isGone = true
      this.#gone.push(original)
    }
    this.#byPlace.clear()
  }

  /** Records that a log of the source was cut, with the records past its new end. */
  sourceCut(topic: string, partition: number, end: bigint): void {
    for (const [place, original] of this.#byPlace) {
      const { record } = original
      if (record.topic !== topic || record.partition !== partition || record.offset < end) continue
      original.isGone = true
      this.#gone.push(original)
      this.#byPlace.delete(place)
    }
  }

  /** Iterates over all originals ever written. */
  *everything(): Iterable<Original> {
    yield* this.#gone
    yield* this.#byPlace.values()
  }

  /** Returns the original that a derived record names. */
  originalOf(record: LogRecord): Original | undefined {
    const partition = headerText(record, 'x-eventbus-original-partition')
    const offset = headerText(record, 'x-eventbus-original-offset')
    const place = `${headerText(record, 'x-eventbus-original-topic')}-${partition}@${offset}`
    if (this.#gone.length === 0) return this.#byPlace.get(place)
    const writtenAt = headerNumber(record, 'x-eventbus-original-timestamp')
    const isIt = (one: Original | undefined): boolean =>
      one?.record.place === place && one.record.timestamp === writtenAt
    return isIt(this.#byPlace.get(place)) ? this.#byPlace.get(place) : this.#gone.find(isIt)
  }

  #takeOriginal(record: LogRecord): void {
    const id = headerText(record, 'id') as string
    const plan = this.#ground.program.records[Number(id.slice(1))] as RecordPlan
    const fates = new Map(this.#ground.program.bindings.map(({ groupId }) => [groupId, newFate()]))
    const original = { plan, record, fates, isGone: false }
    this.originals.set(id, original)
    this.#byPlace.set(record.place, original)
  }

  #takeDerived(record: LogRecord): void {
    const { court } = this.#ground
    const places = this.#places.get(record.topic) as Place[]
    const waitingKind = headerText(record, 'x-eventbus-waiting-kind')
    if (places[0]?.kind === 'WAITING' && waitingKind === 'FENCE') return
    const groupId = headerText(record, 'x-eventbus-consumer-group')
    const place = places.find(({ binding }) => binding.groupId === groupId)
    const fate = this.originalOf(record)?.fates.get(groupId ?? '')
    if (place === undefined || fate === undefined)
      return court.violate('I10', `${record.place} names no existing original and group`)
    const derived: Derived = {
      place,
      record,
      waitingKind,
      tier: headerNumber(record, 'x-eventbus-retry-tier'),
      attempt: headerNumber(record, 'x-eventbus-retry-attempt'),
      totalAttempts: headerNumber(record, 'x-eventbus-total-attempts'),
      replayCount: headerNumber(record, 'x-eventbus-replay-count'),
      foundAt: this.#ground.runtime.clock.monotonic(),
    }
    this.#derived.set(record.place, derived)
    this.#fresh.push(derived)
    this.#file(derived, fate)
  }

  #file(derived: Derived, fate: Fate): void {
    if (derived.place.kind === 'DLT') fate.deadLetters.push(derived)
    else if (derived.waitingKind === 'REPLAY') fate.replays.push(derived.replayCount)
    else if (derived.waitingKind === 'RELEASE') {
      fate.releases.push(derived.replayCount)
      fate.releasedAt = derived.record.offset
    } else fate.hops.push(derived)
  }
}

/** Returns true when the binding may have skipped a record by its own rules. */
export function maySkip(binding: BindingPlan, { plan }: Original, { failures }: Fate): boolean {
  const { options } = binding
  if (plan.content === 'UNHANDLED' || isFiltered(binding, plan)) return true
  if (options.failureProfile !== 'BEST_EFFORT_SKIP') return false
  const { enabled, automaticPauseOnOpen } = options.circuitBreaker ?? {}
  // An open circuit without a pause counts as a failure, without a handler call.
  return failures > 0 || (enabled === true && automaticPauseOnOpen === false)
}

function newFate(): Fate {
  return {
    successes: new Map(),
    calls: 0,
    failures: 0,
    timeOuts: 0,
    deliveries: new Map(),
    isRedelivered: false,
    hops: [],
    deadLetters: [],
    replays: [],
    releases: [],
    releasedAt: -1n,
    isPassedOver: false,
    isRepeated: false,
  }
}
