/**
 * The outcome of a call. ASKED: the listener asked for more time. HOPELESS: it failed in a way that no retry can fix.
 */
export type CallOutcome = 'ARRIVED' | 'FAILED' | 'HOPELESS' | 'ASKED'

/** A completed call of a listener. */
export interface Decided {
  readonly outcome: CallOutcome
  readonly attempt: number
  /** Version of the lease under which it was called; undefined when there was none. */
  readonly version: bigint | undefined
  /** False: it failed after its signal was aborted, which says nothing about the event. */
  readonly counts: boolean
}
