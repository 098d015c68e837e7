/**
 * Sends records in as few transactions as possible: records that arrive during one share the next.
 *
 *     gathered ─▶ begin ─▶ all sent ─▶ commit ─▶ all resolved
 *                            │ some failed          │ no response
 *                            ▼                      ▼
 *              abort; those reject, the       producer discarded,
 *              others are retried             all reject: they may be in the log
 *
 * Records for a partition that failed before share transactions of their own, in turn with the others and with less
 * time: one partition that accepts nothing must not stop everything that is published under the id.
 *
 * A canceled record is removed if its transaction has not begun. Otherwise its outcome is unknown, and the other
 * records of the transaction continue.
 */

import { clientFactsOf } from '../client/cluster/client-facts.ts'
import { KafkaError, ofCluster } from '../client/cluster/kafka-error.ts'
import type { KafkaClient } from '../client/kafka-client.ts'
import type { OutRecord } from '../client/producer/producer.ts'
import type { TransactionalProducerOptions } from '../client/producer/producer-options.ts'
import { notSentError } from '../client/producer/send-error.ts'
import type { TransactionalProducer } from '../client/producer/transactional-producer.ts'
import { cutShort, FailedLanes, wasCutShort } from './failed-lanes.ts'
import { faultOf } from './send-faults.ts'

/** Sends records; many calls share a transaction. */
export interface TransactionalSender {
  /**
   * Resolves when the transaction that holds the record is committed.
   *
   * @param laneOf - Returns the lane of the record. Records of one lane fail together, such as those of one partition.
   */
  send(record: OutRecord, laneOf: () => string, options: { readonly signal: AbortSignal }): Promise<void>
}

interface Waiting {
  readonly record: OutRecord
  readonly laneOf: () => string
  /** True when its caller has the result. */
  isAnswered: boolean
  resolve(): void
  reject(error: unknown): void
}

interface Failure {
  readonly reason: unknown
}

/** Returns whether a send failed by itself, and not with a transaction that another send had broken. */
function isOwn({ reason }: Failure): boolean {
  // Each of them had all the time that there was.
  if (wasCutShort(reason)) return true
  let link: unknown = reason instanceof KafkaError ? reason.cause : undefined
  for (; link instanceof KafkaError; link = link.cause) if (link.kind === 'ABORTABLE') return false
  return true
}

/**
 * Rejects the records whose own send failed, and returns the others to retry: they only failed with the transaction.
 * All reject if none failed by itself or the cluster is at fault, since the failure would repeat.
 */
function rejectFailed(
  batch: readonly Waiting[],
  failures: readonly (Failure | undefined)[],
  lanes: FailedLanes,
): Waiting[] {
  const own = failures.map((failure) => (failure !== undefined && isOwn(failure) ? failure : undefined))
  const [firstOwn] = own.filter((failure) => failure !== undefined)
  const ofAll =
    firstOwn === undefined
      ? failures.find((failure) => failure !== undefined)
      : own.find((failure) => failure !== undefined && faultOf(failure.reason) === 'CLUSTER')
  return batch.filter((one, index) => {
    const failure = own[index]
    if (failure !== undefined) one.reject(lanes.failed(one.laneOf(), failure.reason))
    else if (ofAll === undefined) return true
    else one.reject(wholeError(ofAll.reason))
    return false
  })
}

/** Returns the error of everything that is published under the transactional id. */
function wholeError(thrown: unknown): unknown {
  return thrown instanceof KafkaError ? ofCluster(thrown) : thrown
}

/** Creates the error of a record that was canceled during its transaction. */
function leftTransactionError(transactionalId: string, cause: unknown): KafkaError {
  return new KafkaError(`The send was canceled while a transaction of ${transactionalId} was open.`, 'UNKNOWN', {
    cause,
    impact: 'Either the whole transaction becomes visible, or none of it.',
    hint: 'Send the record again only if a duplicate is acceptable.',
  })
}

/** Most records in a transaction, which blocks read-committed consumers until it ends. */
const mostPerTransaction = 500

/** Divides those that wait into records of failed lanes and others, and removes the next from one part, in turn. */
class Turns {
  readonly #lanes: FailedLanes
  #isOfFailed = false

