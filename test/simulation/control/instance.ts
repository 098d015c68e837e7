/** An instance of the fleet: a process with its control and with bindings that follow it, as those of a connector do. */

import { createFleetControl, type FleetControl } from '@waybill/connector'
import type {
  BindingStatus,
  ControlledInstance,
  ControlRequest,
  ControlTarget,
  DesiredState,
  InstanceAnswer,
} from '@waybill/connector/internal'
import { noopLogger, type Runtime, StateError } from '@waybill/core'
import { createNamedMutex } from '@waybill/core/internal'
import { createTopicLog } from '@waybill/kafka'
import type { Station } from '../world/cluster-world.ts'
import { logTopic } from './control-log.ts'
import type { World } from './world.ts'

type State = 'CREATED' | 'RUNNING' | 'PAUSED' | 'STOPPED'

const legalFrom: Readonly<Record<string, readonly State[]>> = {
  START: ['CREATED', 'STOPPED'],
  STOP: ['RUNNING', 'PAUSED'],
  PAUSE: ['RUNNING'],
  RESUME: ['PAUSED'],
  SEEK: ['CREATED', 'PAUSED', 'STOPPED'],
}
const after: Readonly<Record<string, State>> = { START: 'RUNNING', STOP: 'STOPPED', PAUSE: 'PAUSED', RESUME: 'RUNNING' }

export function targetOf(binding: string): ControlTarget {
  return { cluster: 'default', groupId: 'fleet', binding }
}

/** See the file's comment. */
export class Instance implements ControlledInstance {
  readonly name: string
  readonly station: Station
  readonly control: FleetControl
  /** Commands that it applied, by binding: the numbers of their plans. */
  readonly applied: string[] = []
  readonly followed = new Set<string>()
  readonly #world: World
  readonly #runtime: Runtime
  readonly #states = new Map<string, State>()
  readonly #turns = createNamedMutex()
  readonly #away = new Map<string, () => void>()
  #isOver = false
  /** Commands that it has received and not answered. */
  #applying = 0

  constructor(world: World, name: string, process: string) {
    this.#world = world
    this.name = name
    this.station = world.station(process)
    const { runtime } = this.station.process
    const skewMs = Math.round(world.draw.between(-1, 1) * world.program.skewMs)
    const warn: Runtime['logger']['warn'] = (_, text) => {
      if (text.startsWith('Returned to the groups')) world.court.reach('instance: it returns to its groups alone')
    }
    this.#runtime = {
      ...runtime,
      logger: { ...noopLogger, warn },
      clock: { now: () => runtime.clock.now() + skewMs, monotonic: () => runtime.clock.monotonic() },
    }
    this.control = createFleetControl({
      log: createTopicLog({ client: this.station.client, topic: logTopic, runtime: this.#runtime }),
      keepMs: world.program.keepMs,
      runtime: this.#runtime,
    })
    for (const binding of world.program.bindings) this.#states.set(binding, 'CREATED')
  }

  get isAlive(): boolean {
    return this.station.process.isAlive && !this.#isOver
  }

  get isApplying(): boolean {
    return this.#applying > 0
  }

  get isAway(): boolean {
    return this.#away.size > 0
  }

  stateOf(binding: string): State {
    return this.#states.get(binding) ?? 'CREATED'
  }

  /** Starts its bindings as they are desired. */
  start(): void {
    this.control.join(this)
    this.control.begin()
    for (const { binding } of this.statuses().map(({ target }) => target))
      this.#start(binding).catch((error: unknown) => {
        // A stop ends the wait for what is desired.
        if (!this.#isOver) this.#world.court.violate('D23', `${this.name} does not start ${binding}: ${String(error)}`)
      })
  }

  /** Leaves the fleet. */
  async stop(): Promise<void> {
    if (!this.isAlive) return
    this.#isOver = true
    await this.control.stop()
    await this.station.client.close()
  }

  async apply(request: ControlRequest): Promise<InstanceAnswer> {
    this.#applying += 1
    try {
      return await this.#apply(request)
    } finally {
      this.#applying -= 1
    }
  }

