/**
 * Where processes keep their marks: a store beside the effects, or an inbox whose transactions have mark and effect. Requests take
 * their time, are not carried out, or are and nobody is told. Of two transactions with one mark the first to commit wins.
 */

import { HandlerTimeoutError } from '@waybill/connector'
import type { IdempotencyStore, Inbox } from '@waybill/core'
import type { BindingPlan } from './binding-plan.ts'
import type { DeduplicationPlan } from './deduplication-plan.ts'
import type { Ground } from './ground.ts'
import type { HandlerProcess } from './handler-journal.ts'
import type { MarkChecker } from './mark-checker.ts'
import type { MarkTx } from './mark-tx.ts'
import type { RareState } from './rare-states.ts'

type Request = 'LOOK' | 'MARK' | 'BEGIN' | 'COMMIT'

/** LATE: it is carried out when nobody waits for it any more. */
type Trouble = 'FAILED' | 'LOST' | 'LATE' | 'SLOW'

/** Longest that a slow request takes. It outlasts time-outs of handlers. */
const slowestMs = 1_500

const failedStates: { readonly [R in Request]: RareState } = {
  LOOK: 'store: nobody is told whether there is a mark',
  MARK: 'store: a mark is not written',
  BEGIN: 'inbox: no transaction begins',
  COMMIT: 'inbox: a commit without an answer is rolled back',
}
const lostStates: { readonly [R in Request]: RareState } = {
  ...failedStates,
  MARK: 'store: a mark is written and its answer is lost',
  COMMIT: 'inbox: a commit without an answer is carried out',
}

/** What it stands on. */
type Known = Ground & { readonly marks: MarkChecker; readonly healedAt: number | undefined }

/** See the file's comment. */
export class MarkServer {
  readonly #world: Known
  /** By group and key. */
  readonly #marked = new Set<string>()

  constructor(world: Known) {
    this.#world = world
  }

  /** The store of a binding, as a process has it. */
  storeOf({ handlesBatches }: BindingPlan, plan: DeduplicationPlan, process: HandlerProcess): IdempotencyStore {
    const { marks, court } = this.#world
    return {
      seen: async (consumer, key) => {
        const mark = `${consumer} ${key}`
        const isMarked = await this.#request(plan, process, mark, 'LOOK', () => this.#marked.has(mark))
        if (!isMarked) marks.foundNone(process, mark)
        else court.reach(handlesBatches ? 'store: a batch leaves a repeat out' : 'store: a mark tells a repeat')
        return isMarked
      },
      mark: (consumer, key) => {
        const mark = `${consumer} ${key}`
        return this.#request(plan, process, mark, 'MARK', () => {
          marks.marked(mark)
          this.#marked.add(mark)
        })
      },
    }
  }

  /** The inbox of a binding, as a process has it. */
  inboxOf(plan: DeduplicationPlan, process: HandlerProcess): Inbox<MarkTx> {
    return {
      run: async (consumer, key, effect) => {
        const mark = `${consumer} ${key}`
        const tx = await this.#request(plan, process, mark, 'BEGIN', () => this.#begin(mark))
        if (tx === undefined) return 'DUPLICATE'
        try {
          await effect(tx)
        } catch (error) {
          if (tx.effects.length > 0 || error instanceof HandlerTimeoutError)
            this.#world.court.reach('inbox: a call that ends too late is rolled back')
          throw error
        } finally {
          tx.isOver = true
        }
        await this.#request(plan, process, mark, 'COMMIT', () => this.#commit(tx))
        return 'DONE'
      },
    }
  }

  #begin(mark: string): MarkTx | undefined {
    if (!this.#marked.has(mark)) return { mark, effects: [], isOver: false }
    this.#world.court.reach('inbox: a mark tells a repeat')
    return undefined
  }

  #commit(tx: MarkTx): void {
    const { court, marks } = this.#world
    if (this.#marked.has(tx.mark)) {
      court.reach('inbox: of two transactions with one mark the second is rolled back')
      throw new Error('another transaction has written the mark')
    }
    this.#marked.add(tx.mark)
    marks.committed(tx)
  }

  /** What becomes of it in the process that asks: one that is dead gets no answer. */
  #request<T>(
    plan: DeduplicationPlan,
    process: HandlerProcess,
    mark: string,
    request: Request,
    carryOut: () => T,
  ): Promise<T> {
    const { marks, court } = this.#world
    marks.asked(process, mark, request === 'LOOK' || request === 'BEGIN')
    return process.sim.receive(this.#travel(plan, request, carryOut), undefined, (error) => {
      court.note(process.name, () => `${request} of ${mark}: ${error.message}`)
      marks.failed(mark)
    })
  }

  async #travel<T>(plan: DeduplicationPlan, request: Request, carryOut: () => T): Promise<T> {
    const { draw, court, runtime } = this.#world
    const trouble = this.#troubleOf(plan)
    const travelMs = (): number =>
      draw.between(0, plan.latencyMs) + (trouble === 'SLOW' ? draw.between(0, slowestMs) : 0)
    await runtime.timers.sleep(travelMs())
    if (trouble === 'FAILED') {
      court.reach(failedStates[request])
      throw new Error('it is not carried out')
    }
    if (trouble === 'LATE') return this.#carryOutLate(request, carryOut)
    const answer = carryOut()
    await runtime.timers.sleep(travelMs())
    return trouble === 'LOST' ? this.#leaveUnanswered(request) : answer
  }

  /** Whatever it comes to, nobody asks. */
  #carryOutLate(request: Request, carryOut: () => unknown): never {
    const { draw, runtime, court } = this.#world
    runtime.timers.schedule(draw.between(0, slowestMs), () => {
      try {
        carryOut()
      } catch (error) {
        court.note('marks', () => String(error))
      }
    })
    return this.#leaveUnanswered(request)
  }

  #leaveUnanswered(request: Request): never {
    this.#world.court.reach(lostStates[request])
    throw new Error('it has no answer')
  }

  #troubleOf({ failRate, lostRate, slowRate, down }: DeduplicationPlan): Trouble | undefined {
    const { draw, healedAt } = this.#world
    if (healedAt !== undefined) return undefined
    const at = this.#world.sinceStart()
    if (down !== undefined && at >= down.fromMs && at < down.fromMs + down.forMs) return 'FAILED'
    if (draw.chance(failRate)) return 'FAILED'
    if (draw.chance(lostRate)) return draw.chance(0.3) ? 'LATE' : 'LOST'
    return draw.chance(slowRate) ? 'SLOW' : undefined
  }
}
