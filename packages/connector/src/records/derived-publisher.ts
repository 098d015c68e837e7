/**
 * Publishes retry and dead letter records, and retries until they are confirmed: a failed record is settled only by
 * this write.
 *
 *     SENDING ──confirmed──▶ done
 *        │ too large: sends a smaller form immediately; rejects if a retry record cannot be made smaller
 *        │ rejected, unknown or later than 30 s: WAITING 100 ms … 10 s ──▶ SENDING
 *        └ signal aborts, in either state: rejects; the record may still be written
 *
 * A send with an unknown outcome is repeated: a dead letter may be duplicated, but is never lost.
 */

import { describeThrown, type Runtime } from '@waybill/core'
import { abortReason, type BackoffPolicy, backoffMs } from '@waybill/core/internal'
import { KafkaError, type OutRecord, type Producer, type ProducerOptions, type SendResult } from '@waybill/kafka'
import { BoundedWaits } from './bounded-waits.ts'
import { withinSendSpan } from './derived-span.ts'
import { DerivedPublishError } from './record-errors.ts'
import { isDeadLetter, smallerRecord } from './shrink-record.ts'

/** Callbacks and cancellation of one publish. */
export interface PublishWatch {
  /** Cancels the attempts: the partition was revoked, or the shutdown deadline passed. */
  readonly signal: AbortSignal
  /** Observes a failed attempt that will be retried. */
  readonly troubled: (error: Error) => void
  /** Observes the success, or the end, of a publish that had failed before. */
  readonly recovered: () => void
}

/** Publishes retry and dead letter records. */
export interface DerivedPublisher {
  /**
   * Resolves once the record is confirmed. Rejects with the signal's reason, or with an {@link isTooLarge} error if no
   * form of a retry record fits its topic. A dead letter is retried indefinitely.
   */
  publish(record: OutRecord, watch: PublishWatch): Promise<SendResult>
  /** The last failure, while a record is unconfirmed because of it. */
  readonly trouble: string | undefined
}

/**
 * Options of the producer of a publisher. A derived record is slightly larger than its source, and only the limit of
 * its topic counts: a producer with a lower limit would block the record.
 */
export const derivedProducerOptions: Pick<Required<ProducerOptions>, 'maxRecordBytes' | 'maxBufferedBytes'> = {
  maxRecordBytes: 64 * 1024 * 1024,
  maxBufferedBytes: 64 * 1024 * 1024,
}

/** The bound of one attempt, whatever the producer's own delivery timeout is. */
const tryBoundMs = 30_000
const backoff: BackoffPolicy = { initialMs: 100, multiplier: 2, maxMs: 10_000, jitterExceedsMax: false }
const tooLarge: ReadonlySet<string | undefined> = new Set(['MESSAGE_TOO_LARGE', 'RECORD_LIST_TOO_LARGE'])

/** Returns whether a broker rejected a record because of its size. Nothing was written. */
export function isTooLarge(error: unknown): error is KafkaError {
  return error instanceof KafkaError && tooLarge.has(error.reason)
}

/** Creates a {@link DerivedPublisher} on a producer that outlives it. Its callers limit the records in flight. */
export function createDerivedPublisher(producer: Producer, runtime: Runtime): DerivedPublisher {
  const { logger, tracer } = runtime
  const troubles = new Troubles(runtime)
  const waits = new BoundedWaits<SendResult | KafkaError>(
    runtime,
    tryBoundMs,
    () => new KafkaError(`The broker did not respond within ${tryBoundMs} ms.`, 'UNKNOWN'),
  )

  /** Sends once. Resolves with the result or the error, and rejects only with the signal's reason. */
  const attempt = async (record: OutRecord, signal: AbortSignal): Promise<SendResult | KafkaError> => {
    if (signal.aborted) throw abortReason(signal)
    try {
      return await waits.for(producer.send(record), signal)
    } catch (error) {
      if (signal.aborted) throw abortReason(signal)
      return error instanceof KafkaError ? error : new KafkaError(describeThrown(error), 'FATAL', { cause: error })
    }
  }

  /** Runs all attempts after the first, which is enough for nearly every record. */
  const publishAgain = async (record: OutRecord, watch: PublishWatch, why: KafkaError): Promise<SendResult> => {
    const publish = {}
    let current = record
    let result: SendResult | KafkaError = why
    try {
      for (let failures = 0; ; result = await attempt(current, watch.signal)) {
        if (!(result instanceof KafkaError)) {
          if (failures > 0) watch.recovered()
          return result
        }
        const smaller = isTooLarge(result) ? smallerRecord(current) : undefined
        if (smaller !== undefined) {
          const { topic } = record
          logger.warn({ topic, reason: result.message }, 'Derived record shrunk')
          current = smaller
          continue
        }
        if (isTooLarge(result) && !isDeadLetter(current)) {
          if (failures > 0) watch.recovered()
          throw result
        }
        const error = new DerivedPublishError(record.topic, result)
        failures++
        troubles.failed(publish, error)
        watch.troubled(error)
        await runtime.timers.sleep(backoffMs(backoff, failures, runtime.random), watch.signal)
      }
    } finally {
      troubles.ended(publish)
    }
  }

  const publish = async (record: OutRecord, watch: PublishWatch): Promise<SendResult> => {
    const result = await attempt(record, watch.signal)
    return result instanceof KafkaError ? publishAgain(record, watch, result) : result
  }

  return {
    get trouble() {
      return troubles.last
    },
    publish: (record, watch) =>
      tracer === undefined ? publish(record, watch) : withinSendSpan(tracer, record, () => publish(record, watch)),
  }
}

/**
 * Publishes that failed and are being retried. Logged once for all of them, so that an outage does not fill the log.
 */
class Troubles {
  readonly #logger: Runtime['logger']
  readonly #messages = new Map<object, string>()

  constructor({ logger }: Pick<Runtime, 'logger'>) {
    this.#logger = logger
  }

  get last(): string | undefined {
    return [...this.#messages.values()].at(-1)
  }

  failed(publish: object, { topic, message }: DerivedPublishError): void {
    if (this.#messages.size === 0)
      this.#logger.warn({ topic, reason: message }, 'Derived record publish failed, retrying')
    this.#messages.delete(publish)
    this.#messages.set(publish, message)
  }

  ended(publish: object): void {
    if (!this.#messages.delete(publish) || this.#messages.size > 0) return
    this.#logger.info({}, 'Derived record publish recovered')
  }
}