  async #apply({ target: { binding }, command, operator }: ControlRequest): Promise<InstanceAnswer> {
    const plan = `${binding} ${operator.reason}`
    this.applied.push(plan)
    this.#world.appliedBy(this, operator.reason ?? '')
    if (command.type === 'SEEK') return this.#move(binding)
    return this.#turns.run(binding, async () => {
      const state = this.stateOf(binding)
      const { draw, program } = this.#world
      await this.#pause()
      if (legalFrom[command.type]?.includes(state) !== true) return this.#failed(binding, `it is ${state}`)
      if (this.#world.isStormy && draw.chance(program.refusals)) return this.#failed(binding, 'it cannot')
      this.#states.set(binding, after[command.type] ?? state)
      this.followed.add(plan)
      return { instance: this.name, outcome: 'APPLIED', state: this.stateOf(binding) }
    })
  }

  async obey({ binding }: ControlTarget, state: DesiredState): Promise<void> {
    await this.#turns.run(binding, async () => {
      await this.#pause()
      this.#world.court.reach('instance: it obeys what it missed')
      this.#note(`obeys: ${binding} is ${state}`)
      this.#states.set(binding, state)
    })
  }

  /** Its bindings have no tiers. */
  async obeyTiers(): Promise<void> {}

  async away({ binding }: ControlTarget): Promise<InstanceAnswer> {
    const gone = Promise.withResolvers<InstanceAnswer>()
    const back = Promise.withResolvers<void>()
    void this.#turns.run(binding, async () => {
      const state = this.stateOf(binding)
      await this.#pause()
      if (legalFrom['SEEK']?.includes(state) !== true) return gone.resolve(this.#failed(binding, `it is ${state}`))
      this.#away.set(binding, back.resolve)
      gone.resolve({ instance: this.name, outcome: 'APPLIED', state })
      await back.promise
      this.#away.delete(binding)
    })
    return gone.promise
  }

  async back({ binding }: ControlTarget): Promise<InstanceAnswer> {
    this.#away.get(binding)?.()
    return { instance: this.name, outcome: 'APPLIED', state: this.stateOf(binding) }
  }

  statuses(): readonly BindingStatus[] {
    return Array.from(this.#states, ([binding, state]) => ({ target: targetOf(binding), state, pausedBy: [] }))
  }

  /** Returns whether it is a member of the binding's group. */
  isMember(binding: string): boolean {
    return ['RUNNING', 'PAUSED'].includes(this.stateOf(binding)) && !this.#away.has(binding)
  }

  async #start(binding: string): Promise<void> {
    const since = this.#world.log.end
    const beganAt = this.#runtime.clock.monotonic()
    await this.#turns.run(binding, async () => {
      const desired = await this.control.desired(targetOf(binding))
      if (this.#runtime.clock.monotonic() - beganAt > 2_000) this.#world.court.reach('start: it waits for the log')
      this.#world.startsWith(this, binding, desired, since)
      this.#note(`starts: ${binding} is ${desired}`)
      await this.#pause()
      if (desired !== 'STOPPED') this.#states.set(binding, desired ?? 'RUNNING')
    })
  }

  /** Moves positions, which a broker refuses while the group has a member in any process. */
  async #move(binding: string): Promise<InstanceAnswer> {
    await this.#pause()
    if (this.#world.hasMember(binding)) return this.#failed(binding, 'the group has members')
    this.#world.court.reach('positions: they are moved')
    return { instance: this.name, outcome: 'APPLIED', state: this.stateOf(binding), positions: [] }
  }

  #failed(binding: string, why: string): InstanceAnswer {
    return { instance: this.name, outcome: 'FAILED', state: this.stateOf(binding), error: new StateError(why) }
  }

  async #pause(): Promise<void> {
    const { draw, program } = this.#world
    await this.#runtime.timers.sleep(draw.between(0, program.applyMs))
  }

  #note(text: string): void {
    this.#world.court.note(this.station.process.name, () => text)
  }
}
