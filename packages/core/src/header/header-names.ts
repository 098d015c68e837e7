/**
 * Every header name Waybill reads or writes, spelled here and nowhere else.
 *
 * Header names are a wire format: records written years ago carry them, and so do consumers in other languages. A name
 * is therefore never changed, only joined by another. In the engine's own headers numbers are decimal text and timestamps
 * epoch milliseconds. Which of them may be believed on which topic is the table in header-trust.ts.
 */

/** Headers that describe an event in the JSON wire format, where the record's value is the payload alone. */
export const eventHeader = {
  /** Event id. Debezium's outbox router writes the same name. */
  id: 'id',
  /** Name in the event catalog. */
  eventType: 'eventType',
  /** Version of the payload's schema. */
  eventVersion: 'eventVersion',
  /** When the fact happened. */
  occurredAt: 'occurredAt',
  /** Kind of thing the fact is about. */
  aggregateType: 'aggregateType',
  /** Version of that thing after the fact; rises by one per event. */
  aggregateVersion: 'aggregateVersion',
  /** Tenant the fact belongs to. */
  tenantId: 'tenantId',
  /** `base64` on a payload that is not JSON by itself: it travels as a JSON string of its bytes. */
  payloadEncoding: 'payloadEncoding',
} as const

/** W3C trace context and baggage, copied unchanged through every hop. */
export const traceHeader = {
  traceparent: 'traceparent',
  tracestate: 'tracestate',
  baggage: 'baggage',
} as const

/** The trace of the deliveries of a record. */
export const attemptTraceHeader = {
  /** The span of the last delivery that failed, as a `traceparent`. Each hop replaces it. */
  traceparent: 'x-eventbus-attempt-traceparent',
} as const

/** Media type of the value. `application/cloudevents+json` marks a structured CloudEvent. */
export const contentTypeHeader = 'content-type'

/** The prefix of CloudEvents attributes in the Kafka binding's binary mode. */
export const cloudEventsPrefix = 'ce_'

/**
 * CloudEvents attributes in binary mode. From `partitionkey` on they are extensions: the first three are registered with
 * CloudEvents, the others carry what {@link eventHeader} carries and have the lower-case names CloudEvents demands.
 */
export const cloudEventsHeader = {
  specversion: 'ce_specversion',
  id: 'ce_id',
  source: 'ce_source',
  type: 'ce_type',
  subject: 'ce_subject',
  time: 'ce_time',
  dataschema: 'ce_dataschema',
  partitionkey: 'ce_partitionkey',
  traceparent: 'ce_traceparent',
  tracestate: 'ce_tracestate',
  eventversion: 'ce_eventversion',
  aggregatetype: 'ce_aggregatetype',
  aggregateversion: 'ce_aggregateversion',
  tenantid: 'ce_tenantid',
} as const

/** The prefix of headers that belong to the engine and not to the application. */
export const enginePrefix = 'x-eventbus-'

/** The position of the record at its first failure. Set at the first hop, never overwritten. */
export const originalHeader = {
  topic: 'x-eventbus-original-topic',
  partition: 'x-eventbus-original-partition',
  offset: 'x-eventbus-original-offset',
  timestamp: 'x-eventbus-original-timestamp',
} as const

/** The progress of a record through its retries. */
export const retryHeader = {
  /** Tier the record waits in; on a dead letter, the last one tried. */
  tier: 'x-eventbus-retry-tier',
  /** Delivery within that tier, from 1. */
  attempt: 'x-eventbus-retry-attempt',
  /** When the record was published to that tier. */
  timestamp: 'x-eventbus-retry-timestamp',
  /** Handler calls so far, over all hops. */
  totalAttempts: 'x-eventbus-total-attempts',
  /** When tier 0 was exhausted for the first time; set once. */
  firstFailureTimestamp: 'x-eventbus-first-failure-timestamp',
} as const

