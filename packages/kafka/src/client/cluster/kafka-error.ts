/**
 * Every failure of the client, sorted by what its caller can do about it. The table is data: a test walks every code.
 */

import { type ErrorContext, WaybillError } from '@waybill/core'
import { type ErrorName, errorCode, errorName } from '../../wire/api/error-codes.ts'
import { TransportError } from '../../wire/broker/kafka-transport.ts'

/**
 * - RETRIABLE: nothing was done; the same call may work later.
 * - REBALANCING: the group is changing hands; what was asked may be asked again under the new generation, if the
 *   partition is still owned then.
 * - FENCED: somebody newer has taken this place (member, instance, producer). Discard the instance; never retry.
 * - ABORTABLE: the transaction must be aborted; the producer lives on.
 * - UNKNOWN: the broker may or may not have done it. Neither success nor failure (D9).
 * - FATAL: trying again cannot help.
 */
export type KafkaErrorKind = 'RETRIABLE' | 'REBALANCING' | 'FENCED' | 'ABORTABLE' | 'UNKNOWN' | 'FATAL'

/** A Kafka request that did not do what was asked. */
export class KafkaError extends WaybillError {
  static override readonly code: string = 'WAYBILL_KAFKA'
  readonly kind: KafkaErrorKind
  /** Kafka's name for the answer; undefined when there was none. */
  readonly reason: string | undefined

  constructor(what: string, kind: KafkaErrorKind, context: ErrorContext & { readonly reason?: string } = {}) {
    super(what, context)
    this.kind = kind
    this.reason = context.reason
  }
}

const kinds: Readonly<Partial<Record<ErrorName, KafkaErrorKind>>> = {
  CORRUPT_MESSAGE: 'RETRIABLE',
  UNKNOWN_TOPIC_OR_PARTITION: 'RETRIABLE',
  LEADER_NOT_AVAILABLE: 'RETRIABLE',
  NOT_LEADER_OR_FOLLOWER: 'RETRIABLE',
  // The leader wrote it and the replicas did not confirm in time.
  REQUEST_TIMED_OUT: 'UNKNOWN',
  BROKER_NOT_AVAILABLE: 'RETRIABLE',
  REPLICA_NOT_AVAILABLE: 'RETRIABLE',
  NETWORK_EXCEPTION: 'UNKNOWN',
  COORDINATOR_LOAD_IN_PROGRESS: 'RETRIABLE',
  COORDINATOR_NOT_AVAILABLE: 'RETRIABLE',
  NOT_COORDINATOR: 'RETRIABLE',
  NOT_ENOUGH_REPLICAS: 'RETRIABLE',
  // Written by the leader, not by enough replicas: it may survive or vanish.
  NOT_ENOUGH_REPLICAS_AFTER_APPEND: 'UNKNOWN',
  ILLEGAL_GENERATION: 'REBALANCING',
  UNKNOWN_MEMBER_ID: 'REBALANCING',
  REBALANCE_IN_PROGRESS: 'REBALANCING',
  NOT_CONTROLLER: 'RETRIABLE',
  // The log does not have what this producer wrote before; what was refused now is not in it.
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

/** What a code means for the caller. Anything not in the table is FATAL: unknown trouble is not retried for ever. */
export function kindOf(code: number): KafkaErrorKind {
  const name = errorName(code)
  return (kinds as Readonly<Record<string, KafkaErrorKind>>)[name] ?? 'FATAL'
}

/** An error for a response's code. */
export function kafkaError(what: string, code: number, detail?: string | null): KafkaError {
  const name = errorName(code)
  const because = detail === null || detail === undefined || detail === '' ? name : `${name} (${detail})`
  return new KafkaError(`${what}: ${because}.`, kindOf(code), { reason: name })
}

/** Throws for every code but NONE. */
export function assertNoError(what: string, code: number, detail?: string | null): void {
  if (code !== errorCode.NONE) throw kafkaError(what, code, detail)
}

/** False when trying again cannot help. */
export function mayPass(error: unknown): error is KafkaError {
  return error instanceof KafkaError && error.kind !== 'FATAL' && error.kind !== 'FENCED'
}

/** Sorts whatever a request threw. */
export function toKafkaError(what: string, thrown: unknown): KafkaError {
  if (thrown instanceof KafkaError) return thrown
  if (thrown instanceof TransportError) {
    const kind = thrown.isFinal ? 'FATAL' : thrown.outcome === 'NOT_SENT' ? 'RETRIABLE' : 'UNKNOWN'
    return new KafkaError(`${what}: ${thrown.message}`, kind, { cause: thrown })
  }
  return new KafkaError(`${what}: failed unexpectedly.`, 'FATAL', { cause: thrown })
}
