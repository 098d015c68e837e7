/** An operator who gives the commands of a seed to one instance or another, and checks what is answered. */

import { CommandUnknownError, ControlUnreachableError, InstanceNotAwayError } from '@waybill/connector'
import type { ControlCommand, InstanceAnswer } from '@waybill/connector/internal'
import { targetOf } from './instance.ts'
import type { CommandPlan } from './program.ts'
import type { Member, World } from './world.ts'

/** The longest time of any command: AWAY, MOVE and BACK, or a stop. */
const longestMs = 130_000

/** See the file's comment. */
export class Operator {
  readonly #world: World
  /** Commands without an answer, and the process that each was given to. */
  readonly open = new Map<number, Member>()
  /** Commands that were answered with an error which says that nothing was done. */
  readonly #notSubmitted: Pick<CommandPlan, 'no' | 'type'>[] = []

  constructor(world: World) {
    this.#world = world
  }

  async run(plans: readonly CommandPlan[]): Promise<void> {
    const { runtime, draw } = this.#world
    const startedAt = runtime.clock.monotonic()
    for (const plan of plans) {
      await runtime.timers.sleep(Math.max(0, startedAt + plan.atMs - runtime.clock.monotonic()))
      const { alive } = this.#world
      if (alive.length === 0) continue
      void this.#give(plan, draw.pick(alive))
      // A program may ask at any time, which must not change what is obeyed. A stop ends the wait for the answer.
      draw
        .pick(alive)
        .control.desired(targetOf(plan.binding))
        .catch(() => {})
    }
  }

  /** Checks that no command is in the log that was said not to be. A move of positions is its MOVE. */
  checkLog(): void {
    const { court, log } = this.#world
    for (const { no, type } of this.#notSubmitted) {
      const wrong = log.commands.find((one) => one.reason === String(no) && (type !== 'SEEK' || one.type === 'MOVE'))
      if (wrong !== undefined) court.violate('D23', `command ${no} is said not to be submitted, and is in the log`)
    }
  }

  /** Returns the commands that have no answer although their process lives. */
  unanswered(): readonly number[] {
    return [...this.open].filter(([, { isAlive }]) => isAlive).map(([no]) => no)
  }

  async #give({ no, binding, type }: CommandPlan, to: Member): Promise<void> {
    const { court, runtime } = this.#world
    const command = (type === 'SEEK' ? { type, seek: { to: 'LATEST' } } : { type }) as ControlCommand
    if (this.open.size > 0) court.reach('command: two are on their way at once')
    this.open.set(no, to)
    const givenAt = runtime.clock.monotonic()
    try {
      const { instances } = await to.control.submit({
        target: targetOf(binding),
        command,
        operator: { by: 'ana', reason: String(no) },
      })
      court.note('operator', () => `${no} ${type} ${binding}: ${instances.map(textOf).join(', ')}`)
      this.#check(no, binding, instances)
    } catch (error) {
      court.note('operator', () => `${no} ${type} ${binding}: ${String(error)}`)
      if (error instanceof CommandUnknownError) court.reach('command: its outcome is unknown')
      if (error instanceof ControlUnreachableError) {
        court.reach('command: the log cannot be read')
        this.#notSubmitted.push({ no, type })
      }
      if (error instanceof InstanceNotAwayError) {
        court.reach('positions: an instance is not away')
        this.#notSubmitted.push({ no, type })
      }
    }
    this.open.delete(no)
    // A frozen process answers when it is thawed.
    if (!this.#world.isStormy || this.#world.program.chaos.every(({ kind }) => kind !== 'FREEZE'))
      if (runtime.clock.monotonic() - givenAt > longestMs)
        court.violate('D23', `command ${no} was answered after ${runtime.clock.monotonic() - givenAt} ms`)
  }

  #check(no: number, binding: string, answers: readonly InstanceAnswer[]): void {
    const { court, instances } = this.#world
    const followed = answers.filter(({ outcome }) => outcome === 'APPLIED')
    for (const { instance } of followed) {
      const named = instances.filter((one) => one.name === instance)
      const isPosition = answers.some(({ positions }) => positions !== undefined)
      if (!isPosition && !named.some((one) => one.followed.has(`${binding} ${no}`)))
        court.violate('D23', `${instance} is said to have applied ${no}, and has not`)
    }
    if (answers.some(({ outcome }) => outcome === 'NO_ANSWER')) court.reach('answer: an instance has none')
    const refused = answers.filter(({ outcome }) => outcome === 'FAILED').length
    if (refused > 0) court.reach(followed.length === 0 ? 'command: all refuse it' : 'command: some refuse it')
  }
}

function textOf({ instance, outcome, state }: InstanceAnswer): string {
  return `${instance} ${outcome} ${state}`
}
