/** Which destinations accept events now, and whether outboxes probe those that do not as they should (I23). */

import { UnavailableError } from '@waybill/core'
import type { Court } from '../world/court.ts'
import type { Program } from './program.ts'
import type { RareState } from './rare-states.ts'
import { destinationsOf, type RoadOutage } from './road-plan.ts'

/** The parts of the world that roads see. */
interface RoadGround {
  readonly program: Program
  readonly court: Court<RareState>
  readonly now: () => number
}

/** A call of a listener, as far as roads need it. */
interface Call {
  readonly node: { readonly name: string }
  readonly eventId: string
}

/** A failure at a destination, as one process saw it. */
interface Failure {
  /** Its place among all begins and ends of calls. */
  readonly order: number
  readonly at: number
}

/** The knowledge of one process. */
interface View {
  /** Destinations that it must treat as unavailable, with the failure or failed probe that says so. */
  readonly closed: Map<string, Failure>
  /** The last failure of each event. */
  readonly failed: Map<string, number>
  /** The last arrival at each destination: when it came, and the latest begin of a call that arrived. */
  readonly reached: Map<string, Reached>
  /** The last failure at each destination that left its event waiting. */
  readonly waited: Map<string, number>
  /** The last failure at each destination after which it may be treated as unavailable. */
  readonly doubted: Map<string, number>
}

interface Reached {
  readonly begun: number
  readonly order: number
}

/** The verdict about a failure. FOUND_OUT: it must spend an attempt. DOUBTFUL: it may. AWAY: it must not. */
type Verdict = 'FOUND_OUT' | 'DOUBTFUL' | 'AWAY'

/** The shortest pause between two probes, with jitter. */
const leastPauseMs = 90

/** See the file's comment. */
export class Roads {
  readonly #world: RoadGround
  readonly #away = new Map<string, number>()
  /** When the current outages end, by the monotonic clock. */
  readonly #ends = new Map<RoadOutage, number>()
  readonly #views = new Map<string, View>()
  readonly #begun = new Map<Call, number>()
  #order = 0

  constructor(world: RoadGround) {
    this.#world = world
  }

  /** Whether some destination is unavailable. */
  get isAway(): boolean {
    return this.#away.size > 0
  }

  /** When the next outage ends, by the monotonic clock; Infinity if there is none. */
  get nextEndAt(): number {
    return Math.min(...this.#ends.values())
  }

  begin(outage: RoadOutage): void {
    const { destination, forMs } = outage
    this.#ends.set(outage, this.#world.now() + forMs)
    this.#away.set(destination, (this.#away.get(destination) ?? 0) + 1)
    const { court } = this.#world
    court.note('roads', () => `${destination} is away for ${forMs} ms`)
    court.reach(destination === 'all' ? 'outage: no destination accepts events' : 'outage: of one destination')
    if (forMs >= 3_600_000) court.reach('outage: it lasts for an hour')
  }

  end(outage: RoadOutage): void {
    const { destination } = outage
    this.#ends.delete(outage)
    const left = (this.#away.get(destination) ?? 1) - 1
    if (left === 0) this.#away.delete(destination)
    else this.#away.set(destination, left)
    this.#world.court.note('roads', () => `${destination} is back`)
  }

  /** Returns the unavailable destination of an event. */
  blockerOf(eventId: string): string | undefined {
    return destinationsOf(eventId, this.#world.program.roads).find((name) => this.#away.has(name))
  }

  /** Returns the error of a call that cannot reach its destination; undefined if it can. */
  errorFor(eventId: string, calls: number, isHealed: boolean): UnavailableError | undefined {
    const destination = this.blockerOf(eventId)
    const isAlike = !isHealed && calls < (this.#world.program.roads.alike[eventId] ?? 0)
    return destination === undefined && !isAlike
      ? undefined
      : new UnavailableError('The broker does not answer.', { destination })
  }

  /** I23: an unavailable destination is probed by one event at a time, not before its time. */
  called(call: Call, running: readonly Call[]): void {
    const { court, program, now } = this.#world
    const order = ++this.#order
    this.#begun.set(call, order)
    if (program.mode === 'ordered') return
    for (const name of this.#namesOf(call)) {
      const closed = this.#viewOf(call).closed.get(name)
      if (closed === undefined) continue
      const probe = running.find(
        (other) =>
          other !== call && (this.#begun.get(other) ?? 0) > closed.order && this.#namesOf(other).includes(name),
      )
      if (probe !== undefined)
        court.violate('I23', `${call.node.name} probes ${name} with ${call.eventId} beside ${probe.eventId}`)
      else if (now() - closed.at < leastPauseMs)
        court.violate('I23', `${call.node.name} probes ${name} ${now() - closed.at} ms after the last failure`)
    }
  }

  arrived(call: Call): void {
    const view = this.#viewOf(call)
    const begun = this.#begun.get(call) ?? 0
    const order = ++this.#order
    for (const name of this.#namesOf(call)) {
      const latest = Math.max(begun, view.reached.get(name)?.begun ?? 0)
      view.reached.set(name, { begun: latest, order })
      if ((view.closed.get(name)?.order ?? 0) < begun) view.closed.delete(name)
      if ((view.doubted.get(name) ?? 0) < begun) view.doubted.delete(name)
    }
    view.failed.delete(call.eventId)
  }

  /** Judges a failure by the arrivals of other events since the last failure of this one. */
  failed(call: Call, { destination }: UnavailableError): Verdict {
    const view = this.#viewOf(call)
    const name = destination ?? this.#namesOf(call).at(-1) ?? ''
    const before = view.failed.get(call.eventId)
    const order = ++this.#order
    view.failed.set(call.eventId, order)
    const reached = view.reached.get(name)
    if (before !== undefined && reached !== undefined) {
      if (reached.begun > Math.max(before, view.waited.get(name) ?? 0)) return 'FOUND_OUT'
    }
    view.waited.set(name, order)
    if (before !== undefined && reached !== undefined && reached.order > before) {
      view.doubted.set(name, order)
      return 'DOUBTFUL'
    }
    const begun = this.#begun.get(call) ?? 0
    const since = view.closed.get(name)?.order ?? view.doubted.get(name) ?? 0
    // Calls that were in progress fail together: only a probe says something new.
    if (begun > since) view.closed.set(name, { order, at: this.#world.now() })
    return 'AWAY'
  }

  /** Forgets the calls of a process that is gone, or of a listener that was aborted. */
  forget(call: Call): void {
    this.#begun.delete(call)
  }

  #namesOf({ eventId }: Call): readonly string[] {
    return destinationsOf(eventId, this.#world.program.roads)
  }

  #viewOf({ node }: Call): View {
    let view = this.#views.get(node.name)
    if (view === undefined) {
      view = { closed: new Map(), failed: new Map(), reached: new Map(), waited: new Map(), doubted: new Map() }
      this.#views.set(node.name, view)
    }
    return view
  }
}
