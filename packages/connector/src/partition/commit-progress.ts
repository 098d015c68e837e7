/** The commits that the coordinator has acknowledged for a partition, and how far records may run ahead of them (L5). */
export class CommitProgress {
  readonly #maxAhead: number
  /** State changes: now, in the last commit sent, in the last commit acknowledged. */
  #changes = 0
  #sentChanges = 0
  #acknowledgedChanges = 0
  /** A commit of the current ledger is in flight. */
  #isSent = false
  #position = 0n
  #startLimit = 0n
  #urgentFrom = 0n

  constructor(maxAhead: number) {
    this.#maxAhead = maxAhead
  }

  /** The next offset to read, as acknowledged. */
  get position(): bigint {
    return this.#position
  }

  /** Offsets from here on start only after another acknowledgement. */
  get startLimit(): bigint {
    return this.#startLimit
  }

  /** True when nothing has changed since the last acknowledged commit. */
  get isAcknowledged(): boolean {
    return this.#changes === this.#acknowledgedChanges
  }

  /** Half of what may be ahead: from here on records would wait for a commit that is not sent at once. */
  get urgentFrom(): bigint {
    return this.#urgentFrom
  }

  /** Starts at a committed position, or at the start of a log that is counted anew. */
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
   * Acknowledges the last commit sent, without the changes that came after it. Returns false if the ledger was replaced
   * since: the offset means another record now. All changes are still to be sent.
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
