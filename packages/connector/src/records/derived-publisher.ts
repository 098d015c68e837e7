/**
 * Writes retry and dead letter records, and does not give up: a record that failed is settled by this write alone, so
 * there is nothing else to do with it (C-27, R3, R4).
 *
 *     SENDING ──confirmed──▶ done
 *        │ too large: a smaller one, at once (R7); a retry that cannot be made smaller: rejects, for it is no use to wait
 *        │ refused, unknown or later than 30 s: WAITING 100 ms … 10 s ──▶ SENDING
 *        └ signal aborts, in either state: rejects; what was sent may still be written
 *
 * Unknown is sent again: a dead letter may be there twice, and never not at all.
 */

import { describeThrown, type Runtime } from '@waybill/core'
import { abortReason, type BackoffPolicy, backoffMs } from '@waybill/core/internal'
import { KafkaError, type OutRecord, type Producer, type ProducerOptions, type SendResult } from '@waybill/kafka'
import { BoundedWaits } from './bounded-waits.ts'
import { DerivedPublishError } from './record-errors.ts'
import { isDeadLetter, smallerRecord } from './shrink-record.ts'

/** What a publish tells on its way. */
export interface PublishWatch {
  /** Ends the attempts: the partition is no longer owned, or the process has no more time. */
  readonly signal: AbortSignal
  /** An attempt failed, and another will follow. */
  readonly troubled: (error: Error) => void
  /** It is confirmed after all. */
  readonly recovered: () => void
}

/** Writes what the engine derives from records. */
export interface DerivedPublisher {
  /**
   * Resolves once the record is confirmed. Rejects with the signal's reason, or with what {@link isTooLarge} knows: no form
   * of a record for a retry fits its topic. A dead letter is tried for ever.
   */
  publish(record: OutRecord, watch: PublishWatch): Promise<SendResult>
  /** The last failure, while something is not confirmed because of it. */
  readonly trouble: string | undefined
}

/**
 * For the producer below a publisher. A derived record is as large as its source's and some headers, and only its topic
 * knows what it takes: a producer that refused it first would leave a retry without a way out.
 */
export const derivedProducerOptions: Pick<Required<ProducerOptions>, 'maxRecordBytes' | 'maxBufferedBytes'> = {
  maxRecordBytes: 64 * 1024 * 1024,
  maxBufferedBytes: 64 * 1024 * 1024,
}

/** C-27. The producer gives up by then too; this holds for any producer. */
const tryBoundMs = 30_000
const backoff: BackoffPolicy = { initialMs: 100, multiplier: 2, maxMs: 10_000, jitterExceedsMax: false }
const tooLarge: ReadonlySet<string | undefined> = new Set(['MESSAGE_TOO_LARGE', 'RECORD_LIST_TOO_LARGE'])

/** Whether a topic has refused a record because of its size. Nothing was written. */
export function isTooLarge(error: unknown): error is KafkaError {
  return error instanceof KafkaError && tooLarge.has(error.reason)
}

/** Makes a {@link DerivedPublisher} on a producer that outlives it. How much is in flight is bounded by its callers. */
export function createDerivedPublisher(producer: Producer, runtime: Runtime): DerivedPublisher {
  const { logger } = runtime
  const troubles = new Troubles(runtime)
  const waits = new BoundedWaits<SendResult | KafkaError>(
    runtime,
    tryBoundMs,
    () => new KafkaError(`No answer came within ${tryBoundMs} ms.`, 'UNKNOWN'),
  )

  /** One attempt: confirmed, or why not. Rejects only with the signal's reason. */
  const attempt = async (record: OutRecord, signal: AbortSignal): Promise<SendResult | KafkaError> => {
    if (signal.aborted) throw abortReason(signal)
    try {
      return await waits.for(producer.send(record), signal)
    } catch (error) {
      if (signal.aborted) throw abortReason(signal)
      return error instanceof KafkaError ? error : new KafkaError(describeThrown(error), 'FATAL', { cause: error })
    }
  }

  /** All but the first attempt, which nearly every record needs alone. */
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
          logger.warn({ topic, reason: result.message }, 'A record was too large and is written with less')
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

  return {
    get trouble() {
      return troubles.last
    },
    async publish(record, watch) {
      const result = await attempt(record, watch.signal)
      return result instanceof KafkaError ? publishAgain(record, watch, result) : result
    },
  }
}

/** Publishes that have failed and are still at it. Logged once for all: a broker that is down would fill the log. */
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
      this.#logger.warn({ topic, reason: message }, 'Retry or dead letter records cannot be written')
    this.#messages.delete(publish)
    this.#messages.set(publish, message)
  }

  ended(publish: object): void {
    if (!this.#messages.delete(publish) || this.#messages.size > 0) return
    this.#logger.info({}, 'No retry or dead letter record is waiting to be written any more')
  }
}