  constructor(lanes: FailedLanes) {
    this.#lanes = lanes
  }

  take(gathered: Waiting[]): readonly Waiting[] {
    const isFailed = ({ laneOf }: Waiting): boolean => this.#lanes.has(laneOf())
    if (this.#lanes.isEmpty || !gathered.some(isFailed)) return gathered.splice(0, mostPerTransaction)
    const isOfFailed = this.#isOfFailed || gathered.every(isFailed)
    this.#isOfFailed = !isOfFailed
    const batch = gathered.filter((one) => isFailed(one) === isOfFailed).slice(0, mostPerTransaction)
    const taken = new Set(batch)
    gathered.splice(0, gathered.length, ...gathered.filter((one) => !taken.has(one)))
    return batch
  }
}

/** Creates a {@link TransactionalSender}. Its producer is created with the first record, and again after a failure. */
export function createTransactionalSender(
  kafka: Pick<KafkaClient, 'transactionalProducer'>,
  transactionalId: string,
  options: Pick<TransactionalProducerOptions, 'maxRecordBytes'>,
): TransactionalSender {
  const { timers } = clientFactsOf(kafka)
  const lanes = new FailedLanes()
  const turns = new Turns(lanes)
  // Bounded by the workers of the outbox: each waits for its own record.
  const gathered: Waiting[] = []
  let producer: TransactionalProducer | undefined
  let isRunning = false

  const cancel = (one: Waiting, why: unknown): void => {
    const index = gathered.indexOf(one)
    if (index >= 0) gathered.splice(index, 1)
    one.reject(index >= 0 ? notSentError(one.record, why) : leftTransactionError(transactionalId, why))
  }

  const discard = async (): Promise<void> => {
    const old = producer
    producer = undefined
    // Its failure is already reported, and the next producer with this id fences it.
    await old?.close().catch(() => {})
  }

  /** Runs one transaction. Returns the records to retry: those that did not fail themselves. */
  const runOne = async (batch: readonly Waiting[]): Promise<Waiting[]> => {
    const timeouts = lanes.isEmpty ? [] : batch.flatMap(({ laneOf }) => lanes.timeoutMs(laneOf()) ?? [])
    const ending = timeouts.length === 0 ? undefined : new AbortController()
    const timer = ending && timers?.schedule(Math.max(...timeouts), () => ending.abort(cutShort))
    try {
      producer ??= kafka.transactionalProducer(transactionalId, options)
      const current = producer
      await current.begin()
      const results = await Promise.allSettled(batch.map(({ record }) => current.send(record, ending)))
      const failures = results.map((result) => (result.status === 'rejected' ? { reason: result.reason } : undefined))
      if (failures.some((failure) => failure !== undefined)) {
        await current.abort()
        return rejectFailed(batch, failures, lanes)
      }
      await current.commit()
      if (!lanes.isEmpty) for (const { laneOf } of batch) lanes.reached(laneOf())
      for (const one of batch) one.resolve()
    } catch (thrown) {
      const error = wholeError(thrown)
      for (const one of batch) one.reject(error)
      if (!(thrown instanceof KafkaError) || thrown.kind !== 'RETRIABLE') await discard()
    } finally {
      timer?.[Symbol.dispose]()
    }
    return []
  }

  const run = async (): Promise<void> => {
    isRunning = true
    while (gathered.length > 0) {
      // oxlint-disable-next-line no-await-in-loop -- A producer has one transaction at a time.
      const again = await runOne(turns.take(gathered))
      gathered.unshift(...again.filter(({ isAnswered }) => !isAnswered))
    }
    isRunning = false
  }

  return {
    send(record, laneOf, { signal }) {
      if (signal.aborted) return Promise.reject(notSentError(record, signal.reason))
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      const give = (): void => cancel(one, signal.reason)
      const answered = (): void => {
        one.isAnswered = true
        signal.removeEventListener('abort', give)
      }
      const one: Waiting = {
        record,
        laneOf,
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
      // Deferred, so that records sent in one turn share a transaction.
      if (!isRunning) {
        isRunning = true
        queueMicrotask(() => void run())
      }
      return promise
    },
  }
}
