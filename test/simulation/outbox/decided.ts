/**
 * The outcome of a call. ASKED: the listener asked for more time. HOPELESS: it failed in a way that no retry can fix.
 * AWAY: its destination was unavailable, and nothing says that the event is the reason.
 */
export type CallOutcome = 'ARRIVED' | 'FAILED' | 'HOPELESS' | 'ASKED' | 'AWAY'

/** A completed call of a listener. */
export interface Decided {
  readonly outcome: CallOutcome
  readonly attempt: number
  /** Version of the lease under which it was called; undefined when there was none. */
  readonly version: bigint | undefined
  /** False: it failed after its signal was aborted, which says nothing about the event. */
  readonly counts: boolean
  /** True: its destination looked unavailable, and others show that the event is the reason. */
  readonly isFoundOut?: boolean
}
