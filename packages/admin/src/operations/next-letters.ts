/**
 * Replays and releases of the next dead letters: those after the position that all replays of a binding share. The engine
 * moves that position after each confirmed batch, so a takeover continues there. It does not know how far the runner before
 * came with its last batch, and may replay up to that many letters more.
 */

import { type Connector, ReplayInterruptedError, type ReplayReport } from '@waybill/connector'
import type { SelectedReplayOptions } from '@waybill/connector/internal'
import type { OperatorIdentity } from '@waybill/core'
import type { AppliedBatch, OperationSession, RunBatch } from './operation-kind.ts'

/** A frozen request, as it is stored. */
export interface FrozenNext {
  readonly binding: string
  readonly to: SelectedReplayOptions['to']
  /** Dead letters to decide about, with those that are skipped. */
  readonly next: number
  readonly maxReplays?: number
}

/** The position of such an operation, as it is stored. */
export interface NextPosition {
  readonly left: number
  /** Offsets after the position of replays, when they were last read. */
  readonly remaining: string
}

/** Each batch joins the group of the replays, which takes seconds. */
const maxBatch = 1_000

/** Continues a replay of the next dead letters. */
export class NextLettersSession implements OperationSession {
  readonly #admin: Connector['admin']
  readonly #frozen: FrozenNext
  readonly #operator: OperatorIdentity
  #left: number

  constructor(admin: Connector['admin'], frozen: FrozenNext, position: unknown, operator: OperatorIdentity) {
    this.#admin = admin
    this.#frozen = frozen
    this.#operator = operator
    this.#left = (position as NextPosition | undefined)?.left ?? frozen.next
  }

  async next(): Promise<RunBatch | undefined> {
    if (this.#left === 0) return undefined
    const count = Math.min(this.#left, maxBatch)
    return { scanned: 0, count, intended: [], refused: [], remaining: [] }
  }

  async apply({ count }: RunBatch): Promise<AppliedBatch> {
    try {
      const report = await this.#replay(count)
      const decided = decidedIn(report)
      // Fewer than asked: there are no others.
      this.#left = decided < count ? 0 : this.#left - decided
      return this.#applied(report, undefined)
    } catch (error) {
      if (!(error instanceof ReplayInterruptedError)) throw error
      this.#left = Math.max(0, this.#left - decidedIn(error.report))
      return this.#applied(error.report, error)
    }
  }

  #replay(count: number): Promise<ReplayReport> {
    const { binding, to, maxReplays } = this.#frozen
    if (to === 'RELEASE') return this.#admin.releaseDlt(binding, { count }, this.#operator)
    const which = { count, ...(maxReplays === undefined ? {} : { maxReplays }) }
    return typeof to === 'object'
      ? this.#admin.replayToTier(binding, to.tier, which, this.#operator)
      : this.#admin.replayDlt(binding, { ...which, target: to }, this.#operator)
  }

  #applied({ replayed, skipped, remaining }: ReplayReport, failure: Error | undefined): AppliedBatch {
    const position: NextPosition = { left: this.#left, remaining: String(remaining) }
    const refused = Object.entries(skipped).flatMap(([reason, count]) =>
      Array.from({ length: count ?? 0 }, () => ({ reason })),
    )
    return { scanned: replayed + refused.length, sent: replayed, refused, unsent: [], unknown: [], failure, position }
  }

  async [Symbol.asyncDispose](): Promise<void> {}
}

function decidedIn({ replayed, skipped }: ReplayReport): number {
  return Object.values(skipped).reduce((sum, count) => sum + (count ?? 0), replayed)
}
