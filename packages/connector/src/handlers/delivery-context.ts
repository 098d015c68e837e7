/** The context of a handler call: one small object per call, with all other values computed on first access. */

import { type Clock, type Logger, type RecordHeaders, type Schemas, trustedHeaders } from '@waybill/core'
import { deliveryHeader, type LogContext, type TopicKind, withoutContextFields } from '@waybill/core/internal'
import type { KafkaRecord, OutRecord, Publisher } from '@waybill/kafka'
import type { DeliveryContext, OriginalPlace } from '../api/handler-types.ts'
import { headersOf } from '../records/record-headers.ts'
import { type KeyedPlace, naturalKeyOf } from './natural-key.ts'
import { NotTransactionalError } from './output-errors.ts'
import type { OutputPublishing } from './output-publisher.ts'
import type { CallOutputs } from './outputs.ts'

/** Values shared by all deliveries of a binding. */
export interface ContextScope {
  readonly bindingName: string
  /** The binding's group, in its tiers as well: headers and inbox identify the binding by it. */
  readonly groupId: string
  readonly logger: Logger
  readonly clock: Clock
  readonly publisher: Publisher<Schemas>
  /** Publishes into the transaction; set if the binding is transactional. */
  readonly publishInto?: OutputPublishing | undefined
}

/** Fields of log lines that not every delivery has: the id of its event, and its span. */
export type DeliveryLogFields = Readonly<Record<string, string>>

/** The details of one delivery that its context exposes. */
export interface ContextPlace {
  readonly kind: TopicKind
  /** 0 on the source. */
  readonly tier: number
  /** Parsed from headers, so preferably lazy. */
  readonly trail: KeyedPlace
  /** The monotonic time at which the client returned the record. */
  readonly handedOverAt: number
  /** The host name and the index of the member. */
  readonly consumerInstance: string
  readonly logFields?: DeliveryLogFields | undefined
  /** Set if the binding is transactional. */
  readonly outputs?: { begin(): CallOutputs } | undefined
}

/** The context of one handler call. */
export class RecordContext<Tx = undefined> implements DeliveryContext<Schemas, Tx> {
  readonly signal: AbortSignal
  readonly attempt: number
  readonly record: KafkaRecord
  readonly tx: Tx
  /** Aborts when the partition is revoked, or an operator pauses it: a handler that has not started does not start. */
  readonly retrying: AbortSignal
  readonly #scope: ContextScope
  readonly #place: ContextPlace
  readonly #outputs: CallOutputs | undefined
  #headers: RecordHeaders | undefined
  #logger: Logger | undefined

  private constructor(
    scope: ContextScope,
    place: ContextPlace,
    record: KafkaRecord,
    attempt: number,
    signal: AbortSignal,
    retrying: AbortSignal,
    tx: Tx,
    outputs: CallOutputs | undefined,
  ) {
    this.signal = signal
    this.retrying = retrying
    this.attempt = attempt
    this.record = record
    this.tx = tx
    this.#scope = scope
    this.#place = place
    this.#outputs = outputs
  }

  /** Creates the context of a call without a SQL transaction. */
  static of(
    scope: ContextScope,
    place: ContextPlace,
    record: KafkaRecord,
    attempt: number,
    signal: AbortSignal,
    retrying: AbortSignal,
  ): RecordContext {
    return new RecordContext(scope, place, record, attempt, signal, retrying, undefined, place.outputs?.begin())
  }

  /** Returns the context of the same call within a SQL transaction. */
  within<T>(tx: T): RecordContext<T> {
    const { record, attempt, signal, retrying } = this
    return new RecordContext(this.#scope, this.#place, record, attempt, signal, retrying, tx, this.#outputs)
  }

  /** The binding's group. */
  get groupId(): string {
    return this.#scope.groupId
  }

  get tier(): number {
    return this.#place.tier
  }

  get original(): OriginalPlace {
    return this.#place.trail.original
  }

  get naturalKey(): string {
    return naturalKeyOf(this.#place.trail)
  }

  get publisher(): Publisher<Schemas> {
    const { publisher, publishInto } = this.#scope
    return this.#outputs === undefined || publishInto === undefined ? publisher : publishInto(this.#outputs)
  }

  send(record: OutRecord): void {
    if (this.#outputs === undefined) throw new NotTransactionalError(this.#scope.bindingName)
    this.#outputs.send(record)
  }

  get headers(): RecordHeaders {
    return (this.#headers ??= this.#enriched())
  }

  get logger(): Logger {
    return (this.#logger ??= this.#childLogger())
  }

  /** Adds the delivery headers. Those of the record itself are never trusted, so each name occurs once. */
  #enriched(): RecordHeaders {
    const { groupId, bindingName } = this.#scope
    return trustedHeaders(headersOf(this.record), this.#place.kind, groupId)
      .append(deliveryHeader.bindingName, bindingName)
      .append(deliveryHeader.receivedTimestamp, this.#receivedAtMs())
      .append(deliveryHeader.consumerInstance, this.#place.consumerInstance)
  }

  #childLogger(): Logger {
    const context = logContextOf(this.#scope, this.record, this.#place)
    // Without the fields of the current delivery: each would be on the line twice.
    return withoutContextFields(this.#scope.logger).child({ ...context, offset: context.offset.toString() })
  }

  #receivedAtMs(): number {
    const { clock } = this.#scope
    return Math.round(clock.now() - (clock.monotonic() - this.#place.handedOverAt))
  }
}

/** The fields of log lines about a delivery. */
export type DeliveryLogContext = Required<Pick<LogContext, 'bindingName' | 'topic' | 'partition' | 'offset'>> &
  LogContext

/** Returns the fields of every log line about a delivery, from the engine or its handler. */
export function logContextOf(
  { bindingName, groupId }: Pick<ContextScope, 'bindingName' | 'groupId'>,
  { topic, partition, offset }: KafkaRecord,
  { consumerInstance, tier, logFields }: Pick<ContextPlace, 'consumerInstance' | 'tier' | 'logFields'>,
): DeliveryLogContext {
  const consumerGroup = groupId
  return { bindingName, topic, partition, offset, consumerGroup, consumerInstance, retryTier: tier, ...logFields }
}
