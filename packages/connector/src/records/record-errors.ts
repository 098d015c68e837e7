/** Records that cannot be read, or cannot be written on. */

import { type ErrorContext, WaybillError } from '@waybill/core'
import { KafkaError } from '@waybill/kafka'

/** A record whose key or value cannot be decoded: the same bytes fail again, so no handler is called (S0-157, C-16). */
export class DeserializationError extends WaybillError {
  static override readonly code = 'WAYBILL_DESERIALIZATION_FAILED'
  /** Which of the two. */
  readonly part: 'KEY' | 'VALUE'

  constructor(part: 'KEY' | 'VALUE', context: Pick<ErrorContext, 'cause'> = {}) {
    super(`The record's ${part.toLowerCase()} cannot be decoded.`, {
      ...context,
      impact: 'The record is kept as a dead letter, byte for byte.',
      hint: 'Correct its producer or the schema, then replay the dead letter.',
    })
    this.part = part
  }
}

/** A retry or dead letter record is not confirmed. It is tried again until it is; nothing is settled before (S0-127). */
export class DerivedPublishError extends WaybillError {
  static override readonly code = 'WAYBILL_DERIVED_PUBLISH_FAILED'
  readonly topic: string

  constructor(topic: string, cause: Error) {
    super(`A record could not be written to ${topic}: ${cause.message}`, {
      cause,
      impact: 'The record it is made of stays unsettled in its partition, and writing is tried again.',
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
  return advice[reason ?? ''] ?? 'Look at the brokers; nothing has to be done here once they take records again.'
}

/**
 * A record that failed is larger than its tier takes: its producer's compression alone had made it small enough for the
 * source. It is never tried again, so it is a dead letter.
 */
export class RetryTooLargeError extends WaybillError {
  static override readonly code = 'WAYBILL_RETRY_TOO_LARGE'

  /** @param failure - what the handler had thrown, in a line */
  constructor(topic: string, failure: string, cause: Error) {
    super(`The record is too large for ${topic}, and its handler had failed: ${failure}`, {
      cause,
      impact: 'It is a dead letter, with what its topic takes of it; the record itself stays in its source.',
      hint: `Raise max.message.bytes of ${topic}, or send smaller records; then replay the dead letter.`,
    })
  }
}
