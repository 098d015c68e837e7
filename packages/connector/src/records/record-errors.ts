/** Errors of records that cannot be decoded or forwarded. */

import { type ErrorContext, isWaybillError, WaybillError } from '@waybill/core'
import { KafkaError } from '@waybill/kafka'
import { exceptionMessageOf } from './failure-text.ts'

/** The key or value of a record cannot be decoded. A retry would fail as well, so the handler is not called. */
export class DeserializationError extends WaybillError {
  static override readonly code = 'WAYBILL_DESERIALIZATION_FAILED'
  /** The part that cannot be decoded. */
  readonly part: 'KEY' | 'VALUE'

  constructor(part: 'KEY' | 'VALUE', context: Pick<ErrorContext, 'cause'> = {}) {
    super(`Cannot decode the ${part.toLowerCase()} of the record${reasonOf(context.cause)}`, {
      ...context,
      impact: 'The record is stored as a dead letter, byte for byte.',
      hint: 'Fix the producer or the schema, then replay the dead letter.',
    })
    this.part = part
  }
}

/** The advice of the cause is left out: that of the whole error applies. */
function reasonOf(cause: unknown): string {
  if (cause === undefined) return ''
  return `: ${isWaybillError(cause) ? cause.happened : exceptionMessageOf(cause)}`
}

/**
 * A retry or dead letter record is unconfirmed. It is retried, and the original is not settled before it is confirmed.
 */
export class DerivedPublishError extends WaybillError {
  static override readonly code = 'WAYBILL_DERIVED_PUBLISH_FAILED'
  readonly topic: string

  constructor(topic: string, cause: Error) {
    super(`Cannot write a record to ${topic}: ${cause.message}`, {
      cause,
      impact: 'No record was lost. The original stays unsettled in its partition, and the write is retried.',
      hint: adviceFor(topic, cause),
    })
    this.topic = topic
  }
}

function adviceFor(topic: string, cause: Error): string {
  const advice: Readonly<Record<string, string>> = {
    MESSAGE_TOO_LARGE: `Raise max.message.bytes of ${topic} above that of the source topic.`,
    RECORD_LIST_TOO_LARGE: `Raise max.message.bytes of ${topic} above that of the source topic.`,
    UNKNOWN_TOPIC_OR_PARTITION: `Create ${topic}, or let the connector do it with derivedTopics: 'CREATE'.`,
    TOPIC_AUTHORIZATION_FAILED: `Allow this client to write to ${topic}.`,
  }
  const reason = cause instanceof KafkaError ? cause.reason : undefined
  return advice[reason ?? ''] ?? 'Check the brokers. Writing resumes automatically once they accept records.'
}

/**
 * A failed record exceeds the size limit of its tier: only its producer's compression made it fit into the source. It
 * cannot be retried, so it becomes a dead letter.
 */
export class RetryTooLargeError extends WaybillError {
  static override readonly code = 'WAYBILL_RETRY_TOO_LARGE'

  /** @param failure - the error of the handler, on one line */
  constructor(topic: string, failure: string, cause: Error) {
    super(`Cannot retry the record: it is too large for ${topic}. Its handler failed with ${failure}`, {
      cause,
      impact: 'It is stored as a dead letter without the parts that do not fit. The record stays in its source topic.',
      hint: `Raise max.message.bytes of ${topic}, or send smaller records. Then replay the dead letter.`,
    })
  }
}
