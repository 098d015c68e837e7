/** What went wrong in a delivery. */
export interface Failure {
  /** What the handler threw, or why it was not called. Can be anything. */
  readonly error: unknown
  /** Calls of the handler in this delivery. */
  readonly attempts: number
  /** Epoch milliseconds. */
  readonly atMs: number
}
