/**
 * A reason not to fetch. Reasons form a set, and fetching continues once the set is empty (I15).
 * - OPERATOR: an operator paused it.
 * - BREAKER: the circuit is open.
 * - DELAY: the first record of a tier partition is not due, or a blocking record waits for its next attempt.
 * - BACKPRESSURE: the buffer of records or bytes is full, or the waiting topic has not been read yet.
 * - DEAD_LETTER_FAILURE: a retry or dead letter record is still unconfirmed after at least one failure, or a
 *   transaction is still uncommitted after three.
 * - WAITING_FULL: the maximum number of waiting records is reached.
 * - EXHAUSTED: a record failed permanently and waits for an operator.
 * - SHUTDOWN: the container is stopping.
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
