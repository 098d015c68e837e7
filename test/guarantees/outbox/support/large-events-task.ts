import type { DatabaseAddress } from './open-database.ts'
import type { OutboxTask } from './outbox-task.ts'

/** The task of a process that delivers large events. */
export interface LargeEventsTask {
  readonly database: DatabaseAddress
  readonly table: string
  readonly mode: OutboxTask['mode']
  /** Absent: the default. */
  readonly maxBufferedBytes?: number | undefined
  /** Duration of a listener. */
  readonly handleMs: number
  /** Listeners wait until the outbox has buffered more bytes than this once, however slow its reads are. */
  readonly fillBytes: number
  /** Events in the table. */
  readonly events: number
  /** Events that it then writes itself, ten per transaction, past the table where the mode has a hot path. */
  readonly written: number
  readonly eventBytes: number
}

/** Its only message, when everything is delivered. Sizes are in bytes. */
export interface LargeEventsMessage {
  readonly kind: 'DELIVERED'
  readonly deliveries: number
  readonly distinct: number
  /** The highest measurement of `outbox.buffered.bytes`. */
  readonly mostBuffered: number
  /** The highest use of the heap, garbage included, and of memory by the process. */
  readonly mostHeap: number
  readonly mostResident: number
}
