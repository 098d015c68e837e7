/** The trail keeps one mark per slice of the lag, so it stays short. */
const slicesPerLag = 8

interface Mark {
  /** The end of its slice of time. */
  readonly until: number
  seq: bigint
}

/** The highest row read before the lag: any number assigned earlier and committed within the lag is above it. */
export class LaggingFloor {
  readonly #lagMs: number
  readonly #trail: Mark[] = []
  #seq: bigint | null = null

  constructor(lagMs: number) {
    this.#lagMs = lagMs
  }

  /** Records a row higher than all before it. */
  mark(seq: bigint, nowMs: number): void {
    const current = this.#trail.at(-1)
    if (current !== undefined && nowMs < current.until) current.seq = seq
    else this.#trail.push({ until: nowMs + this.#lagMs / slicesPerLag, seq })
  }

  /** Returns the floor; null if nothing was read that long ago. */
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
