import type { LeaseFence } from '../api/outbox-store.ts'
import type { Outcome } from '../dispatch/row-outcome.ts'

/** Rows settled by one statement: one kind, one fence. Rows and outcomes match by index. */
export interface SettleBatch<R> {
  readonly kind: Outcome['kind']
  readonly fence: LeaseFence
  readonly rows: readonly R[]
  readonly outcomes: readonly Outcome[]
}

interface Collected<R> {
  readonly rows: R[]
  readonly outcomes: Outcome[]
}

type Group<R> = Record<Outcome['kind'], Collected<R>>

const kinds = ['DONE', 'RETRY', 'DEAD'] as const satisfies readonly Outcome['kind'][]

/** Outcomes waiting for their statement, by fence identity and kind. */
export class OutcomeGroups<R> {
  readonly #groups = new Map<LeaseFence, Group<R>>()
  #size = 0
  // The next outcome nearly always belongs to the same group as the last.
  #lastFence: LeaseFence | undefined
  #lastGroup: Group<R> | undefined

  get size(): number {
    return this.#size
  }

  add(row: R, fence: LeaseFence, outcome: Outcome): void {
    const collected = this.#groupOf(fence)[outcome.kind]
    collected.rows.push(row)
    collected.outcomes.push(outcome)
    this.#size++
  }

  /** Returns all collected outcomes in batches of at most `limit` rows and clears them. */
  takeBatches(limit: number): SettleBatch<R>[] {
    const batches: SettleBatch<R>[] = []
    for (const [fence, group] of this.#groups)
      for (const kind of kinds) {
        const { rows, outcomes } = group[kind]
        for (let at = 0; at < rows.length; at += limit)
          batches.push({ kind, fence, rows: rows.slice(at, at + limit), outcomes: outcomes.slice(at, at + limit) })
      }
    this.#groups.clear()
    this.#size = 0
    this.#lastFence = undefined
    this.#lastGroup = undefined
    return batches
  }

  #groupOf(fence: LeaseFence): Group<R> {
    if (this.#lastGroup !== undefined && fence === this.#lastFence) return this.#lastGroup
    let group = this.#groups.get(fence)
    if (group === undefined) {
      group = { DONE: empty(), RETRY: empty(), DEAD: empty() }
      this.#groups.set(fence, group)
    }
    this.#lastFence = fence
    this.#lastGroup = group
    return group
  }
}

function empty<R>(): Collected<R> {
  return { rows: [], outcomes: [] }
}
