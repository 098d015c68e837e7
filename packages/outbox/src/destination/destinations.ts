/**
 * Decides which events wait because their destination is unavailable, and which of them probes it (I23).
 *
 *   AVAILABLE ──a delivery fails with an UnavailableError──▶ UNAVAILABLE: its events wait, attempts are not spent
 *       ▲                                                        │ one probe at a time, with backoff
 *       └──────────────a probe is delivered──────────────────────┘
 *
 * An event has several destinations, from the widest to the narrowest, and waits while one of them is unavailable. An
 * event may only look as if its destination were unavailable. It is found out if another event was delivered to the
 * destination after its last failure, and nothing else failed there since: its failures then count like any other.
 *
 * Everything here is in memory and may be forgotten: events that wait are pending in the table. While nothing fails,
 * {@link isClear} is true and nothing is computed.
 */

import type { Clock, EventEnvelope } from '@waybill/core'
import { type BackoffPolicy, backoffMs, type Random } from '@waybill/core/internal'
import type { Unavailable } from './unavailable.ts'

/** A destination that does not accept events now, as health and errors report it. */
export interface UnavailableDestination {
  readonly destination: string
  /** Epoch ms. */
  readonly since: number
  /** The last failure. */
  readonly reason: string
  /** Failed probes so far. */
  readonly probes: number
  /** Epoch ms of the start of the current probe; null if none is in progress. */
  readonly probingSince: number | null
  /** The number of events known to wait, on this node. */
  readonly waiting: number
  /** Whether more events wait than were counted. */
  readonly more: boolean
}

export interface DestinationsDeps {
  /** Returns the destinations of an event, from the widest to the narrowest. Undefined: the event type. */
  readonly destinationsOf?: ((event: EventEnvelope) => readonly string[]) | undefined
  readonly clock: Pick<Clock, 'now' | 'monotonic'>
  readonly random: Random
  /** Whether events are tried in one order, so that the event that failed is the only one that can probe. */
  readonly isInSequence?: boolean | undefined
  /** Called when a destination became unavailable. */
  closed(destination: UnavailableDestination, count: number): void
  /** Called when a destination is available again. */
  opened(destination: UnavailableDestination, count: number): void
}

interface Closed {
  readonly name: string
  readonly since: number
  /** The number of the failure that closed it, or of the last failed probe. */
  failure: number
  reason: string
  probes: number
  nextProbeAt: number
  /** No event for the probe is searched before. One that comes by itself may probe. */
  searchAt: number
  /** Until then, the event that failed last leaves the probe to others. */
  preferUntil: number
  /** The event that probes. */
  probe: string | undefined
  probeSince: number
  lastFailed: string
  readonly waiting: Set<string>
  isMore: boolean
}

/** Numbers of failures, to compare what happened first at a destination. */
interface Watched {
  /** The number of failures when the latest delivery that reached it began. -1: none did. */
  reached: number
  /** The last failure that left its event waiting. */
  waited: number
}

/** Short enough that events flow within half a minute of the return. */
const probing: BackoffPolicy = { initialMs: 200, multiplier: 2, maxMs: 20_000, jitterExceedsMax: false }
/** How long a due probe waits for another event than the one that failed last. */
const preferMs = 1_000
/** The limit of waiting events remembered per destination, to count them and to explain their wait. */
const maxWaiting = 10_000
/** The limit of events remembered for having failed. One that is forgotten gets one more failure without an attempt. */
const maxFailed = 10_000
/** When failures are forgotten, if nothing is unavailable. */
const forgetMs = 600_000

export class Destinations {
  readonly #deps: DestinationsDeps
  readonly #closed = new Map<string, Closed>()
  readonly #watched = new Map<string, Watched>()
  /** The number of the last failure of each event, oldest first. */
  readonly #failed = new Map<string, number>()
  #failures = 0
  #lastFailureAt = Number.NEGATIVE_INFINITY
  /** Called when events that waited for a destination may be delivered. */
  whenOpened: (destination: string) => void = () => {}

  constructor(deps: DestinationsDeps) {
    this.#deps = deps
  }

  /** Whether nothing failed lately, so that deliveries need not be reported. */
  get isClear(): boolean {
    return this.#closed.size === 0 && this.#failed.size === 0
  }

