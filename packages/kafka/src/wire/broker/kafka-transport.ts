/**
 * The port between our client and whatever speaks Kafka: one awaited call for each request to one node.
 *
 * Nothing here owns time. A transport has no timers, repeats nothing and reconnects nothing: the client decides how
 * long an answer may take, and ends a late request by closing its connection. That is what lets a simulated cluster on
 * a virtual clock stand behind the very code that runs in production.
 */

import { type ErrorContext, WaybillError } from '@waybill/core'
import type { KafkaApi, RequestOf, ResponseOf } from '../api/kafka-apis.ts'

/** Where a node listens. */
export interface NodeAddress {
  readonly host: string
  readonly port: number
}

/** Opens connections. */
export interface KafkaTransport {
  /**
   * Resolves once requests can be sent: TCP, TLS and authentication are done. Rejects with {@link TransportError}, whose
   * outcome is NOT_SENT; also when `signal` aborts, which is the way to end an attempt that takes too long.
   */
  connect(node: NodeAddress, clientId: string, signal?: AbortSignal): Promise<KafkaConnection>
}

/** One connection to one node. A broker serves its requests one at a time and answers in order. */
export interface KafkaConnection {
  /**
   * Resolves with the broker's answer, also when that carries error codes. Rejects with {@link TransportError} when
   * there is no answer, whose `outcome` says whether the broker can have acted on the request.
   */
  send<A extends KafkaApi>(api: A, request: RequestOf<A>): Promise<ResponseOf<A>>
  /** Resolves when the connection is over: with null after `close()`, else with the reason. Never rejects. */
  readonly ended: Promise<Error | null>
  /** Ends it now. Requests without an answer reject. */
  close(): void
}

/** NOT_SENT: the broker cannot have seen it. UNKNOWN: it may have acted, and its answer is lost. */
export type TransportOutcome = 'NOT_SENT' | 'UNKNOWN'

/** No answer came. */
export class TransportError extends WaybillError {
  static override readonly code: string = 'WAYBILL_KAFKA_TRANSPORT'
  readonly outcome: TransportOutcome
  /** True when trying again cannot help. */
  readonly isFinal: boolean = false

  constructor(what: string, outcome: TransportOutcome, context: ErrorContext = {}) {
    super(what, context)
    this.outcome = outcome
  }
}

/** The broker speaks no version of this request that we do. Trying again cannot help. */
export class UnsupportedApiError extends TransportError {
  static override readonly code: string = 'WAYBILL_KAFKA_API_UNSUPPORTED'
  override readonly isFinal = true
}

/** The broker refused our credentials. Trying again cannot help until they change. */
export class AuthenticationError extends TransportError {
  static override readonly code: string = 'WAYBILL_KAFKA_AUTHENTICATION'
  override readonly isFinal = true
}
