import type { Deadline } from '@waybill/core/internal'

/** Something that runs inside an outbox: parts are started in order and stopped in reverse. */
export interface OutboxPart {
  /** How errors call it. */
  readonly name: string
  /** Nobody needs it, so it is stopped beside the others: one that hangs must not use up their time. */
  readonly isAside?: boolean
  start(signal: AbortSignal): Promise<void> | void
  stop(deadline: Deadline): Promise<void> | void
  /** What has not ended, by name. */
  running?(): readonly string[]
}
