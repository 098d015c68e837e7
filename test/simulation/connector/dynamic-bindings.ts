/**
 * A developer who registers and removes bindings while their processes run. A failed registration leaves nothing
 * behind, and nothing runs of a removed binding (I18).
 */

import type { BindingPlan } from './binding-plan.ts'
import type { ConnectorProcess } from './connector-process.ts'
import { isGivenUp } from './handler-journal.ts'
import type { World } from './world.ts'

/** See the file's comment. */
export class DynamicBindings {
  readonly #world: World
  readonly #plans: readonly BindingPlan[]
  /** Registrations and removals in progress, by process and binding. */
  readonly #atWork = new Set<string>()

  constructor(world: World) {
    this.#world = world
    this.#plans = world.program.bindings.filter(({ isDynamic }) => isDynamic)
  }

  /**
   * Registers missing bindings, sooner or later.
   *
   * @param isSoon - no binding is removed any more
   */
  tend(processes: readonly ConnectorProcess[], isSoon: boolean): void {
    for (const plan of this.#plans)
      for (const process of processes)
        if (process.isStarted && !process.has(plan.name) && (isSoon || this.#world.draw.chance(0.4)))
          void this.#atOnce(process, plan, () => this.#register(process, plan))
  }

  /** Removes a binding from a process, whether or not its handlers run. */
  takeOut(process: ConnectorProcess): void {
    const { draw } = this.#world
    const plan = draw.pick(this.#plans)
    const isDestroyed = draw.chance(0.5)
    if (process.isStarted && process.has(plan.name))
      void this.#atOnce(process, plan, () => this.#takeOut(process, plan, isDestroyed))
  }

  /** Runs one operation at a time for each binding of a process. */
  async #atOnce({ name }: ConnectorProcess, plan: BindingPlan, work: () => Promise<void>): Promise<void> {
    const key = `${name} ${plan.name}`
    if (this.#atWork.has(key)) return
    this.#atWork.add(key)
    await work()
    this.#atWork.delete(key)
  }

  async #register(process: ConnectorProcess, plan: BindingPlan): Promise<void> {
    const { court, evidence } = this.#world
    court.note(process.name, () => `is given ${plan.name}`)
    const { connector } = process
    const isDone = await process.ask(async () => {
      await connector.register(plan.name, process.bindingOf(plan))
      return true
    })
    this.#world.discover()
    if (!process.isStarted) return
    if (isDone === true) {
      if (evidence.originals.size > 0) court.reach('dynamic: a binding is registered while records flow')
      return
    }
    court.reach('dynamic: a registration fails and leaves nothing')
    if (process.has(plan.name)) court.violate('C-13', `${process.name} has ${plan.name}, and its registration failed`)
  }

  async #takeOut(process: ConnectorProcess, { name }: BindingPlan, isDestroyed: boolean): Promise<void> {
    const { court, journal, losses } = this.#world
    const calls = (): boolean =>
      [...journal.running].some((one) => one.process === process && one.binding.name === name && !isGivenUp(one))
    if (calls()) court.reach('dynamic: a binding is removed while handlers run')
    court.note(process.name, () => `loses ${name}`)
    const { connector } = process
    const isDone = await process.ask(async () => {
      if (isDestroyed) await connector.destroy(name)
      else await connector.stop(name).then(() => connector.unregister(name))
      return true
    })
    process.paused.delete(name)
    process.restarts++
    // This includes handlers that did not complete in time.
    if (!process.has(name)) losses.takenOut(process.name, name)
    if (isDone !== true || !process.isStarted) return
    if (process.has(name)) court.violate('C-13', `${process.name} has ${name}, which was removed`)
    if (calls()) court.violate('I18', `${process.name} has no ${name} any more, and its handler still works`)
  }
}
