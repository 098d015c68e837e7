import { WaybillError } from '@waybill/core'
import { KafkaError } from '../../client/kafka-error.ts'

/** A retry or dead letter record is not confirmed. It is tried again until it is; nothing is settled before (S0-127). */
export class DerivedPublishError extends WaybillError {
  static override readonly code = 'WAYBILL_DERIVED_PUBLISH_FAILED'
  readonly topic: string

  constructor(topic: string, cause: Error) {
    super(`A record could not be written to ${topic}: ${cause.message}`, {
      cause,
      kept: 'The record it is made of stays unsettled in its partition, and writing is tried again.',
      next: adviceFor(topic, cause),
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
