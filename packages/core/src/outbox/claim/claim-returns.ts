import type { ClaimedRow, Claims } from './claims.ts'

/** Gives claims back of rows that will not be finished here, those of one turn together and one statement at a time. */
export class ClaimReturns {
  readonly #claims: Pick<Claims, 'giveBack'>
  #waiting: ClaimedRow[] = []
  #underWay: Promise<void> | undefined
  #isClosed = false

  constructor(claims: Pick<Claims, 'giveBack'>) {
    this.#claims = claims
  }

  add(row: ClaimedRow): void {
    if (this.#isClosed) return
    this.#waiting.push(row)
    this.#underWay ??= this.#giveBack()
  }

  /** A transaction may outlive the outbox that it wrote to. From now on nothing is sent for it: its claim runs out. */
  async close(): Promise<void> {
    await this.#underWay
    this.#isClosed = true
  }

  async #giveBack(): Promise<void> {
    await Promise.resolve() // What is given up in this turn goes together.
    while (this.#waiting.length > 0) await this.#claims.giveBack(this.#waiting.splice(0))
    this.#underWay = undefined
  }
}
