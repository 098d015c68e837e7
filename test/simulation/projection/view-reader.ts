import type { LedgerPlan } from './ledger.ts'

type FoundRow = Readonly<Record<string, unknown>> | undefined

/** Reads every row of the view. Each must be a total that its account has had, stay there, and never go back. */
export class ViewReader {
  readonly violations: string[] = []
  readonly #plan: LedgerPlan
  readonly #find: (key: string) => FoundRow
  readonly #seen = new Map<string, number>()

  constructor(plan: LedgerPlan, find: (key: string) => FoundRow) {
    this.#plan = plan
    this.#find = find
  }

  look(): void {
    for (const [key, totals] of this.#plan.totals) {
      const row = this.#find(key)
      const before = this.#seen.get(key) ?? 0
      const credits = Number(row?.['credits'] ?? 0)
      if (credits < before) this.#violate(`${key} went back from ${before} credits to ${credits}`)
      this.#seen.set(key, Math.max(before, credits))
      // Of shared keys, only the number of events is known.
      if (row === undefined || (this.#plan.hasSharedKeys && this.#plan.versions === 'POSITION')) continue
      const wanted = totals[credits - 1]
      if (wanted?.sum !== row['sum'])
        this.#violate(`${key} has ${String(row['sum'])} after ${credits} credits, not ${wanted?.sum}`)
    }
  }

  #violate(what: string): void {
    if (this.violations.length < 10) this.violations.push(what)
  }
}
