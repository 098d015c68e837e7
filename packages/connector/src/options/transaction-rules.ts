/** How a binding's transactions are bounded, and what a transactional binding cannot be (S0-149). */

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
    because: 'one transaction costs about as much as writing some hundred records',
  }),
  maxBytes: integer({
    default: 8 * mebibyte,
    min: 2_000,
    because: 'bounds the heap whatever a handler sends: each output counts with 1,000 bytes more than it has',
  }),
  maxRecordBytes: integer({
    default: mebibyte,
    min: 1,
    max: derivedProducerOptions.maxRecordBytes,
    because: 'a broker refuses more unless it is told otherwise; a producer has the same limit',
  }),
  timeoutMs: durationMs({
    default: 30_000,
    min: 1_000,
    max: 900_000,
    because: 'a broker that restarts is back by then; Kafka allows 15 minutes',
  }),
}

const settings = nested(rules)

/** `true` is an object without anything in it. */
export const transactionalRule: Rule<ResolvedTransaction | false> = {
  ...orFalse(settings, { default: false, because: 'most handlers write to a database and not to Kafka' }),
  expects: 'true, false or an object',
  accepts: (value) => typeof value === 'boolean' || settings.accepts(value),
  inside: (value, path, report) =>
    value === false ? false : (settings.inside?.(value === true ? {} : value, path, report) as ResolvedTransaction),
}

/** What is read of a binding here. */
interface Declared {
  readonly transactional: ResolvedTransaction | false
  readonly parallelism: string
  readonly orderingMode: string
  readonly listenerType: string
  readonly maxAhead: number
  readonly handler: unknown
  /** A mark beside the effect, or in its SQL transaction. */
  readonly deduplicate?: unknown
}

/** Reports everything that does not go with transactions, and why. */
export function checkTransactional(binding: Declared, report: Report): void {
  const { transactional, parallelism, orderingMode, listenerType, maxAhead, handler, deduplicate } = binding
  if (transactional === false) return
  if (orderingMode === 'KEY')
    report('orderingMode', 'must not be KEY with transactional: the waiting topic is never written in a transaction')
  else if (parallelism !== 'PARTITION')
    report(
      'parallelism',
      `must be PARTITION with transactional, got ${parallelism}: a transaction commits one offset, and all below it`,
    )
  if (listenerType === 'BATCH')
    report(
      'listenerType',
      'must be SINGLE with transactional, got BATCH: of a call for many records nobody knows which output is whose; ' +
        'a transaction takes many records by itself',
    )
  if (transactional.maxRecords > maxAhead)
    report('transactional.maxRecords', `must be at most maxAhead, ${maxAhead}, got ${transactional.maxRecords}`)
  const marks = deduplicate === undefined ? undefined : 'deduplicate'
  if (marks !== undefined || preparerOf(handler)?.inbox !== undefined)
    report(
      marks ?? 'handler',
      'must not mark what was handled with transactional: a mark outlives a transaction that is aborted, and the repeat ' +
        'would pass without its outputs. The transaction itself keeps outputs from being written twice',
    )
}

/** What one transaction may take, well below the time after which its coordinator aborts it. */
export function transactionProducerOptions({ timeoutMs }: ResolvedTransaction): TransactionalProducerOptions {
  const deliveryTimeoutMs = Math.floor(timeoutMs / 2)
  return {
    ...derivedProducerOptions,
    transactionTimeoutMs: timeoutMs,
    deliveryTimeoutMs,
    requestTimeoutMs: Math.min(7_000, Math.ceil(deliveryTimeoutMs / 2)),
    unknownTopicWaitMs: Math.min(5_000, Math.ceil(deliveryTimeoutMs / 3)),
    // All of a transaction is sent in one turn, and it waits for all.
    lingerMs: 0,
  }
}
