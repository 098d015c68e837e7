/** The trail keeps one mark for each slice of the lag, so it stays short. */
const slicesPerLag = 8

interface Mark {
  /** When its slice of time ends. */
  readonly until: number
  seq: bigint
}

/** The highest row read by some time ago: whatever took its number before, and was committed within that time, lies above. */
export class LaggingFloor {
  readonly #lagMs: number
  readonly #trail: Mark[] = []
  #seq: bigint | null = null

  constructor(lagMs: number) {
    this.#lagMs = lagMs
  }

  /** A row higher than all before it was read. */
  mark(seq: bigint, nowMs: number): void {
    const current = this.#trail.at(-1)
    if (current !== undefined && nowMs < current.until) current.seq = seq
    else this.#trail.push({ until: nowMs + this.#lagMs / slicesPerLag, seq })
  }

  /** Null: nothing was read that long ago. */
  at(nowMs: number): bigint | null {
    for (
      let oldest = this.#trail[0];
      oldest !== undefined && oldest.until + this.#lagMs <= nowMs;
      oldest = this.#trail[0]
    ) {
      this.#seq = oldest.seq
      this.#trail.shift()
    }
    return this.#seq
  }
}
