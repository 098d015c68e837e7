import type { WireRecord } from '@waybill/core'
import type { ReadBudget } from './read-budget.ts'

/** A record that waits to be handled, as it came. */
export interface WaitingRecord {
  /** A place that an operator can find: `orders.retry-1-0@42`. */
  readonly place: string
  /** The record on the wire, or the reason why it cannot be one. */
  readonly wire: WireRecord | Error
  readonly bytes: number
  /** Whether it lies here because no consumer could read it: it is no worse off with another catalog. */
  readonly wasUnreadable: boolean
}

/** The result of reading one topic or table. */
export interface WaitingReading {
  readonly name: string
  readonly read: number
  readonly bytes: number
  /** Records that were not read, at most; null if their number is not known. */
  readonly unread: number | null
  /** Records without content, which no catalog reads: placeholders of batches that were too large. */
  readonly withoutContent: number
  /** The bound that ended the reading, or the reason why some records could not be read. */
  readonly endedBy: string | null
}

/** A place where records wait. */
export interface WaitingSource {
  /** Reads within a budget, the oldest records first. Rejects if the place cannot be read. */
  read(budget: ReadBudget, visit: (record: WaitingRecord) => Promise<void>): Promise<readonly WaitingReading[]>
}