/** The reason a record is a dead letter. */
export const deadLetterHeader = {
  /** One of {@link DeadLetterReason}. */
  reason: 'x-eventbus-dlt-reason',
  timestamp: 'x-eventbus-dlt-timestamp',
  /** `ENVELOPE` when the value is the JSON envelope; absent when it is the original's. */
  format: 'x-eventbus-dlt-format',
  /** The parts that were too large and remain on the source topic: some of `value`, `headers`, `key`. */
  parked: 'x-eventbus-dlt-parked',
  /** The last offset of a batch that was too large to read; the dead letter stands for all records up to it. */
  batchLastOffset: 'x-eventbus-dlt-batch-last-offset',
  /** The bytes that the batch decompresses to; prefixed with `>=` for a lower bound. */
  batchBytes: 'x-eventbus-dlt-batch-bytes',
  exceptionClass: 'x-eventbus-last-exception-class',
  exceptionMessage: 'x-eventbus-last-exception-message',
  exceptionStacktrace: 'x-eventbus-last-exception-stacktrace',
  /** The key could not be decoded; the value says why. */
  keyDeserializerException: 'x-eventbus-key-deserializer-exception',
  /** The value could not be decoded; the value says why. */
  valueDeserializerException: 'x-eventbus-value-deserializer-exception',
} as const

/** The cause of a dead letter: retries were exhausted, the error is not retryable, or an operator moved the record. */
export type DeadLetterReason = 'RETRIES_EXHAUSTED' | 'NON_RETRYABLE' | 'MANUAL'

/** The group a replayed record is for, its number of replays, and who replayed it. */
export const replayHeader = {
  /** Group whose retry, dead letter or replay the record is; other groups pass it by. */
  consumerGroup: 'x-eventbus-consumer-group',
  /** Replays so far; absent means none. */
  count: 'x-eventbus-replay-count',
  /** Operation that wrote the copy: `op_` and a ULID. Its retries and its dead letter keep it. */
  operation: 'x-eventbus-replay-operation',
  /** Name of the operator who edited the copy. */
  editedBy: 'x-eventbus-edited-by',
} as const

/**
 * Records of a waiting topic. A record is identified by its {@link originalHeader} and its key; tier and
 * attempt of a held one by {@link retryHeader}; the replay a REPLAY, MARKER or RELEASE is about by
 * {@link replayHeader}. These are the names that only a waiting topic needs.
 */
export const waitingHeader = {
  /** One of {@link WaitingKind}. */
  kind: 'x-eventbus-waiting-kind',
  /** HELD, and REPLAY to a tier: when the next attempt may start. */
  due: 'x-eventbus-waiting-due',
  /** FENCE: the producer epoch its owner was given. */
  epoch: 'x-eventbus-waiting-epoch',
} as const

/**
 * The kind of a record on a waiting topic. HELD waits for its next attempt or behind one of its key; MARKER keeps the
 * key of a dead record blocked; FENCE ends what former owners wrote; REPLAY delivers a dead record once more; RELEASE
 * ends a marker.
 */
export type WaitingKind = 'HELD' | 'MARKER' | 'FENCE' | 'REPLAY' | 'RELEASE'

/** Headers the connector adds for a handler. They are never written to a topic, so they are never trusted from one. */
export const deliveryHeader = {
  bindingName: 'x-eventbus-binding-name',
  receivedTimestamp: 'x-eventbus-received-timestamp',
  /** Host name and container index. */
  consumerInstance: 'x-eventbus-consumer-instance',
} as const

/**
 * Attempts so far, from 1; absent means 1. Written beside the ENVELOPE format for its readers in other
 * languages; the engine decides by {@link retryHeader} alone.
 */
export const processingAttemptsHeader = 'x-processing-attempts'

/** Error class that exhausted the tier; tier 0 is the retry in memory. */
export function tierExceptionHeader(tier: number): string {
  return `x-eventbus-tier${tier}-exception`
}

/** The time the tier was exhausted. */
export function tierExhaustedAtHeader(tier: number): string {
  return `x-eventbus-tier${tier}-exhausted-at`
}

/** Handler calls in the tier, over all its deliveries. */
export function tierAttemptsHeader(tier: number): string {
  return `x-eventbus-tier${tier}-attempts`
}

const tierTrail = /^x-eventbus-tier\d+-(?:exception|exhausted-at|attempts)$/

/** True for the names that {@link tierExceptionHeader}, {@link tierExhaustedAtHeader} and {@link tierAttemptsHeader} give. */
export function isTierTrailHeader(name: string): boolean {
  return tierTrail.test(name)
}
