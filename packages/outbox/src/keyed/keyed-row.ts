import type { EventEnvelope, ListenerContext } from '@waybill/core'
import type { EventKey, ShardRow } from '../api/outbox-store.ts'
import { keyText } from './shard-of.ts'

/**
 * A row in the memory of its shard's owner. It doubles as its listener context, which saves an object per event.
 *
 * @typeParam Q the queue that holds it
 */
export class KeyedRow<Q extends { readonly signal: AbortSignal }> implements ListenerContext {
  readonly seq: bigint
  readonly eventId: string
  /** Null: it cannot be read, and `problem` has the reason. */
  readonly event: EventEnvelope | null
  readonly problem: Error | undefined
  /** Failed attempts so far. */
  readonly attempts: number
  readonly bytes: number
  readonly key: EventKey | null
  /** The key as one string; null: no order. */
  readonly keyText: string | null
  /** By the monotonic clock. */
  readonly dueAt: number
  readonly queue: Q

  constructor(row: ShardRow, dueAt: number, queue: Q) {
    this.seq = row.seq
    this.eventId = row.eventId
    this.event = row.event
    this.problem = row.event === null ? (row.problem ?? undefined) : undefined
    this.attempts = row.attempts
    this.bytes = row.bytes
    this.key = row.key
    this.keyText = row.key === null ? null : keyText(row.key)
    this.dueAt = dueAt
    this.queue = queue
  }

  /** The number of the current attempt, 1 for the first. */
  get attempt(): number {
    return this.attempts + 1
  }

  /** The signal of the shard: all of its rows are lost together. */
  get signal(): AbortSignal {
    return this.queue.signal
  }
}
