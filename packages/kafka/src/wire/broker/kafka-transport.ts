/**
 * The port between the client and a Kafka cluster: one awaited call for each request to one node.
 *
 * A transport has no timers, retries nothing and reconnects nothing. The client decides how long a response may take,
 * and ends a late request by closing its connection. So the same client runs in production and on a simulated cluster
 * with a virtual clock.
 */

import { type ErrorContext, WaybillError } from '@waybill/core'
import type { KafkaApi, RequestOf, ResponseOf } from '../api/kafka-apis.ts'

/** The address of a node. */
export interface NodeAddress {
  readonly host: string
  readonly port: number
}

/** Opens connections. */
export interface KafkaTransport {
  /**
   * Resolves once requests can be sent: TCP, TLS and authentication are done. Rejects with {@link TransportError}, whose
   * outcome is NOT_SENT; also when `signal` aborts, which ends an attempt that takes too long.
   */
  connect(node: NodeAddress, clientId: string, signal?: AbortSignal): Promise<KafkaConnection>
}

/** One connection to one node. A broker processes its requests one at a time and responds in order. */
export interface KafkaConnection {
  /**
   * Resolves with the broker's response, also when it carries error codes. Rejects with {@link TransportError} when
   * there is no response; its `outcome` says whether the broker may have acted on the request.
   */
  send<A extends KafkaApi>(api: A, request: RequestOf<A>): Promise<ResponseOf<A>>
  /** Resolves when the connection is closed: with null after `close()`, otherwise with the reason. Never rejects. */
  readonly ended: Promise<Error | null>
  /** Closes the connection at once. Pending requests reject. */
  close(): void
}

/** NOT_SENT: the broker cannot have received the request. UNKNOWN: it may have acted on it; the response is lost. */
export type TransportOutcome = 'NOT_SENT' | 'UNKNOWN'

/** A request without a response. */
export class TransportError extends WaybillError {
  static override readonly code: string = 'WAYBILL_KAFKA_TRANSPORT'
  readonly outcome: TransportOutcome
  /** True when a retry cannot succeed. */
  readonly isFinal: boolean = false

  constructor(what: string, outcome: TransportOutcome, context: ErrorContext = {}) {
    super(what, context)
    this.outcome = outcome
  }
}

/** A request of which client and broker have no version in common. A retry cannot succeed. */
export class UnsupportedApiError extends TransportError {
  static override readonly code: string = 'WAYBILL_KAFKA_API_UNSUPPORTED'
  override readonly isFinal = true
}

/** Credentials that the broker rejected. A retry cannot succeed until they change. */
export class AuthenticationError extends TransportError {
  static override readonly code: string = 'WAYBILL_KAFKA_AUTHENTICATION'
  override readonly isFinal = true
}
