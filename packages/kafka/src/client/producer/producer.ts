import type { Buffer } from 'node:buffer'

/** A record to send. */
export interface OutRecord {
  readonly topic: string
  /** If omitted, the partition contract applies to the key; without a key, partitions take turns. */
  readonly partition?: number
  readonly key: Buffer | null
  readonly value: Buffer | null
  readonly headers?: Iterable<readonly [string, Buffer | null]>
  /** Epoch milliseconds. @defaultValue now */
  readonly timestamp?: number
}

/** Options of one send. */
export interface SendOptions {
  /**
   * Cancels the send when it aborts. A record that is not in a request yet is removed and never sent (kind RETRIABLE).
   * A record in flight may be in the log, or appear there shortly (kind UNKNOWN): that is not success, and a retry may
   * create a duplicate. The signal is checked from 100 ms after the call on: nearly every record has its result before,
   * and listening to a signal costs more than sending.
   */
  readonly signal?: AbortSignal
}

/** The position of a written record. */
export interface SendResult {
  readonly partition: number
  readonly offset: bigint
}

/** Writes records. */
export interface Producer extends AsyncDisposable {
  /**
   * Resolves when all in-sync replicas have the record. Rejects with KafkaError; kind UNKNOWN means that the record may
   * be in the log.
   */
  send(record: OutRecord, options?: SendOptions): Promise<SendResult>
  /** Resolves when every record sent so far has its result. */
  flush(): Promise<void>
  /** Flushes, then closes the producer. */
  close(): Promise<void>
}
