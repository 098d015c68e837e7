/** What the coordinator has acknowledged of a partition, and how far records may run ahead of it (D20, L5). */
export class CommitProgress {
  readonly #maxAhead: number
  /** Changes of the state: now, in the last commit sent, in the last one acknowledged. */
  #changes = 0
  #sentChanges = 0
  #acknowledgedChanges = 0
  /** A commit is under way that speaks of the log as it is counted now. */
  #isSent = false
  #position = 0n
  #startLimit = 0n
  #urgentFrom = 0n

  constructor(maxAhead: number) {
    this.#maxAhead = maxAhead
  }

  /** Next offset acknowledged. */
  get position(): bigint {
    return this.#position
  }

  /** Offsets from here on start only when more is acknowledged. */
  get startLimit(): bigint {
    return this.#startLimit
  }

  /** True when nothing has changed since the last commit that was acknowledged. */
  get isAcknowledged(): boolean {
    return this.#changes === this.#acknowledgedChanges
  }

  /** Half of what may be ahead: from here on a commit that comes no sooner than records need it holds them up. */
  get urgentFrom(): bigint {
    return this.#urgentFrom
  }

  /** Counts from a position that was committed before, or from where a log begins anew. */
  beginAt(position: bigint): void {
    this.#isSent = false
    this.#moveTo(position)
  }

  changed(): void {
    this.#changes++
  }

  sent(): void {
    this.#sentChanges = this.#changes
    this.#isSent = true
  }

  /**
   * What was sent last, and no change that came after it. False when counting has begun anew since: its offset means
   * another record now, and would let records run as far ahead of it. All that changed is still to be sent.
   */
  acknowledged(position: bigint): boolean {
    if (!this.#isSent) return false
    this.#acknowledgedChanges = this.#sentChanges
    this.#moveTo(position)
    return true
  }

  #moveTo(position: bigint): void {
    this.#position = position
    this.#startLimit = position + BigInt(this.#maxAhead)
    this.#urgentFrom = position + BigInt(this.#maxAhead >> 1)
  }
}
