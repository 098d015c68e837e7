/** The ledger as its definition says it: every offset by itself, everything recounted at each question. */

import type { LedgerCounts, LedgerState, Settlement } from '../../src/ledger/ledger.ts'
import { OffsetSet } from '../../src/ledger/offset-set.ts'

type Fate = Settlement | 'UNSETTLED' | 'HOLE' | 'SETTLED_BEFORE'

export class NaiveLedger {
  readonly #began: LedgerState
  readonly #fates = new Map<bigint, Fate>()
  #next: bigint

  constructor(state: LedgerState) {
    this.#began = state
    this.#next = state.position
    for (const offset of state.settledAbove) this.#fates.set(offset, 'SETTLED_BEFORE')
  }

  get next(): bigint {
    return this.#next
  }

  get unsettled(): bigint[] {
    return [...this.#fates].filter(([, fate]) => fate === 'UNSETTLED').map(([offset]) => offset)
  }

  fetched(offset: bigint): boolean {
    this.reached(offset)
    this.#next = offset + 1n
    if (this.#fates.has(offset)) return false
    this.#fates.set(offset, 'UNSETTLED')
    return true
  }

  reached(next: bigint): void {
    for (; this.#next < next; this.#next++) if (!this.#fates.has(this.#next)) this.#fates.set(this.#next, 'HOLE')
  }

  settle(offset: bigint, as: Settlement): void {
    this.#fates.set(offset, as)
  }

  state(): LedgerState {
    const position = this.#watermark()
    const settled = [...this.#fates].filter(([, fate]) => fate !== 'UNSETTLED')
    const highest = settled.reduce((top, [offset, fate]) => (fate !== 'HOLE' && offset > top ? offset : top), position)
    const counted = settled.filter(([offset]) => offset <= highest && offset !== position)
    return {
      since: this.#began.since,
      position,
      counts: this.#counts(counted.map(([, fate]) => fate)),
      settledAbove: OffsetSet.of(
        position,
        counted.map(([offset]) => offset).filter((offset) => offset > position),
      ),
    }
  }

  #watermark(): bigint {
    let offset = this.#began.position
    for (;;) {
      const fate = this.#fates.get(offset)
      if (fate === undefined || fate === 'UNSETTLED') return offset
      offset++
    }
  }

  #counts(fates: readonly Fate[]): LedgerCounts {
    const { counts } = this.#began
    const of = (wanted: Fate): bigint => BigInt(fates.filter((fate) => fate === wanted).length)
    return {
      ok: counts.ok + of('OK'),
      retried: counts.retried + of('RETRIED'),
      dead: counts.dead + of('DEAD'),
      skipped: counts.skipped + of('SKIPPED'),
      holes: counts.holes + of('HOLE'),
    }
  }
}
