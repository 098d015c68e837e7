/** What the callers of a producer are told of records that were not written, or may not have been. */

import { KafkaError } from '../cluster/kafka-error.ts'
import { partitionName } from '../cluster/partition-name.ts'
import type { TopicPartition } from '../cluster/topic-partition.ts'

/** For a send after `close`. */
export function closedError(): KafkaError {
  return new KafkaError('The producer is closed.', 'FATAL', { impact: 'The record was not sent.' })
}

/** For a record that no request may carry. */
export function tooLargeError(topic: string, bytes: number, maxBytes: number): KafkaError {
  return new KafkaError(
    `A record of ${bytes} bytes for ${topic} is larger than the ${maxBytes} that are allowed.`,
    'FATAL',
    {
      reason: 'MESSAGE_TOO_LARGE',
      impact: 'It was not sent.',
      hint: "Make it smaller, or raise maxRecordBytes and the topic's max.message.bytes.",
    },
  )
}

/** For a record whose delivery timeout is over, and of which no attempt can be in the log. */
export function lateError(what: string, cause: KafkaError | undefined): KafkaError {
  // Logs and rows of the outbox carry the message alone, and that a broker cannot be reached is what helps there.
  return new KafkaError(cause === undefined ? what : `${what} ${cause.happened}`, 'RETRIABLE', {
    ...(cause === undefined ? {} : { cause }),
    impact: 'The record is not in the log.',
    hint: 'Send it again.',
  })
}

/** For a record that an attempt may have written. */
export function lostAnswerError(partition: TopicPartition, cause: KafkaError | undefined): KafkaError {
  return new KafkaError(`The answer to a write to ${partitionName(partition)} is lost.`, 'UNKNOWN', {
    ...(cause === undefined ? {} : { cause }),
    impact: 'The record is in the log at its place, or will never be.',
    hint: 'Send it again only if a second copy does no harm.',
  })
}

/** For a record that its caller gave up before any request carried it. */
export function takenBackError({ topic }: { readonly topic: string }, cause: unknown): KafkaError {
  return new KafkaError(`A send to ${topic} was given up before it began.`, 'RETRIABLE', {
    cause,
    impact: 'The record is not in the log, and will not be.',
    hint: 'Send it again.',
  })
}

/** For a record that its caller gave up while an attempt was on its way. */
export function givenUpError(partition: TopicPartition, cause: unknown): KafkaError {
  return new KafkaError(`A write to ${partitionName(partition)} was given up before its answer came.`, 'UNKNOWN', {
    cause,
    impact: 'The record may be in the log, or be there shortly.',
    hint: 'Send it again only if a second copy does no harm.',
  })
}

/** For a batch that cannot be made: one too large for its compression, or a buffer that changed after `send`. */
export function unencodableError(partition: TopicPartition, cause: unknown): KafkaError {
  return new KafkaError(`A batch for ${partitionName(partition)} cannot be encoded.`, 'FATAL', {
    cause,
    impact: 'Its records were not sent.',
    hint: 'Leave buffers alone until their record has its result; send smaller records, or with another compression.',
  })
}
