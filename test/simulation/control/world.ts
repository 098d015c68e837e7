/** The world of a seed: the cluster, the log of the fleet, and the checks on what its instances do. */

import type { FleetControl } from '@waybill/connector'
import type { VirtualRuntime } from '@waybill/sim'
import { ClusterWorld, type Station } from '../world/cluster-world.ts'
import type { Trace } from '../world/run-world.ts'
import { ControlLog, logTopic } from './control-log.ts'
import type { Program } from './program.ts'
import type { RareState } from './rare-states.ts'

/** An instance, as its world sees it. */
export interface Member {
  readonly name: string
  readonly station: Station
  readonly control: FleetControl
  /** Commands that it applied: the binding, and the number of the plan. */
  readonly applied: string[]
  /** Those of them that it followed. */
  readonly followed: ReadonlySet<string>
  readonly isAlive: boolean
  readonly isAway: boolean
  /** Whether a command is under way in it. */
  readonly isApplying: boolean
  stateOf(binding: string): string
  /** Returns whether it is a member of the binding's group. */
  isMember(binding: string): boolean
  stop(): Promise<void>
}

/** See the file's comment. */
export class World extends ClusterWorld<Program, RareState> {
  readonly log: ControlLog
  readonly instances: Member[] = []
  readonly #asked = new Map<string, Map<Member, string | undefined>>()
  /** False once all faults are over. */
  isStormy = true

  constructor(runtime: VirtualRuntime, program: Program, trace: Trace | undefined) {
    super(runtime, program, trace)
    this.log = new ControlLog(this.cluster, () => runtime.clock.monotonic())
  }

  get alive(): readonly Member[] {
    return this.instances.filter(({ isAlive }) => isAlive)
  }

  hasMember(binding: string): boolean {
    return this.alive.some((one) => one.isMember(binding))
  }

  /** Observes that a command is applied: once by a process, and in the order of the log. */
  appliedBy({ name, applied, station }: Member, reason: string): void {
    const latest = applied.at(-1)
    if (applied.filter((one) => one === latest).length > 1)
      this.court.violate('D23', `${station.process.name} applied ${latest} twice`)
    const twins = this.alive.filter((one) => one.name === name && one.applied.includes(latest ?? ''))
    if (twins.length > 1) this.court.reach('twin: both apply a command')
    this.court.note(station.process.name, () => `applies ${latest}`)
    const own = this.log.commands.filter(({ type }) => type !== 'AWAY' && type !== 'BACK')
    const places = new Map(own.map((one, at) => [`${one.binding} ${one.reason}`, at]))
    const [binding = ''] = (latest ?? '').split(' ')
    const order = applied.filter((one) => one.startsWith(`${binding} `)).map((one) => places.get(one) ?? -1)
    if (order.some((place, at) => at > 0 && place < (order[at - 1] ?? 0)))
      this.court.violate('D23', `${station.process.name} applied ${reason} of ${binding} out of order: ${order.join()}`)
  }

  /** Observes the state with which an instance starts a binding. */
  startsWith({ station }: Member, binding: string, desired: string | undefined, since: bigint): void {
    const possible = this.log.possible(binding, since)
    if (desired === 'PAUSED' || desired === 'STOPPED') this.court.reach('start: it obeys a pause or a stop')
    if (!possible.has(desired))
      this.court.violate(
        'D23',
        `${station.process.name} starts ${binding} as ${desired}, and ${[...possible].join(' or ')} is desired`,
      )
  }

  /** Returns what the instances do not agree on; undefined when they do. */
  disagreement(desired: ReadonlyMap<string, string | undefined>): string | undefined {
    for (const binding of this.program.bindings) {
      const wish = desired.get(binding)
      for (const one of this.alive) {
        const state = one.stateOf(binding)
        const isAgreed = wish === 'STOPPED' ? state === 'STOPPED' || state === 'CREATED' : state === (wish ?? 'RUNNING')
        if (!isAgreed) return `${one.station.process.name} has ${binding} ${state}, and ${wish} is desired`
        if (one.isAway) return `${one.station.process.name} is away`
      }
    }
    return undefined
  }

  /** Asks every instance that lives. Their answers are known later. */
  ask(binding: string, question: (one: Member) => Promise<string | undefined>): void {
    const answers = new Map<Member, string | undefined>()
    this.#asked.set(binding, answers)
    for (const one of this.alive)
      void question(one).then(
        (answer) => answers.set(one, answer),
        (error: unknown) => this.court.note(one.name, () => String(error)),
      )
  }

  /** Returns the answers to the last question. */
  answersOf(binding: string): ReadonlyMap<Member, string | undefined> {
    return this.#asked.get(binding) ?? new Map()
  }

  protected override accepted(): void {}

  protected override logChanged(topic: string): void {
    if (topic === logTopic) this.log.readOn()
  }
}
