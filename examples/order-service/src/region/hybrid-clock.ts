/** A time of a hybrid logical clock. */
export interface HybridTime {
  readonly physicalMillis: number
  readonly logicalCounter: number
}

/** Negative if the first is earlier, positive if it is later, 0 if they are the same. */
export function compareHybridTimes(one: HybridTime, other: HybridTime): number {
  return one.physicalMillis - other.physicalMillis || one.logicalCounter - other.logicalCounter
}

/**
 * A hybrid logical clock: its times strictly rise on this node, and a time that was given after a message was received
 * is later than the time in the message, whatever the wall clocks of the two say.
 */
export class HybridClock {
  readonly #wallClock: () => number
  readonly #maxDriftMs: number
  #last: HybridTime = { physicalMillis: 0, logicalCounter: 0 }

  /** A received time that is further ahead of the wall clock than `maxDriftMs` is refused: one broken clock must not move all. */
  constructor(wallClock: () => number, maxDriftMs = 60_000) {
    this.#wallClock = wallClock
    this.#maxDriftMs = maxDriftMs
  }

  /** Returns the time of a local change, or of a message to send. */
  send(): HybridTime {
    return this.#advance(this.#wallClock(), this.#last)
  }

  /**
   * Returns the time at which a message was received.
   * @throws RangeError for a time too far ahead
   */
  receive(remote: HybridTime): HybridTime {
    const wall = this.#wallClock()
    if (remote.physicalMillis - wall > this.#maxDriftMs)
      throw new RangeError(`The received time is ${remote.physicalMillis - wall} ms ahead of this node's clock.`)
    return this.#advance(wall, compareHybridTimes(remote, this.#last) > 0 ? remote : this.#last)
  }

  #advance(wall: number, latest: HybridTime): HybridTime {
    this.#last =
      wall > latest.physicalMillis
        ? { physicalMillis: wall, logicalCounter: 0 }
        : { physicalMillis: latest.physicalMillis, logicalCounter: latest.logicalCounter + 1 }
    return this.#last
  }
}
