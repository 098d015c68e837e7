import type { Deadline } from '@waybill/core/internal'

/** A component of an outbox. Parts are started in order and stopped in reverse. */
export interface OutboxPart {
  /** The name in errors. */
  readonly name: string
  /** True if no other part depends on it. It is stopped concurrently, so that it cannot use up the others' time. */
  readonly isAside?: boolean
  start(signal: AbortSignal): Promise<void> | void
  stop(deadline: Deadline): Promise<void> | void
  /** Returns the names of activities that have not ended. */
  running?(): readonly string[]
  /** The number of outcomes that are not written. */
  readonly unsettled?: number
}
