/** What the coordinator has acknowledged of a partition, and how far records may run ahead of it (D20, L5). */
export class CommitProgress {
  readonly #maxAhead: number
  /** Changes of the state: now, in the last commit sent, in the last one acknowledged. */
  #changes = 0
  #sentChanges = 0
  #acknowledgedChanges = 0
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

  /** From half of what may be ahead on: a commit that comes no sooner than records need it holds them up. */
  isUrgent(offset: bigint): boolean {
    return offset >= this.#urgentFrom
  }

  /** Counts from a position that was committed before, or from where a log begins anew. */
  beginAt(position: bigint): void {
    this.#position = position
    this.#startLimit = position + BigInt(this.#maxAhead)
    this.#urgentFrom = position + BigInt(this.#maxAhead >> 1)
  }

  changed(): void {
    this.#changes++
  }

  sent(): void {
    this.#sentChanges = this.#changes
  }

  /** What was sent last, and no change that came after it. */
  acknowledged(position: bigint): void {
    this.#acknowledgedChanges = this.#sentChanges
    this.beginAt(position)
  }
}
