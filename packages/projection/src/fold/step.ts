/** The effect of an event on a row with a version. */
export type Step =
  /** The row includes the event. */
  | 'SKIP'
  /** The event is the next one. */
  | 'APPLY'
  /** Events before it are missing. */
  | 'GAP'

/**
 * Returns the effect of an event with version `found` on a row at version `current`; a missing row is at version 0, so its
 * first event has version 1. Live reading, rebuilds, releases and simulations all decide by it.
 */
export function step(current: number, found: number): Step {
  if (found <= current) return 'SKIP'
  return found === current + 1 ? 'APPLY' : 'GAP'
}
