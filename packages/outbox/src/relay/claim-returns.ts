import type { ClaimedRow, Claims } from '../claim/claims.ts'

/** Gives claims back of rows that will not be finished here, until it is closed. */
export class ClaimReturns {
  readonly #claims: Pick<Claims, 'giveBack'>
  #underWay: Promise<void> | undefined
  #isClosed = false

  constructor(claims: Pick<Claims, 'giveBack'>) {
    this.#claims = claims
  }

  add(row: ClaimedRow): void {
    if (!this.#isClosed) this.#underWay = this.#claims.giveBack([row])
  }

  /** A transaction may outlive the outbox that it wrote to. From now on nothing is sent for it: its claim runs out. */
  async close(): Promise<void> {
    await this.#underWay
    this.#isClosed = true
  }
}
