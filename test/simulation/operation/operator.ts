/** An operator who creates the operations of a seed, wishes something of them, and resumes what is paused in the end. */

import type { OperationRequest } from '@waybill/admin'
import { applicationOperator, StateError } from '@waybill/core'
import { isFinal, OperationStateError } from '@waybill/core/internal'
import type { OperationPlan } from './program.ts'
import { Runner } from './runner.ts'
import type { World } from './world.ts'

const ana = { by: 'ana' }

/** See the file's comment. */
export class Operator {
  readonly #world: World
  readonly #runner: Runner
  readonly #startedAt: number

  constructor(world: World) {
    this.#world = world
    this.#startedAt = world.now()
    this.#runner = new Runner(world, 'operator', () => {
      throw new StateError('The operator does not run operations.')
    })
  }

  /** Creates an operation and carries out its wishes. */
  async run(plan: OperationPlan, index: number): Promise<void> {
    const { court, runtime } = this.#world
    await this.#until(plan.atMs)
    const before = this.#world.letterEnds()
    const created = await this.#repeated(() =>
      this.#runner.operations.create(requestOf(plan), ana, {
        dryRun: plan.isPlannedFirst,
        idempotencyKey: `operation-${index}`,
      }),
    )
    const { id } = created
    court.note('operator', () => `creates ${id}: ${JSON.stringify(plan)}`)
    this.#world.created({ id, plan, before })
    if (plan.isPlannedFirst) await this.#wish(id, 'START')
    for (const { kind, atMs } of plan.wishes) {
      await this.#until(atMs)
      if (kind === 'RATE') await this.#repeated(() => this.#runner.operations.setRate(id, 50, ana))
      else await this.#wish(id, kind)
    }
    await runtime.timers.sleep(0)
  }

  /** Resumes operations until all are final. */
  async finish(ids: readonly string[]): Promise<void> {
    const { runtime, store, court } = this.#world
    for (;;) {
      const found = await Promise.all(ids.map((id) => store.get(id)))
      const open = found.filter((one) => one !== undefined && !isFinal(one.state))
      if (open.length === 0) return
      for (const one of open) {
        if (one?.state === 'PAUSED') {
          court.reach(one.pausedBy === 'CANARY' ? 'operation: its canary pauses it' : 'operation: it is paused')
          await this.#wish(one.id, 'RESUME')
        }
        if (one?.trouble?.message.startsWith('waits for') === true)
          court.reach('operation: another one runs on the same dead letters')
      }
      await runtime.timers.sleep(500)
    }
  }

  async close(): Promise<void> {
    await this.#runner.station.client.close()
  }

  async #wish(id: string, wish: 'START' | 'PAUSE' | 'RESUME' | 'CANCEL'): Promise<void> {
    const wished = await this.#repeated(() => this.#runner.operations.wish(id, wish, applicationOperator()))
    this.#world.court.note('operator', () => `${wish} ${id}: ${wished?.state} ${wished?.wish}`)
  }

  /** Repeats a command whose outcome is unknown. One that the state refuses is over. */
  async #repeated<T>(command: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await command()
      } catch (error) {
        if (error instanceof OperationStateError) return undefined as T
        this.#world.court.note('operator', () => String(error))
        await this.#world.runtime.timers.sleep(500)
      }
    }
  }

  async #until(atMs: number): Promise<void> {
    const waitMs = this.#startedAt + atMs - this.#world.now()
    if (waitMs > 0) await this.#world.runtime.timers.sleep(waitMs)
  }
}

function requestOf({ event, to, rate, canary }: OperationPlan): OperationRequest {
  const chosen = {
    binding: 'work',
    filter: event === undefined ? {} : { eventType: event },
    rate,
    abortWhen: false,
    ...(canary === undefined ? {} : { canary: { count: canary, settleMs: 1_000, onSettled: 'PAUSE' as const } }),
  } as const
  return to === 'TIER' ? { ...chosen, type: 'REPLAY_TO_TIER', tier: 1 } : { ...chosen, type: 'REPLAY', target: to }
}
