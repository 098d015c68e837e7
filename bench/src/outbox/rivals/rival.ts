/** The work of a contestant of the outbox. */

import type pg from 'pg'
import type { NumberedPayload } from './call-counter.ts'

/** The sessions that a contestant may open, Waybill included. */
export const sessions = 4

/** A filled table and the engine that drains it. */
export interface Rival {
  /** Counts the rows that are still to be delivered, or delivered and not deleted. */
  readonly countLeft: string
  /** Creates its tables and fills them. */
  seed(pool: pg.Pool, payloads: readonly (NumberedPayload & { readonly key: string })[]): Promise<void>
  /** Starts the engine, which calls `listener` for each event and deletes it. */
  start(url: string, listener: (payload: NumberedPayload) => Promise<void>): Promise<void>
}
