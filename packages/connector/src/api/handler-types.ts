/** The handlers and filters of a binding, and the context they receive. */

import type { Buffer } from 'node:buffer'
import type { Logger, RecordHeaders, Schemas } from '@waybill/core'
import type { KafkaRecord, OutRecord, Publisher, TopicPartition } from '@waybill/kafka'

/** The position of a record when it was first delivered. */
export interface OriginalPlace extends TopicPartition {
  readonly offset: bigint
}

/** The context of a handler call. Its properties are computed on first access. */
export interface DeliveryContext<S extends Schemas = Record<string, never>, Tx = undefined> {
  /** Aborts when the partition is revoked, the shutdown deadline passes, or `handlerTimeoutMs` elapses. */
  readonly signal: AbortSignal
  /** The number of this call within the delivery, from 1: tier 0 retries in memory. */
  readonly attempt: number
  /** 0 on the source topic, n on the n-th retry tier. */
  readonly tier: number
  /** The record with the bytes of its value, whether the binding decodes them or not. */
  readonly record: KafkaRecord
  /** The trusted headers of the record, plus those that the connector adds. */
  readonly headers: RecordHeaders
  /** The original position, which is the same in every tier. A replay through the source topic has a new one. */
  readonly original: OriginalPlace
  /**
   * An idempotency key that is the same in every tier: topic, partition and offset of `original`, such as
   * `orders-3-42`, followed by the number of the replay if there was one, such as `orders-3-42#1`.
   */
  readonly naturalKey: string
  readonly logger: Logger
  /**
   * Publishes events without the outbox: at least once, and not undone if the handler fails. In a transactional binding
   * it behaves like `send`, and resolves once the event is buffered.
   */
  readonly publisher: Publisher<S>
  /**
   * Sends a record in the Kafka transaction of a transactional binding. It is written, together with the offset of the
   * handled record, if and only if this handler call succeeds. Nothing is written yet when `send` returns.
   *
   * @throws NotTransactionalError in any other binding; StateError after the call has ended; ArgumentError for a record
   * that no broker accepts; OutputRecordTooLargeError above `transactional.maxRecordBytes`; OutputsTooLargeError
   */
  send(record: OutRecord): void
  /** The transaction of the inbox in `deduplicate` or `handleEvents`; undefined without one. */
  readonly tx: Tx
}

/** A record with its value as `decode` of the binding returns it; null is not decoded. */
export interface DecodedRecord<Value = unknown> extends Omit<KafkaRecord, 'value'> {
  readonly value: Value | null
}

/**
 * Handles single records: with their bytes, or with the value that `decode` of the binding returns, which is decoded anew
 * for each attempt. The connector owns the bytes: a change to `key`, `value` or a header also affects the next attempt,
 * the retry topic and the dead letter. Copy before you change anything.
 */
export type RecordHandler<Tx = undefined, Value = Buffer> = (
  record: DecodedRecord<Value>,
  context: DeliveryContext<Record<string, never>, Tx>,
) => Promise<void> | void

/**
 * Handles the records of a batch in one call: all of one partition, in offset order. Requires `listenerType: 'BATCH'`.
 *
 * If it returns, all records succeeded. If it throws a BatchProcessingError, those before the named record succeeded
 * and the others are delivered again. If it throws any other error, none succeeded.
 */
export interface BatchHandler<Value = Buffer> {
  /** Handles one batch. In the context, `record`, `headers` and `original` are those of the first record. */
  handleBatch(records: readonly DecodedRecord<Value>[], context: DeliveryContext): Promise<void> | void
}

/** A handler created by `handleEvents`. The connector decodes each record, then calls the handler of its event type. */
export interface EventHandler {
  readonly handlers: object
}

/**
 * Returns whether a binding handles a record; others are settled and counted as skipped. It runs before decoding, on
 * the source and in every tier. An error counts as a handler failure.
 */
export type RecordFilter = (record: KafkaRecord) => boolean
