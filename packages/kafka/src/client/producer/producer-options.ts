import { durationMs, integer, oneOf, orFalse, type Report, type Rule, resolveOptions } from '@waybill/core/option'
import { type Compression, compressions } from '../../wire/records/compression.ts'

/**
 * Options for batching, retries and limits. Every producer is idempotent and waits for all in-sync replicas; that is
 * not optional.
 */
export interface ProducerOptions {
  /**
   * Most retries after the broker said that a batch was not written and may be accepted later. False sets no limit but
   * the delivery timeout. A retry after a lost or doubtful response does not count: only another response can tell
   * whether the batch is in the log. A request that could not be sent does not count either.
   * @defaultValue 3 (EVENT), false (DEAD_LETTER)
   */
  retries?: number | false
  /**
   * First wait before a retry; it doubles up to one second, with jitter.
   * @defaultValue 100
   */
  retryBackoffMs?: number
  /**
   * Longest time until a record has its result, including the wait for buffer space.
   * @defaultValue 30000
   */
  deliveryTimeoutMs?: number
  /**
   * Longest time of one request before its connection is closed.
   * @defaultValue 7000
   */
  requestTimeoutMs?: number
  /**
   * Compression of batches.
   * @defaultValue 'LZ4'
   */
  compression?: Compression
  /**
   * Time that records wait for others to share their batch. A lone record with nothing in flight does not wait, no
   * record waits longer than for the previous batch, and a request to the same leader takes waiting records along.
   * @defaultValue 5 (EVENT), 0 (DEAD_LETTER)
   */
  lingerMs?: number
  /**
   * Most bytes of records in a batch, before compression. A larger record is sent alone.
   * @defaultValue 65536
   */
  batchBytes?: number
  /**
   * Most bytes of batches in a request.
   * @defaultValue 262144
   */
  maxRequestBytes?: number
  /**
   * Most requests in flight to one node. A partition never has more than one.
   * @defaultValue 5 (EVENT), 1 (DEAD_LETTER)
   */
  maxInFlightRequests?: number
  /**
   * Most bytes of records without a result. Beyond it a send waits for space, first come first served.
   * @defaultValue 33554432
   */
  maxBufferedBytes?: number
  /**
   * Most bytes of a record. A larger one is refused before it is sent.
   * @defaultValue 1048576
   */
  maxRecordBytes?: number
  /**
   * Time for which a topic or partition may not exist before its records fail.
   * @defaultValue 5000
   */
  unknownTopicWaitMs?: number
}

/** {@link ProducerOptions} with all defaults applied. */
export type ResolvedProducerOptions = Readonly<Required<ProducerOptions>>

/** The presets: EVENT for business events, DEAD_LETTER for retry and dead letter topics. */
export type ProducerPreset = 'EVENT' | 'DEAD_LETTER'

type ProducerRules = { readonly [K in keyof ProducerOptions]-?: Rule<Required<ProducerOptions>[K]> }

/** The largest int32, the type of sizes and timeouts in requests. */
const mostOnTheWire = 2 ** 31 - 1

const eventRules: ProducerRules = {
  retries: orFalse(integer({ min: 0 }), {
    default: 3,
    because: 'a broker that refuses a batch four times has a problem to report to the caller',
  }),
  retryBackoffMs: durationMs({ default: 100, min: 1, because: 'a leader election takes some hundred milliseconds' }),
  deliveryTimeoutMs: durationMs({ default: 30_000, min: 1, because: 'a broker restarts within it' }),
  requestTimeoutMs: durationMs({
    default: 7_000,
    min: 1,
    max: mostOnTheWire,
    because: 'four attempts fit into the delivery timeout',
  }),
  compression: oneOf(compressions, {
    default: 'LZ4',
    because: 'least CPU time for about half of the bytes',
  }),
  lingerMs: durationMs({ default: 5, because: 'a burst fills a batch within it, at no noticeable delay' }),
  batchBytes: integer({
    default: 65_536,
    min: 1,
    max: mostOnTheWire,
    because: 'larger batches gain little and hold memory',
  }),
  maxRequestBytes: integer({
    default: 262_144,
    min: 1,
    max: mostOnTheWire,
    because: 'the broker writes one request while the next is encoded; larger requests lose that overlap',
  }),
  maxInFlightRequests: integer({
    default: 5,
    min: 1,
    because: 'other partitions need not wait for the answer to one request',
  }),
  maxBufferedBytes: integer({ default: 33_554_432, min: 1, because: 'more than a node accepts in a second' }),
  maxRecordBytes: integer({
    default: 1_048_576,
    min: 1,
    max: mostOnTheWire,
    because: 'the default limit of a broker',
  }),
  unknownTopicWaitMs: durationMs({ default: 5_000, because: 'every node knows a new topic by then' }),
}

