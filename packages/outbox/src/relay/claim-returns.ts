import type { ClaimedRow, Claims } from '../claim/claims.ts'

/** Releases claims on rows that will not be settled here, until it is closed. */
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

  /** Waits for pending releases and accepts no more. A transaction may outlive its outbox; its claims then expire. */
  async close(): Promise<void> {
    await this.#underWay
    this.#isClosed = true
  }
}
