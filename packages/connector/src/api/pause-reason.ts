/** Why something does not fetch: a set, and fetching runs while it is empty (D8, I15). */

/**
 * - OPERATOR: somebody said pause.
 * - BREAKER: the circuit is open.
 * - DELAY: the first record of a tier partition is not due, or a blocked one waits for its next attempt.
 * - BACKPRESSURE: as many records or bytes are buffered as may, or the waiting topic is not read yet.
 * - DEAD_LETTER_FAILURE: a retry or dead letter record is not confirmed yet, after at least one failure; or a transaction of
 *   a transactional binding is not committed, after three.
 * - WAITING_FULL: as many records of the partition wait as may.
 * - EXHAUSTED: a record failed for good and nothing may be done with it without an operator.
 * - SHUTDOWN: the container stops.
 */
export type PauseReason =
  | 'OPERATOR'
  | 'BREAKER'
  | 'DELAY'
  | 'BACKPRESSURE'
  | 'DEAD_LETTER_FAILURE'
  | 'WAITING_FULL'
  | 'EXHAUSTED'
  | 'SHUTDOWN'
