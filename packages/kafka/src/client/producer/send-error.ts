/** Errors of records that were not written, or may not have been. */

import { KafkaError } from '../cluster/kafka-error.ts'
import { partitionName } from '../cluster/partition-name.ts'
import type { TopicPartition } from '../cluster/topic-partition.ts'

/** Creates the error of a send after `close`. */
export function closedError(): KafkaError {
  return new KafkaError('The producer is closed.', 'FATAL', {
    scope: 'CLUSTER',
    impact: 'The record was not sent.',
  })
}

/** Creates the error of a record above the size limit. */
export function tooLargeError(topic: string, bytes: number, maxBytes: number): KafkaError {
  return new KafkaError(`A record of ${bytes} bytes for ${topic} exceeds the limit of ${maxBytes} bytes.`, 'FATAL', {
    reason: 'MESSAGE_TOO_LARGE',
    impact: 'The record was not sent.',
    hint: "Make it smaller, or raise maxRecordBytes and the topic's max.message.bytes.",
  })
}

/** Creates the error of a record that timed out and is certainly not in the log. */
export function lateError(what: string, cause: KafkaError | undefined): KafkaError {
  // Logs and outbox rows have only the message, and an unreachable broker is the useful part of it.
  return new KafkaError(cause === undefined ? what : `${what} ${cause.happened}`, 'RETRIABLE', {
    ...(cause === undefined ? {} : { cause }),
    impact: 'The record is not in the log.',
    hint: 'Send it again.',
  })
}

/** Creates the error of a record that an attempt may have written. */
export function lostAnswerError(partition: TopicPartition, cause: KafkaError | undefined): KafkaError {
  return new KafkaError(`The response to a write to ${partitionName(partition)} is lost.`, 'UNKNOWN', {
    ...(cause === undefined ? {} : { cause }),
    impact: 'The record is in the log in its order, or will never be.',
    hint: 'Send it again only if a duplicate is acceptable.',
  })
}

/** Creates the error of a record whose send was canceled before any request had it. */
export function notSentError({ topic }: { readonly topic: string }, cause: unknown): KafkaError {
  return new KafkaError(`The send to ${topic} was canceled before it began.`, 'RETRIABLE', {
    cause,
    impact: 'The record is not in the log, and will not be.',
    hint: 'Send it again.',
  })
}

/** Creates the error of a record whose send was canceled in flight. */
export function canceledError(partition: TopicPartition, cause: unknown): KafkaError {
  return new KafkaError(
    `The write to ${partitionName(partition)} was canceled before its response arrived.`,
    'UNKNOWN',
    {
      cause,
      impact: 'The record may be in the log, or appear there shortly.',
      hint: 'Send it again only if a duplicate is acceptable.',
    },
  )
}

/**
 * Creates the error of a batch that cannot be encoded: too large for its compression, or a buffer changed after `send`.
 */
export function unencodableError(partition: TopicPartition, cause: unknown): KafkaError {
  return new KafkaError(`A batch for ${partitionName(partition)} cannot be encoded.`, 'FATAL', {
    cause,
    scope: 'RECORD',
    impact: 'Its records were not sent.',
    hint: 'Do not change buffers before their record has its result. Send smaller records, or use another compression.',
  })
}
