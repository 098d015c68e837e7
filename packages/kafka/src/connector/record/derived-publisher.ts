/**
 * Writes retry and dead letter records, and does not give up: a record that failed is settled by this write alone, so
 * there is nothing else to do with it (C-27, R3, R4).
 *
 *     SENDING ──confirmed──▶ done
 *        │ too large: a smaller one, at once (R7)
 *        │ refused, unknown or later than 30 s: WAITING 100 ms … 10 s ──▶ SENDING
 *        └ signal aborts, in either state: rejects; what was sent may still be written
 *
 * Unknown is sent again: a dead letter may be there twice, and never not at all.
 */

import { abortReason, type BackoffPolicy, backoffMs, describeThrown, type Runtime } from '@waybill/core'
import { KafkaError } from '../../client/kafka-error.ts'
import type { ProducerOptions } from '../../client/producer/producer-options.ts'
import type { OutRecord, Producer, Written } from '../../client/types.ts'
import { BoundedWaits } from './bounded-waits.ts'
import { DerivedPublishError } from './derived-publish-error.ts'
import { smallerRecord } from './shrink-record.ts'

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
  /** Resolves once the record is confirmed. Rejects only with the signal's reason. */
  publish(record: OutRecord, watch: PublishWatch): Promise<Written>
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

type SendWaits = BoundedWaits<Written | KafkaError>

/** Makes a {@link DerivedPublisher} on a producer that outlives it. How much is in flight is bounded by its callers. */
export function createDerivedPublisher(producer: Producer, runtime: Runtime): DerivedPublisher {
  /** One entry for each publish that has failed and is still at it. */
  const troubles = new Map<object, string>()
  const { logger } = runtime
  const waits: SendWaits = new BoundedWaits<Written | KafkaError>(
    runtime,
    tryBoundMs,
    () => new KafkaError(`No answer came within ${tryBoundMs} ms.`, 'UNKNOWN'),
  )

  const failed = (publish: object, error: DerivedPublishError): void => {
    // Once for all that fail together: a broker that is down would otherwise fill the log.
    if (troubles.size === 0)
      logger.warn({ topic: error.topic, reason: error.message }, 'Retry or dead letter records cannot be written')
    troubles.delete(publish)
    troubles.set(publish, error.message)
  }
  const ended = (publish: object): void => {
    if (!troubles.delete(publish) || troubles.size > 0) return
    logger.info({}, 'No retry or dead letter record is waiting to be written any more')
  }

  return {
    get trouble() {
      return [...troubles.values()].at(-1)
    },
    async publish(record, watch) {
      const identity = {}
      try {
        return await publishUntilConfirmed({ producer, waits, runtime }, record, watch, (error) =>
          failed(identity, error),
        )
      } finally {
        ended(identity)
      }
    },
  }
}

async function publishUntilConfirmed(
  { producer, waits, runtime }: { readonly producer: Producer; readonly waits: SendWaits; readonly runtime: Runtime },
  record: OutRecord,
  watch: PublishWatch,
  failed: (error: DerivedPublishError) => void,
): Promise<Written> {
  let current = record
  for (let failures = 0; ; ) {
    const result = await attempt(producer, waits, current, watch.signal)
    if (!(result instanceof KafkaError)) {
      if (failures > 0) watch.recovered()
      return result
    }
    const smaller = tooLarge.has(result.reason) ? smallerRecord(current) : undefined
    if (smaller !== undefined) {
      runtime.logger.warn(
        { topic: record.topic, reason: result.message },
        'A record was too large and is written with less',
      )
      current = smaller
      continue
    }
    const error = new DerivedPublishError(record.topic, result)
    failures++
    failed(error)
    watch.troubled(error)
    await runtime.timers.sleep(backoffMs(backoff, failures, runtime.random), watch.signal)
  }
}

/** One attempt: confirmed, or why not. Rejects only with the signal's reason. */
function attempt(
  producer: Producer,
  waits: SendWaits,
  record: OutRecord,
  signal: AbortSignal,
): Promise<Written | KafkaError> {
  if (signal.aborted) return Promise.reject(abortReason(signal))
  return waits.for(sendSafely(producer, record), signal)
}

/** The result of a send; never rejects, since nobody may be waiting for it any more. */
async function sendSafely(producer: Producer, record: OutRecord): Promise<Written | KafkaError> {
  try {
    return await producer.send(record)
  } catch (error) {
    return error instanceof KafkaError ? error : new KafkaError(describeThrown(error), 'FATAL', { cause: error })
  }
}