const deadLetterRules: ProducerRules = {
  ...eventRules,
  retries: orFalse(integer({ min: 0 }), {
    default: false,
    because: 'no record is acknowledged before its dead letter is written, so giving up early gains nothing',
  }),
  lingerMs: durationMs({ default: 0, because: 'a partition waits for this record' }),
  maxInFlightRequests: integer({ default: 1, min: 1, because: 'records that failed together are written in order' }),
}

/** The rules of {@link ProducerOptions}, by preset. */
export const producerRules: Readonly<Record<ProducerPreset, ProducerRules>> = {
  EVENT: eventRules,
  DEAD_LETTER: deadLetterRules,
}

const presetRules = { preset: oneOf(['EVENT', 'DEAD_LETTER'] as const) }

/** {@link ProducerOptions} of a transactional producer. */
export interface TransactionalProducerOptions extends ProducerOptions {
  /**
   * Longest time of a transaction before the coordinator aborts it.
   * @defaultValue 60000
   */
  transactionTimeoutMs?: number
}

/** {@link TransactionalProducerOptions} with all defaults applied. */
export type ResolvedTransactionalProducerOptions = Readonly<Required<TransactionalProducerOptions>>

/** The rules of {@link TransactionalProducerOptions}. */
export const transactionalProducerRules: {
  readonly [K in keyof TransactionalProducerOptions]-?: Rule<Required<TransactionalProducerOptions>[K]>
} = {
  ...eventRules,
  retries: orFalse(integer({ min: 0 }), {
    default: false,
    because: 'one failed send costs the whole transaction',
  }),
  transactionTimeoutMs: durationMs({
    default: 60_000,
    min: 1,
    max: mostOnTheWire,
    because: 'twice the delivery timeout; read-committed consumers wait for it after a crash',
  }),
}

/** Applies the defaults and validates. @throws OptionsError */
export function resolveTransactionalProducerOptions(
  given: TransactionalProducerOptions = {},
): ResolvedTransactionalProducerOptions {
  return resolveOptions('Transactional producer options', transactionalProducerRules, given, checkProducerOptions)
}

/** Applies a preset and validates. @throws OptionsError */
export function resolveProducerOptions(preset: ProducerPreset, given: ProducerOptions = {}): ResolvedProducerOptions {
  resolveOptions('Producer', presetRules, { preset })
  return resolveOptions('Producer options', producerRules[preset], given, checkProducerOptions)
}

function checkProducerOptions(options: ResolvedProducerOptions, report: Report): void {
  const { batchBytes, maxBufferedBytes, maxRecordBytes, requestTimeoutMs, deliveryTimeoutMs } = options
  const largestBytes = Math.max(batchBytes, maxRecordBytes)
  if (maxBufferedBytes < largestBytes)
    report(
      'maxBufferedBytes',
      `must hold a whole batch and the largest record (${largestBytes}), got ${maxBufferedBytes}`,
    )
  if (requestTimeoutMs > deliveryTimeoutMs)
    report(
      'requestTimeoutMs',
      `must be at most deliveryTimeoutMs (${deliveryTimeoutMs}), got ${requestTimeoutMs}: no answer would come in time`,
    )
}
