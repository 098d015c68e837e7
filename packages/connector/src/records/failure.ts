/** The failure of a delivery. */
export interface Failure {
  /** The value the handler threw, or the reason it was not called. Can be anything. */
  readonly error: unknown
  /** Handler calls in this delivery. */
  readonly attempts: number
  /** Epoch milliseconds. */
  readonly atMs: number
  /** The span of the delivery, as a `traceparent`; undefined if it had none. */
  readonly traceparent?: string | undefined
}
