/** Tells the time. Two readings, because the wall clock jumps (NTP, suspend) and durations must not. */
export interface Clock {
  /** Milliseconds since the epoch, for what is written down: timestamps in headers and rows. */
  now(): number
  /** Milliseconds from an arbitrary start that never jump or run backwards, for durations and deadlines. */
  monotonic(): number
}

/** The clock of this machine. */
export const systemClock: Clock = Object.freeze({
  now: () => Date.now(),
  monotonic: () => performance.now(),
})
