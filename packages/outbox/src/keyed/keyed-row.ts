import type { EventEnvelope, ListenerContext } from '@waybill/core'
import type { EventKey, ShardRow } from '../api/outbox-store.ts'

/**
 * A row in the memory of its shard's owner. It is its own listener context: an object less per event.
 *
 * @typeParam Q the queue it lies in
 */
export class KeyedRow<Q extends { readonly signal: AbortSignal }> implements ListenerContext {
  readonly seq: bigint
  readonly eventId: string
  /** Null: it cannot be read, and `problem` says why (S1-087). */
  readonly event: EventEnvelope | null
  readonly problem: Error | undefined
  /** Failed attempts so far. */
  readonly attempts: number
  readonly key: EventKey | null
  /** By the monotonic clock. */
  readonly dueAt: number
  readonly queue: Q

  constructor(row: ShardRow, dueAt: number, queue: Q) {
    this.seq = row.seq
    this.eventId = row.eventId
    this.event = row.event
    this.problem = row.event === null ? row.problem : undefined
    this.attempts = row.attempts
    this.key = row.key
    this.dueAt = dueAt
    this.queue = queue
  }

  /** The attempt that runs now, 1 for the first. */
  get attempt(): number {
    return this.attempts + 1
  }

  /** Aborted for all rows of a shard at once: they are lost together. */
  get signal(): AbortSignal {
    return this.queue.signal
  }
}
