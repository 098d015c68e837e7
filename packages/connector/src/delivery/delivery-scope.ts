import type { LogContextRunner } from '@waybill/core/internal'

/** Decides what a delivery may still do. */
export interface DeliveryScope {
  /** Returns false while no handler may start: the partition is paused, revoked or lost. */
  mayStart(): boolean
  /** Aborts when no further attempt may be made: the partition is revoked, or an operator pauses it. */
  readonly retrying: AbortSignal
  /** Aborts when the handler has no more time. */
  readonly handling: AbortSignal
  /** Calls handlers, each in the log context of its record. */
  readonly logContexts: Pick<LogContextRunner, 'run'>
}
