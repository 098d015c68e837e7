/** The rules of the `transactional` option. */

import { durationMs, integer, nested, orFalse, type Report, type Rule } from '@waybill/core/option'
import type { TransactionalProducerOptions } from '@waybill/kafka'
import type { TransactionOptions } from '../api/binding.ts'
import type { ResolvedTransaction } from '../binding/resolved-binding.ts'
import { preparerOf } from '../handlers/handle-events.ts'
import { derivedProducerOptions } from '../records/derived-publisher.ts'

const mebibyte = 1024 * 1024

const rules: { readonly [K in keyof TransactionOptions]-?: Rule<ResolvedTransaction[K]> } = {
  maxRecords: integer({
    default: 500,
    min: 1,
    max: 100_000,
    because: 'a transaction costs about as much as writing some hundred records',
  }),
  maxBytes: integer({
    default: 8 * mebibyte,
    min: 2_000,
    because: 'bounds the heap: each output counts with 1,000 bytes of overhead',
  }),
  maxRecordBytes: integer({
    default: mebibyte,
    min: 1,
    max: derivedProducerOptions.maxRecordBytes,
    because: 'the default limit of brokers and producers',
  }),
  timeoutMs: durationMs({
    default: 30_000,
    min: 1_000,
    max: 900_000,
    because: 'covers a broker restart; Kafka allows 15 minutes',
  }),
}

const settings = nested(rules)

/** The rule of `transactional`. `true` is the same as an empty object. */
export const transactionalRule: Rule<ResolvedTransaction | false> = {
  ...orFalse(settings, { default: false, because: 'most handlers write to a database and not to Kafka' }),
  expects: 'true, false or an object',
  accepts: (value) => typeof value === 'boolean' || settings.accepts(value),
  inside: (value, path, report) =>
    value === false ? false : (settings.inside?.(value === true ? {} : value, path, report) as ResolvedTransaction),
}

/** The options of a binding that are checked here. */
interface Declared {
  readonly transactional: ResolvedTransaction | false
  readonly parallelism: string
  readonly orderingMode: string
  readonly listenerType: string
  readonly maxAhead: number
  readonly oversizedBatch: string
  readonly handler: unknown
  /** Marks of a store or an inbox. */
  readonly deduplicate?: unknown
}

/** Reports options that are incompatible with transactions. */
export function checkTransactional(binding: Declared, report: Report): void {
  const { transactional, parallelism, orderingMode, listenerType, maxAhead, handler, deduplicate, oversizedBatch } =
    binding
  if (transactional === false) return
  if (orderingMode === 'KEY')
    report('orderingMode', 'must not be KEY with transactional: the waiting topic is never written in a transaction')
  else if (parallelism !== 'PARTITION')
    report(
      'parallelism',
      `must be PARTITION with transactional, got ${parallelism}: a transaction commits an offset and all below it`,
    )
  if (oversizedBatch === 'DEAD_LETTER')
    report(
      'oversizedBatch',
      'must be HALT with transactional, got DEAD_LETTER: a transaction settles records one by one',
    )
  if (listenerType === 'BATCH')
    report(
      'listenerType',
      'must be SINGLE with transactional, got BATCH: outputs of a batch call cannot be assigned to records; ' +
        'a transaction already covers many records',
    )
  if (transactional.maxRecords > maxAhead)
    report('transactional.maxRecords', `must be at most maxAhead, ${maxAhead}, got ${transactional.maxRecords}`)
  const marks = deduplicate === undefined ? undefined : 'deduplicate'
  if (marks !== undefined || preparerOf(handler)?.inbox !== undefined)
    report(
      marks ?? 'handler',
      'must not mark records with transactional: a mark outlives an aborted transaction, and the redelivery would be ' +
        'skipped without its outputs. The transaction itself prevents duplicate outputs',
    )
}

/** Returns producer options with timeouts well below the one after which the coordinator aborts a transaction. */
export function transactionProducerOptions({ timeoutMs }: ResolvedTransaction): TransactionalProducerOptions {
  const deliveryTimeoutMs = Math.floor(timeoutMs / 2)
  return {
    ...derivedProducerOptions,
    transactionTimeoutMs: timeoutMs,
    deliveryTimeoutMs,
    requestTimeoutMs: Math.min(7_000, Math.ceil(deliveryTimeoutMs / 2)),
    unknownTopicWaitMs: Math.min(5_000, Math.ceil(deliveryTimeoutMs / 3)),
    // All records of a transaction are sent in one turn of the event loop, so lingering cannot add any.
    lingerMs: 0,
  }
}
