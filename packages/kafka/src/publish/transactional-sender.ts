/**
 * Sends records in transactions, as few as there can be: while one is under way the next gathers.
 *
 *     gathered ─▶ begin ─▶ all sent ─▶ commit ─▶ all resolved
 *                            │ some refused         │ no answer
 *                            ▼                      ▼
 *              abort; those reject, the       producer discarded,
 *              others go again                all reject: they may be in the log
 *
 * Whoever gives a record up leaves: before its transaction it is taken back, within it nobody knows, and the others of the
 * transaction go on.
 */

import { KafkaError } from '../client/cluster/kafka-error.ts'
import type { KafkaClient } from '../client/kafka-client.ts'
import type { OutRecord } from '../client/producer/producer.ts'
import type { TransactionalProducerOptions } from '../client/producer/producer-options.ts'
import { notSentError } from '../client/producer/send-error.ts'
import type { TransactionalProducer } from '../client/producer/transactional-producer.ts'

/** Sends one record; many calls share a transaction. */
export interface TransactionalSender {
  /** Resolves when the transaction that holds the record is committed. */
  send(record: OutRecord, options: { readonly signal: AbortSignal }): Promise<void>
}

interface Waiting {
  readonly record: OutRecord
  /** Its caller has an answer. */
  isAnswered: boolean
  resolve(): void
  reject(error: unknown): void
}

interface Failure {
  readonly reason: unknown
}

/** A refused send leaves its transaction to be aborted, and its own reason as the cause of that. */
function isRefused(failure: Failure | undefined): boolean {
  const cause = failure?.reason instanceof KafkaError ? failure.reason.cause : undefined
  return cause instanceof KafkaError && cause.kind === 'FATAL'
}

/**
 * Rejects what the broker refuses for good, and answers the others: they failed with it, not by themselves. When nothing
 * was refused, all reject: what hit one of them may hit them all again.
 */
function sortOut(batch: readonly Waiting[], failures: readonly (Failure | undefined)[]): Waiting[] {
  const someRefused = failures.some(isRefused)
  const first = failures.find((failure) => failure !== undefined)
  return batch.filter((one, index) => {
    const failure = failures[index]
    if (someRefused && !isRefused(failure)) return true
    one.reject((failure ?? first)?.reason)
    return false
  })
}

/** For a record that its caller gave up while its transaction was under way. */
function leftTransactionError(transactionalId: string, cause: unknown): KafkaError {
  return new KafkaError(`A transaction of ${transactionalId} was given up before it ended.`, 'UNKNOWN', {
    cause,
    impact: 'All of the transaction becomes visible, or nothing.',
    hint: 'Send the record again only if a second copy does no harm.',
  })
}

/** A transaction holds the log's readers up until it ends, so it may not grow without bound. */
const mostPerTransaction = 500

/** Makes a {@link TransactionalSender}. Its producer is made for the first record, and anew after one that failed. */
export function createTransactionalSender(
  kafka: Pick<KafkaClient, 'transactionalProducer'>,
  transactionalId: string,
  options: Pick<TransactionalProducerOptions, 'maxRecordBytes'>,
): TransactionalSender {
  // As long as the outbox has workers at most: each waits for its own record.
  const gathered: Waiting[] = []
  let producer: TransactionalProducer | undefined
  let isRunning = false

  const giveUp = (one: Waiting, why: unknown): void => {
    const index = gathered.indexOf(one)
    if (index >= 0) gathered.splice(index, 1)
    one.reject(index >= 0 ? notSentError(one.record, why) : leftTransactionError(transactionalId, why))
  }

  const discard = async (): Promise<void> => {
    const old = producer
    producer = undefined
    // Its failure is known already; the next one with this id fences whatever it left open.
    await old?.close().catch(() => {})
  }

  /** Those that may go again: the others of a batch in which the broker refused some. */
  const runOne = async (batch: readonly Waiting[]): Promise<Waiting[]> => {
    try {
      producer ??= kafka.transactionalProducer(transactionalId, options)
      const current = producer
      await current.begin()
      const results = await Promise.allSettled(batch.map(({ record }) => current.send(record)))
      const failures = results.map((result) => (result.status === 'rejected' ? { reason: result.reason } : undefined))
      const isFailed = failures.some((failure) => failure !== undefined)
      if (isFailed) {
        await current.abort()
        return sortOut(batch, failures)
      }
      await current.commit()
      for (const one of batch) one.resolve()
    } catch (thrown) {
      for (const one of batch) one.reject(thrown)
      if (!(thrown instanceof KafkaError) || thrown.kind !== 'RETRIABLE') await discard()
    }
    return []
  }

  const run = async (): Promise<void> => {
    isRunning = true
    while (gathered.length > 0) {
      // oxlint-disable-next-line no-await-in-loop -- A producer has one transaction at a time.
      const again = await runOne(gathered.splice(0, mostPerTransaction))
      gathered.unshift(...again.filter(({ isAnswered }) => !isAnswered))
    }
    isRunning = false
  }

  return {
    send(record, { signal }) {
      if (signal.aborted) return Promise.reject(notSentError(record, signal.reason))
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      const give = (): void => giveUp(one, signal.reason)
      const answered = (): void => {
        one.isAnswered = true
        signal.removeEventListener('abort', give)
      }
      const one: Waiting = {
        record,
        isAnswered: false,
        resolve() {
          answered()
          resolve()
        },
        reject(error) {
          answered()
          reject(error)
        },
      }
      signal.addEventListener('abort', give, { once: true })
      gathered.push(one)
      // After this tick: what is sent together goes together.
      if (!isRunning) {
        isRunning = true
        queueMicrotask(() => void run())
      }
      return promise
    },
  }
}
