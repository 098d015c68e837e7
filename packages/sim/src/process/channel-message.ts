/**
 * The messages between a child process and the parent that runs a simulated cluster.
 *
 *     child                                            parent
 *     connect #1 ──────────────────────────────────▶  transport.connect
 *                ◀────────────────────────────────── answer #1
 *     send #2 on connection #1 ─────────────────────▶  connection.send
 *                ◀────────────────────────────────── answer #2, or failure #2
 *     close #1 ────────────────────────────────────▶  connection.close
 *                ◀────────────────────────────────── ended #1, by either side
 *
 * A message travels as one text, whatever serialisation the child was forked with: JSON has neither bigint nor Buffer.
 */

import { deserialize, serialize } from 'node:v8'
import {
  AuthenticationError,
  type KafkaApi,
  type NodeAddress,
  type RequestOf,
  type ResponseOf,
  TransportError,
  type TransportOutcome,
  UnsupportedApiError,
} from '@waybill/kafka/wire'

/** A request of a child. */
export type ChildMessage =
  | { readonly kind: 'connect'; readonly id: number; readonly node: NodeAddress; readonly clientId: string }
  | {
      readonly kind: 'send'
      readonly id: number
      readonly connection: number
      readonly api: KafkaApi
      readonly request: RequestOf<KafkaApi>
    }
  /** Closes a connection, or gives up the attempt to open it. */
  | { readonly kind: 'close'; readonly connection: number }

/** A response of the parent. */
export type ParentMessage =
  | { readonly kind: 'answer'; readonly id: number; readonly response: ResponseOf<KafkaApi> | null }
  | { readonly kind: 'failure'; readonly id: number; readonly failure: ToldFailure }
  | { readonly kind: 'ended'; readonly connection: number; readonly reason: ToldFailure | null }

/** An error on its way to another process. */
export interface ToldFailure {
  readonly code: string
  readonly message: string
  readonly outcome: TransportOutcome
}

interface Packed {
  readonly waybillKafka: string
}

export function pack(message: ChildMessage | ParentMessage): Packed {
  return { waybillKafka: serialize(message).toString('base64') }
}

/** Undefined for a message that is none of ours: the application may use the channel too. */
export function unpack(received: unknown): unknown {
  const text = (received as Partial<Packed> | null)?.waybillKafka
  return typeof text === 'string' ? deserialize(Buffer.from(text, 'base64')) : undefined
}

export function tellFailure(thrown: unknown): ToldFailure {
  if (thrown instanceof TransportError) return { code: thrown.code, message: thrown.message, outcome: thrown.outcome }
  // Any other error is a defect of the cluster, so its outcome is unknown.
  const message = thrown instanceof Error ? thrown.message : String(thrown)
  return { code: TransportError.code, message, outcome: 'UNKNOWN' }
}

export function heardFailure({ code, message, outcome }: ToldFailure): TransportError {
  if (code === AuthenticationError.code) return new AuthenticationError(message, outcome)
  if (code === UnsupportedApiError.code) return new UnsupportedApiError(message, outcome)
  return new TransportError(message, outcome)
}