  /** Whether no event has to wait. */
  get isOpen(): boolean {
    return this.#closed.size === 0
  }

  /** The number of failures so far. Taken when a delivery begins and passed to {@link reached}. */
  get failures(): number {
    return this.#failures
  }

  /** Returns the destination that an event has to wait for; undefined if it may start, or a probe is due. */
  blockerOf(event: EventEnvelope): string | undefined {
    if (this.#closed.size === 0) return undefined
    const now = this.#deps.clock.monotonic()
    return this.#closedOf(event).find((closed) => !this.#isDue(closed, event, now))?.name
  }

  /** Admits an event that is about to start, as a probe if need be. @returns the destination it has to wait for */
  admit(event: EventEnvelope): string | undefined {
    if (this.#closed.size === 0) return undefined
    const blocker = this.blockerOf(event)
    if (blocker !== undefined) return blocker
    for (const closed of this.#closedOf(event)) {
      closed.probe = event.eventId
      closed.probeSince = this.#deps.clock.monotonic()
    }
    return undefined
  }

  /** Records that an event waits. */
  waits(name: string, eventId: string): void {
    const closed = this.#closed.get(name)
    if (closed === undefined) return
    if (closed.waiting.size < maxWaiting) closed.waiting.add(eventId)
    else closed.isMore ||= !closed.waiting.has(eventId)
  }

  /**
   * Records that a delivery could not reach its destination.
   * @returns the destination the event waits for; undefined if the event itself is the reason, so that the failure counts
   */
  failed(event: EventEnvelope, { destination }: Unavailable, reason: string): string | undefined {
    const { eventId } = event
    const names = this.#namesOf(event)
    const name = destination !== undefined && names.includes(destination) ? destination : (names.at(-1) as string)
    const failure = ++this.#failures
    this.#lastFailureAt = this.#deps.clock.monotonic()
    const before = this.#failed.get(eventId)
    this.#remember(eventId, failure)
    for (const one of names) if (!this.#watched.has(one)) this.#watched.set(one, { reached: -1, waited: 0 })
    const watched = this.#watched.get(name) as Watched
    const isFoundOut = before !== undefined && watched.reached >= Math.max(before, watched.waited)
    if (isFoundOut) {
      this.ended(event)
      return undefined
    }
    watched.waited = failure
    this.#close(name, eventId, reason)
    this.ended(event)
    this.waits(name, eventId)
    return name
  }

  /** Records that a delivery succeeded. @param begun the {@link failures} when it began */
  reached(event: EventEnvelope, begun: number): void {
    this.#failed.delete(event.eventId)
    for (const name of this.#namesOf(event)) {
      const watched = this.#watched.get(name)
      if (watched !== undefined && begun > watched.reached) watched.reached = begun
      const closed = this.#closed.get(name)
      // A delivery that began before the failure says nothing about the time since.
      if (closed !== undefined && (begun >= closed.failure || closed.probe === event.eventId)) this.#open(closed)
    }
    if (this.#closed.size > 0) return
    if (this.#deps.clock.monotonic() - this.#lastFailureAt >= forgetMs) this.#failed.clear()
    if (this.#failed.size === 0) this.#watched.clear()
  }

  /** Records that a delivery ended without saying anything about its destination. Another event probes soon. */
  ended(event: EventEnvelope): void {
    for (const closed of this.#closed.values()) {
      if (closed.probe !== event.eventId) continue
      closed.probe = undefined
      this.#schedule(closed, 1)
    }
  }

  /** Defers the search for an event that can probe: there is none now, or it waits for another destination as well. */
  defer(name: string): void {
    const closed = this.#closed.get(name)
    if (closed !== undefined) closed.searchAt = this.#deps.clock.monotonic() + probing.initialMs
  }

  /** Returns the destinations without a probe in progress, each with the monotonic time to search an event for it. */
  *probes(): Generator<{ readonly name: string; readonly at: number; readonly lastFailed: string }> {
    for (const { name, probe, nextProbeAt, searchAt, lastFailed } of this.#closed.values())
      if (probe === undefined) yield { name, at: Math.max(nextProbeAt, searchAt), lastFailed }
  }

  /** Returns when the event may be tried again, by the monotonic clock. During a probe: in a moment. */
  nextTryAt(event: EventEnvelope): number {
    const soon = this.#deps.clock.monotonic() + probing.initialMs
    const tries = this.#closedOf(event).map(({ probe, nextProbeAt }) => (probe === undefined ? nextProbeAt : soon))
    return Math.max(0, ...tries)
  }

  isUnavailable(name: string): boolean {
    return this.#closed.has(name)
  }

  unavailable(): readonly UnavailableDestination[] {
    return Array.from(this.#closed.values(), (closed) => this.#describe(closed))
  }

  /** Returns the destination that the event waits for, as far as this node knows. */
  waitOf(eventId: string): UnavailableDestination | undefined {
    for (const closed of this.#closed.values()) if (closed.waiting.has(eventId)) return this.#describe(closed)
    return undefined
  }

  #close(name: string, eventId: string, reason: string): void {
    const now = this.#deps.clock.monotonic()
    const failure = this.#failures
    const closed = this.#closed.get(name)
    if (closed === undefined) {
      const state = {
        probes: 0,
        nextProbeAt: 0,
        searchAt: 0,
        preferUntil: 0,
        probe: undefined,
        probeSince: 0,
        isMore: false,
      }
      const first: Closed = { name, since: now, failure, reason, lastFailed: eventId, waiting: new Set(), ...state }
      this.#schedule(first, 1)
      this.#closed.set(name, first)
      this.#deps.closed(this.#describe(first), this.#closed.size)
      return
    }
    closed.reason = reason
    closed.lastFailed = eventId
    // Deliveries that were in progress fail together. Only a probe says that it lasts.
    if (closed.probe !== eventId) return
    closed.probe = undefined
    closed.failure = failure
    closed.probes++
    this.#schedule(closed, closed.probes + 1)
  }

  #schedule(closed: Closed, failures: number): void {
    const { clock, random } = this.#deps
    closed.nextProbeAt = clock.monotonic() + backoffMs(probing, failures, random)
    closed.preferUntil = closed.nextProbeAt + preferMs
  }

  #open(closed: Closed): void {
    this.#closed.delete(closed.name)
    this.#deps.opened(this.#describe(closed), this.#closed.size)
    this.whenOpened(closed.name)
  }

  #remember(eventId: string, failure: number): void {
    this.#failed.delete(eventId)
    this.#failed.set(eventId, failure)
    if (this.#failed.size <= maxFailed) return
    for (const oldest of this.#failed.keys()) {
      this.#failed.delete(oldest)
      return
    }
  }

  #closedOf(event: EventEnvelope): readonly Closed[] {
    const closed: Closed[] = []
    for (const name of this.#namesOf(event)) {
      const one = this.#closed.get(name)
      if (one !== undefined) closed.push(one)
    }
    return closed
  }

  /** Whether an event may probe now. One that keeps failing must not keep others from probing, where they can. */
  #isDue(closed: Closed, { eventId }: EventEnvelope, now: number): boolean {
    const { probe, nextProbeAt, preferUntil, lastFailed, waiting } = closed
    if (probe !== undefined || now < nextProbeAt) return false
    const hasOthers = this.#deps.isInSequence !== true && waiting.size > (waiting.has(eventId) ? 1 : 0)
    return eventId !== lastFailed || !hasOthers || now >= preferUntil
  }

  #namesOf(event: EventEnvelope): readonly string[] {
    try {
      const names = this.#deps.destinationsOf?.(event)
      if (names !== undefined && names.length > 0) return names
    } catch {
      // An application's mistake must not stop the delivery.
    }
    return [event.eventType]
  }

  #describe({ name, since, reason, probes, probe, probeSince, waiting, isMore }: Closed): UnavailableDestination {
    const { clock } = this.#deps
    const epochOf = (monotonic: number): number => Math.round(clock.now() - (clock.monotonic() - monotonic))
    return {
      destination: name,
      since: epochOf(since),
      reason,
      probes,
      probingSince: probe === undefined ? null : epochOf(probeSince),
      waiting: waiting.size,
      more: isMore,
    }
  }
}
