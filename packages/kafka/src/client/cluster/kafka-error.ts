/**
 * Classifies every failure of the client by what the caller can do about it. The classification is a table, so that a
 * test can cover every code.
 */

import { type ErrorContext, WaybillError } from '@waybill/core'
import { type ErrorName, errorCode, errorName } from '../../wire/api/error-codes.ts'
import { TransportError } from '../../wire/broker/kafka-transport.ts'

/**
 * The classes of Kafka errors:
 * - RETRIABLE: nothing was done; the same call may succeed later.
 * - REBALANCING: the group is rebalancing; retry under the new generation if the partition is still owned.
 * - FENCED: a newer member, instance or producer has taken over. Discard this one; never retry.
 * - ABORTABLE: the transaction must be aborted; the producer stays usable.
 * - UNKNOWN: the broker may or may not have acted. Treat it as neither success nor failure.
 * - FATAL: a retry cannot succeed.
 */
export type KafkaErrorKind = 'RETRIABLE' | 'REBALANCING' | 'FENCED' | 'ABORTABLE' | 'UNKNOWN' | 'FATAL'

/** The part of a cluster that a failed send is known to affect; RECORD when the record itself is at fault. */
export type KafkaErrorScope = 'RECORD' | 'PARTITION' | 'TOPIC' | 'CLUSTER'

/** The parts of a {@link KafkaError} beyond its message and kind. */
export interface KafkaErrorContext extends ErrorContext {
  readonly reason?: string
  readonly scope?: KafkaErrorScope
}

/** The error of a failed Kafka request. */
export class KafkaError extends WaybillError {
  static override readonly code: string = 'WAYBILL_KAFKA'
  readonly kind: KafkaErrorKind
  /** Kafka's name of the error code; undefined when there was no response. */
  readonly reason: string | undefined
  /** The part of the cluster at fault, also that of its cause; undefined when only the reason can tell. */
  declare readonly scope: KafkaErrorScope | undefined

  constructor(what: string, kind: KafkaErrorKind, context: KafkaErrorContext = {}) {
    super(what, context)
    this.kind = kind
    this.reason = context.reason
    const { scope = context.cause instanceof KafkaError ? context.cause.scope : undefined } = context
    // Not enumerable, as the message says it already.
    Object.defineProperty(this, 'scope', { value: scope })
  }
}

const kinds: Readonly<Partial<Record<ErrorName, KafkaErrorKind>>> = {
  CORRUPT_MESSAGE: 'RETRIABLE',
  UNKNOWN_TOPIC_OR_PARTITION: 'RETRIABLE',
  LEADER_NOT_AVAILABLE: 'RETRIABLE',
  NOT_LEADER_OR_FOLLOWER: 'RETRIABLE',
  // The leader appended it, but the replicas did not confirm in time.
  REQUEST_TIMED_OUT: 'UNKNOWN',
  BROKER_NOT_AVAILABLE: 'RETRIABLE',
  REPLICA_NOT_AVAILABLE: 'RETRIABLE',
  NETWORK_EXCEPTION: 'UNKNOWN',
  COORDINATOR_LOAD_IN_PROGRESS: 'RETRIABLE',
  COORDINATOR_NOT_AVAILABLE: 'RETRIABLE',
  NOT_COORDINATOR: 'RETRIABLE',
  NOT_ENOUGH_REPLICAS: 'RETRIABLE',
  // The leader appended it, but too few replicas confirmed: it may survive or vanish.
  NOT_ENOUGH_REPLICAS_AFTER_APPEND: 'UNKNOWN',
  ILLEGAL_GENERATION: 'REBALANCING',
  UNKNOWN_MEMBER_ID: 'REBALANCING',
  REBALANCE_IN_PROGRESS: 'REBALANCING',
  NOT_CONTROLLER: 'RETRIABLE',
  // The log lacks earlier batches of this producer; the refused batch was not appended.
  OUT_OF_ORDER_SEQUENCE_NUMBER: 'RETRIABLE',
  UNKNOWN_PRODUCER_ID: 'RETRIABLE',
  INVALID_PRODUCER_EPOCH: 'FENCED',
  INVALID_TXN_STATE: 'ABORTABLE',
  INVALID_PRODUCER_ID_MAPPING: 'FENCED',
  CONCURRENT_TRANSACTIONS: 'RETRIABLE',
  TRANSACTION_COORDINATOR_FENCED: 'FENCED',
  KAFKA_STORAGE_ERROR: 'RETRIABLE',
  FETCH_SESSION_ID_NOT_FOUND: 'RETRIABLE',
  INVALID_FETCH_SESSION_EPOCH: 'RETRIABLE',
  FENCED_LEADER_EPOCH: 'RETRIABLE',
  UNKNOWN_LEADER_EPOCH: 'RETRIABLE',
  OFFSET_NOT_AVAILABLE: 'RETRIABLE',
  FENCED_INSTANCE_ID: 'FENCED',
  UNSTABLE_OFFSET_COMMIT: 'RETRIABLE',
  THROTTLING_QUOTA_EXCEEDED: 'RETRIABLE',
  PRODUCER_FENCED: 'FENCED',
  UNKNOWN_TOPIC_ID: 'RETRIABLE',
  INCONSISTENT_TOPIC_ID: 'RETRIABLE',
  TRANSACTIONAL_ID_NOT_FOUND: 'FENCED',
  TRANSACTION_ABORTABLE: 'ABORTABLE',
}

/**
 * Classifies an error code. A code missing from the table is FATAL, so that an unknown error is not retried forever.
 */
export function kindOf(code: number): KafkaErrorKind {
  const name = errorName(code)
  return (kinds as Readonly<Record<string, KafkaErrorKind>>)[name] ?? 'FATAL'
}

/** Creates the error for the code of a response. */
export function kafkaError(what: string, code: number, detail?: string | null): KafkaError {
  const name = errorName(code)
  const because = detail === null || detail === undefined || detail === '' ? name : `${name} (${detail})`
  return new KafkaError(`${what}: ${because}.`, kindOf(code), { reason: name })
}

/** Throws for every code but NONE. */
export function assertNoError(what: string, code: number, detail?: string | null): void {
  if (code !== errorCode.NONE) throw kafkaError(what, code, detail)
}

/** Returns false when a retry cannot succeed. */
export function mayPass(error: unknown): error is KafkaError {
  return error instanceof KafkaError && error.kind !== 'FATAL' && error.kind !== 'FENCED'
}

/** Returns the same error with the whole cluster at fault: no node can be used. */
export function ofCluster(error: KafkaError): KafkaError {
  const { happened, kind, cause, impact, hint, reason } = error
  return new KafkaError(happened, kind, {
    scope: 'CLUSTER',
    ...(cause === undefined ? {} : { cause }),
    ...(impact === undefined ? {} : { impact }),
    ...(hint === undefined ? {} : { hint }),
    ...(reason === undefined ? {} : { reason }),
  })
}

/** Wraps anything that a request threw in a KafkaError. */
export function toKafkaError(what: string, thrown: unknown): KafkaError {
  if (thrown instanceof KafkaError) return thrown
  if (thrown instanceof TransportError) {
    const kind = thrown.isFinal ? 'FATAL' : thrown.outcome === 'NOT_SENT' ? 'RETRIABLE' : 'UNKNOWN'
    return new KafkaError(`${what}: ${thrown.message}`, kind, { cause: thrown })
  }
  return new KafkaError(`${what}: failed unexpectedly.`, 'FATAL', { cause: thrown })
}
