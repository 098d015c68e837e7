/** How a call ended. ASKED: the listener asked for more time. HOPELESS: it failed in a way that no repeat can mend. */
export type CallOutcome = 'ARRIVED' | 'FAILED' | 'HOPELESS' | 'ASKED'

/** A call of a listener that has ended. */
export interface Decided {
  readonly outcome: CallOutcome
  readonly attempt: number
  /** Of the right under which it was called; undefined when there was none. */
  readonly version: bigint | undefined
  /** False: it failed after it was told to stop, which says nothing about the event. */
  readonly counts: boolean
}
