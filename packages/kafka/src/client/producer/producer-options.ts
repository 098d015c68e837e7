import { durationMs, integer, oneOf, orFalse, type Report, type Rule, resolveOptions } from '@waybill/core/option'
import { type Compression, compressions } from '../../wire/records/compression.ts'

/**
 * How records are batched, repeated and bounded. Not options, because nothing less can be called written: every producer
 * is idempotent and waits for all in-sync replicas.
 */
export interface ProducerOptions {
  /**
   * How often a batch is sent again after the broker said that it was not written and may be later. False sets no limit
   * but the delivery timeout. A repeat after a lost or doubtful answer is not counted: only another answer can tell
   * whether the batch is in the log, and giving up earlier would leave the caller with a doubt that costs nothing to
   * settle. Nor is a request that could not be sent.
   * @defaultValue 3 (EVENT), false (DEAD_LETTER)
   */
  retries?: number | false
  /**
   * First wait before a repeat; it doubles up to a second, with jitter.
   * @defaultValue 100
   */
  retryBackoffMs?: number
  /**
   * A record has its result after this time at the latest, waiting for space in the buffer included.
   * @defaultValue 30000
   */
  deliveryTimeoutMs?: number
  /**
   * How long one request may take before its connection is closed.
   * @defaultValue 7000
   */
  requestTimeoutMs?: number
  /**
   * How batches are packed.
   * @defaultValue 'LZ4'
   */
  compression?: Compression
  /**
   * How long records wait for company. A lone record with nothing in flight does not wait, nobody waits longer than for
   * the batch before, and a request that goes to their leader anyway takes them along.
   * @defaultValue 5 (EVENT), 0 (DEAD_LETTER)
   */
  lingerMs?: number
  /**
   * Records of a batch, before packing. A larger record travels alone.
   * @defaultValue 65536
   */
  batchBytes?: number
  /**
   * A request with so many bytes of batches is full.
   * @defaultValue 262144
   */
  maxRequestBytes?: number
  /**
   * Requests in flight to one node. A partition never has more than one.
   * @defaultValue 5 (EVENT), 1 (DEAD_LETTER)
   */
  maxInFlightRequests?: number
  /**
   * Records accepted and not yet settled. Beyond it a send waits for space, first come first served.
   * @defaultValue 33554432
   */
  maxBufferedBytes?: number
  /**
   * A larger record is refused before it is sent.
   * @defaultValue 1048576
   */
  maxRecordBytes?: number
  /**
   * How long the cluster may say that a topic or partition does not exist before its records are given back.
   * @defaultValue 5000
   */
  unknownTopicWaitMs?: number
}

/** {@link ProducerOptions} with nothing left open. */
export type ResolvedProducerOptions = Readonly<Required<ProducerOptions>>

/** EVENT for business events (S2-021, S2-022), DEAD_LETTER for retry and dead letter topics (S0-126). */
export type ProducerPreset = 'EVENT' | 'DEAD_LETTER'

type ProducerRules = { readonly [K in keyof ProducerOptions]-?: Rule<Required<ProducerOptions>[K]> }

/** Sizes and time-outs are int32 in requests. */
const mostOnTheWire = 2 ** 31 - 1

const eventRules: ProducerRules = {
  retries: orFalse(integer({ min: 0 }), {
    default: 3,
    because: 'a broker that refuses a batch four times has a problem that its caller should hear of',
  }),
  retryBackoffMs: durationMs({ default: 100, min: 1, because: 'a leader is elected within some hundred milliseconds' }),
  deliveryTimeoutMs: durationMs({ default: 30_000, min: 1, because: 'a broker that restarts is back by then' }),
  requestTimeoutMs: durationMs({
    default: 7_000,
    min: 1,
    max: mostOnTheWire,
    because: 'four attempts fit into the delivery timeout',
  }),
  compression: oneOf(compressions, {
    default: 'LZ4',
    because: 'it costs least processor time for a good half of the bytes',
  }),
  lingerMs: durationMs({ default: 5, because: 'a burst fills a batch within it, and nobody notices it' }),
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
    because: 'the broker writes one request while the next is made; of larger ones each waits for the other',
  }),
  maxInFlightRequests: integer({
    default: 5,
    min: 1,
    because: 'other partitions need not wait for the answer to one request',
  }),
  maxBufferedBytes: integer({ default: 33_554_432, min: 1, because: 'more than a node takes in a second' }),
  maxRecordBytes: integer({
    default: 1_048_576,
    min: 1,
    max: mostOnTheWire,
    because: 'a broker refuses more unless it is told otherwise',
  }),
  unknownTopicWaitMs: durationMs({ default: 5_000, because: 'a topic just created is known to every node by then' }),
}

const deadLetterRules: ProducerRules = {
  ...eventRules,
  retries: orFalse(integer({ min: 0 }), {
    default: false,
    because: 'nothing is acknowledged before its dead letter is written, so giving up early gains nothing',
  }),
  lingerMs: durationMs({ default: 0, because: 'a partition waits for this record' }),
  maxInFlightRequests: integer({ default: 1, min: 1, because: 'what failed together is written in its order' }),
}

/** The rules of {@link ProducerOptions} for each preset. */
export const producerRules: Readonly<Record<ProducerPreset, ProducerRules>> = {
  EVENT: eventRules,
  DEAD_LETTER: deadLetterRules,
}

const presetRules = { preset: oneOf(['EVENT', 'DEAD_LETTER'] as const) }

/** {@link ProducerOptions} of a producer whose records appear together or not at all. */
export interface TransactionalProducerOptions extends ProducerOptions {
  /**
   * The coordinator aborts a transaction that is open for longer.
   * @defaultValue 60000
   */
  transactionTimeoutMs?: number
}

/** {@link TransactionalProducerOptions} with nothing left open. */
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
    because: 'twice the delivery timeout; readers of committed records wait for it after a crash',
  }),
}

/** Applies defaults and checks. */
export function resolveTransactionalProducerOptions(
  given: TransactionalProducerOptions = {},
): ResolvedTransactionalProducerOptions {
  return resolveOptions('Transactional producer options', transactionalProducerRules, given, checkProducerOptions)
}

/** Applies a preset and checks. */
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
