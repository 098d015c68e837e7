import type { FailureType } from '../api/failure-type.ts'

/** The outcome of a row's delivery. `isFree`: the row is deferred, and no attempt is spent (I23). */
export type Outcome =
  | { readonly kind: 'DONE' }
  | ({ readonly kind: 'RETRY'; readonly delayMs: number; readonly isFree?: true } & Failed)
  | ({ readonly kind: 'DEAD' } & Failed)

/** The result of a delivery: an outcome to write, or a wait that leaves the row as it is. */
export type Delivered = Outcome | Waits

/** The destination of the event is unavailable: no attempt is spent (I23). */
export interface Waits {
  readonly kind: 'WAITS'
  readonly destination: string
}

interface Failed {
  readonly error: string
  /** Undefined: no attempt failed; the row waits for its time. */
  readonly failureType?: FailureType | undefined
  /**
   * Set if the failure says nothing about the health of the listener's dependencies: the event itself is the reason, it
   * has no listener, or its listener asked for a later time.
   */
  readonly isByEvent?: true
}

/** The outcome of nearly every delivery, created once. */
export const done: Outcome = Object.freeze({ kind: 'DONE' })
