/**
 * Every header name Waybill reads or writes, spelled here and nowhere else.
 *
 * Header names are a wire format: records written years ago carry them, and so do consumers in other languages. A name
 * is therefore never changed, only joined by another. In the engine's own headers numbers are decimal text and timestamps
 * epoch milliseconds. Which of them may be believed on which topic is the table in header-trust.ts.
 */

/** What an event says about itself in the JSON wire format; the record's value is then the payload alone. */
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
  /** `base64` on a payload that is not JSON by itself: it travels as a JSON string of its bytes (C-35). */
  payloadEncoding: 'payloadEncoding',
} as const

/** W3C trace context, carried through every hop as it came (S0-165). */
export const traceHeader = {
  traceparent: 'traceparent',
  tracestate: 'tracestate',
} as const

/** Media type of the value. `application/cloudevents+json` marks a structured CloudEvent. */
export const contentTypeHeader = 'content-type'

/** What starts the name of each CloudEvents attribute in the Kafka binding's binary mode. */
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

/** What starts the name of each header that belongs to the engine and not to the application. */
export const enginePrefix = 'x-eventbus-'

/** Where the record lay when it failed first. Set at the first hop, never overwritten (S0-129, S0-164). */
export const originalHeader = {
  topic: 'x-eventbus-original-topic',
  partition: 'x-eventbus-original-partition',
  offset: 'x-eventbus-original-offset',
  timestamp: 'x-eventbus-original-timestamp',
} as const

/** How far a record has come through its retries (S0-131, S0-133, S0-163). */
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

/** Why a record is a dead letter (S0-130…132, S0-157). */
export const deadLetterHeader = {
  /** One of {@link DeadLetterReason}. */
  reason: 'x-eventbus-dlt-reason',
  timestamp: 'x-eventbus-dlt-timestamp',
  /** `ENVELOPE` when the value is the JSON envelope; absent when it is the original's (C-60). */
  format: 'x-eventbus-dlt-format',
  /** What was too large to come along and is left where the record came from: some of `value`, `headers`, `key`. */
  parked: 'x-eventbus-dlt-parked',
  exceptionClass: 'x-eventbus-last-exception-class',
  exceptionMessage: 'x-eventbus-last-exception-message',
  exceptionStacktrace: 'x-eventbus-last-exception-stacktrace',
  /** The key could not be decoded; the value says why. */
  keyDeserializerException: 'x-eventbus-key-deserializer-exception',
  /** The value could not be decoded; the value says why. */
  valueDeserializerException: 'x-eventbus-value-deserializer-exception',
} as const

/** What sent a record to the dead letter topic: its retries were used up, its error allows none, or an operator did. */
export type DeadLetterReason = 'RETRIES_EXHAUSTED' | 'NON_RETRYABLE' | 'MANUAL'

/** For whom a record is meant, and how often it came back (S0-138, C-71). */
export const replayHeader = {
  /** Group whose retry, dead letter or replay the record is; other groups pass it by. */
  consumerGroup: 'x-eventbus-consumer-group',
  /** Replays so far; absent means none. */
  count: 'x-eventbus-replay-count',
} as const

/**
 * Records of a waiting topic (D21). What a record is, is told by its {@link originalHeader} and its key; tier and
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
 * What a record of a waiting topic is for. HELD waits for its next attempt or behind one of its key; MARKER keeps the
 * key of a dead record blocked; FENCE ends what former owners wrote; REPLAY delivers a dead record once more; RELEASE
 * ends a marker.
 */
export type WaitingKind = 'HELD' | 'MARKER' | 'FENCE' | 'REPLAY' | 'RELEASE'

/** What the connector tells a handler about the delivery; never written to a topic, so never believed from one (S0-162). */
export const deliveryHeader = {
  bindingName: 'x-eventbus-binding-name',
  receivedTimestamp: 'x-eventbus-received-timestamp',
  /** Host name and container index. */
  consumerInstance: 'x-eventbus-consumer-instance',
} as const

/**
 * Attempts so far, from 1; absent means 1 (S2-046). Written beside the ENVELOPE format for its readers in other
 * languages; the engine decides by {@link retryHeader} alone (C-65).
 */
export const processingAttemptsHeader = 'x-processing-attempts'

/** Error class that exhausted the tier; tier 0 is the retry in memory (S0-134). */
export function tierExceptionHeader(tier: number): string {
  return `x-eventbus-tier${tier}-exception`
}

/** When the tier was exhausted (S0-134). */
export function tierExhaustedAtHeader(tier: number): string {
  return `x-eventbus-tier${tier}-exhausted-at`
}

/** Handler calls in the tier, over all its deliveries (S0-143). */
export function tierAttemptsHeader(tier: number): string {
  return `x-eventbus-tier${tier}-attempts`
}

const tierTrail = /^x-eventbus-tier\d+-(?:exception|exhausted-at|attempts)$/

/** True for the names that {@link tierExceptionHeader}, {@link tierExhaustedAtHeader} and {@link tierAttemptsHeader} give. */
export function isTierTrailHeader(name: string): boolean {
  return tierTrail.test(name)
}
