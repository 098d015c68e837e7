import type { ClaimedRow, Claims } from '../claim/claims.ts'

/** Releases claims on rows that will not be settled here, until it is closed. */
export class ClaimReleaser {
  readonly #claims: Pick<Claims, 'releaseRows'>
  #underWay: Promise<void> | undefined
  #isClosed = false

  constructor(claims: Pick<Claims, 'releaseRows'>) {
    this.#claims = claims
  }

  add(row: ClaimedRow): void {
    if (!this.#isClosed) this.#underWay = this.#claims.releaseRows([row])
  }

  /** Waits for pending releases and accepts no more. A transaction may outlive its outbox; its claims then expire. */
  async close(): Promise<void> {
    await this.#underWay
    this.#isClosed = true
  }
}
