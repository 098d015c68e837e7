import type { Buffer } from 'node:buffer'

/** A record to write. */
export interface OutRecord {
  readonly topic: string
  /** Left out: the partition contract over the key; without a key, partitions in turn. */
  readonly partition?: number
  readonly key: Buffer | null
  readonly value: Buffer | null
  readonly headers?: Iterable<readonly [string, Buffer | null]>
  /** Epoch milliseconds. @defaultValue now */
  readonly timestamp?: number
}

/** How one record is sent. */
export interface SendOptions {
  /**
   * Gives the send up when it aborts. What no request carries yet is taken back and never sent (kind RETRIABLE); of a record
   * that is on its way nobody can say more than that it may be in the log, or be there shortly (kind UNKNOWN): it is not
   * success, and a repeat may be a second copy. Looked at from 100 ms after the call on: nearly every record has its result
   * before, and listening to a signal costs more than sending.
   */
  readonly signal?: AbortSignal
}

/** Where a record was written. */
export interface SendResult {
  readonly partition: number
  readonly offset: bigint
}

/** Writes records. */
export interface Producer extends AsyncDisposable {
  /** Resolves when all in-sync replicas have it. Rejects with KafkaError; kind UNKNOWN means that it may be in the log. */
  send(record: OutRecord, options?: SendOptions): Promise<SendResult>
  /** Resolves when nothing sent so far is without its result. */
  flush(): Promise<void>
  /** Flushes, then ends. */
  close(): Promise<void>
}
