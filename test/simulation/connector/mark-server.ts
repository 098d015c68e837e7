/**
 * Stores the marks of processes: in a store beside the effects, or in an inbox whose transactions contain mark and
 * effect. Requests take time, fail, or succeed without a response. Of two transactions with one mark the first to
 * commit wins.
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

/** LATE: it is executed when its caller no longer waits. */
type Trouble = 'FAILED' | 'LOST' | 'LATE' | 'SLOW'

/** Longest duration of a slow request. It outlasts handler timeouts. */
const slowestMs = 1_500

const failedStates: { readonly [R in Request]: RareState } = {
  LOOK: 'store: a lookup of a mark fails',
  MARK: 'store: a mark is not written',
  BEGIN: 'inbox: no transaction begins',
  COMMIT: 'inbox: a commit without an answer is rolled back',
}
const lostStates: { readonly [R in Request]: RareState } = {
  ...failedStates,
  MARK: 'store: a mark is written and its answer is lost',
  COMMIT: 'inbox: a commit without an answer is carried out',
}

/** Dependencies of the server. */
type Known = Ground & { readonly marks: MarkChecker; readonly healedAt: number | undefined }

/** See the file's comment. */
export class MarkServer {
  readonly #world: Known
  /** By group and key. */
  readonly #marked = new Set<string>()

  constructor(world: Known) {
    this.#world = world
  }

  /** Returns the store of a binding for a process. */
  storeOf({ handlesBatches }: BindingPlan, plan: DeduplicationPlan, process: HandlerProcess): IdempotencyStore {
    const { marks, court } = this.#world
    return {
      seen: async (consumer, key) => {
        // A lookup of the key of an earlier version beside that of this one: no process of a seed writes it.
        if (/^r\d+$/.test(key)) return false
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

  /** Returns the inbox of a binding for a process. */
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

  /** Runs a request for a process: a dead one gets no response. */
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

  /** Executes a request late and ignores its result. */
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
