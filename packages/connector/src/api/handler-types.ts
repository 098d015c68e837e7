/** The functions a binding calls, and what they are called with. */

import type { Logger, RecordHeaders, Schemas } from '@waybill/core'
import type { KafkaRecord, OutRecord, Publisher, TopicPartition } from '@waybill/kafka'

/** Where a record lay when it was delivered for the first time. */
export interface OriginalPlace extends TopicPartition {
  readonly offset: bigint
}

/** What a handler is told beside the record. Everything is made when it is asked for. */
export interface DeliveryContext<S extends Schemas = Record<string, never>, Tx = undefined> {
  /** Aborts when the partition or the process has no more time, or after `handlerTimeoutMs`. */
  readonly signal: AbortSignal
  /** Call of the handler for this delivery, from 1: tier 0 repeats it. */
  readonly attempt: number
  /** 0 on the source topic, n on the n-th retry tier. */
  readonly tier: number
  readonly record: KafkaRecord
  /** The record's headers that may be believed, and what the connector adds to them (S0-162). */
  readonly headers: RecordHeaders
  /** Where the record lay first: the same on every tier. A replay through the source topic begins anew. */
  readonly original: OriginalPlace
  /**
   * What the record is known by wherever it lies: topic, partition and offset of `original`, as in `orders-3-42`, with the
   * number of its replay behind a sign, `orders-3-42#1`. Fit for a key against repeats (S0-201, C-18).
   */
  readonly naturalKey: string
  readonly logger: Logger
  /**
   * Writes events beside the outbox: at least once, and not undone when the handler fails. In a transactional binding it
   * writes as `send` does, and resolves once the event is kept.
   */
  readonly publisher: Publisher<S>
  /**
   * In a transactional binding: written if and only if this call succeeds, together with the offset of its record. Nothing
   * is written yet when it returns; what is sent after the call has ended is refused.
   *
   * @throws NotTransactionalError in any other binding; StateError when the call is over; ArgumentError for a record that no
   * broker takes; OutputRecordTooLargeError for one above `transactional.maxRecordBytes`; OutputsTooLargeError
   */
  send(record: OutRecord): void
  /** The transaction of the inbox that `deduplicate` or `handleEvents` was given; undefined without one. */
  readonly tx: Tx
}

/**
 * Takes records as they are. Their bytes are the connector's: what a handler changes in `key`, `value` or a header goes
 * into the next attempt, the retry topic and the dead letter too. Copy what you want to change.
 */
export type RecordHandler<Tx = undefined> = (
  record: KafkaRecord,
  context: DeliveryContext<Record<string, never>, Tx>,
) => Promise<void> | void

/**
 * Takes the records of a batch in one call, in the order of their offsets, all of one partition. Needs
 * `listenerType: 'BATCH'`.
 *
 * When it returns, all of them have succeeded. When it throws a BatchProcessingError, those before the named one have;
 * the others are delivered again. When it throws anything else, none has.
 */
export interface BatchHandler {
  /** In the context `record`, `headers` and `original` are those of the first record. */
  handleBatch(records: readonly KafkaRecord[], context: DeliveryContext): Promise<void> | void
}

/** What `handleEvents` makes, for `handler` of a binding. The connector decodes records, then calls what is in it. */
export interface EventHandler {
  readonly handlers: object
}

/**
 * Which records a binding takes; the others are settled as skipped and counted. It sees a record as it lies on the topic,
 * before it is decoded, on the source and in every tier. What it throws counts as a failure of the handler.
 */
export type RecordFilter = (record: KafkaRecord) => boolean
