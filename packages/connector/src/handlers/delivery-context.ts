/** What a handler is told beside the record. One small object per call; everything else is made when asked for. */

import { type Clock, type Logger, type RecordHeaders, type Schemas, trustedHeaders } from '@waybill/core'
import { deliveryHeader, type LogContext, type TopicKind } from '@waybill/core/internal'
import type { KafkaRecord, OutRecord, Publisher } from '@waybill/kafka'
import type { DeliveryContext, OriginalPlace } from '../api/handler-types.ts'
import { headersOf } from '../records/record-headers.ts'
import { type KeyedPlace, naturalKeyOf } from './natural-key.ts'
import { NotTransactionalError } from './output-errors.ts'
import type { OutputPublishing } from './output-publisher.ts'
import type { CallOutputs } from './outputs.ts'

/** What all deliveries of a binding share. */
export interface ContextScope {
  readonly bindingName: string
  /** The binding's group, on its tiers too: headers and inbox know the binding by it. */
  readonly groupId: string
  readonly logger: Logger
  readonly clock: Clock
  readonly publisher: Publisher<Schemas>
  /** Where the binding is transactional: publishes into the transaction. */
  readonly publishInto?: OutputPublishing | undefined
}

/** One delivery, as far as a handler may ask about it. */
export interface ContextPlace {
  readonly kind: TopicKind
  /** 0 on the source. */
  readonly tier: number
  /** Read from headers, so best made when first asked for. */
  readonly trail: KeyedPlace
  /** Monotonic: when the record was handed over. */
  readonly handedOverAt: number
  /** Host name and index of the member (S0-162). */
  readonly consumerInstance: string
  /** Where the binding is transactional. */
  readonly outputs?: { begin(): CallOutputs } | undefined
}

/** The context of one call of a handler. */
export class RecordContext<Tx = undefined> implements DeliveryContext<Schemas, Tx> {
  readonly signal: AbortSignal
  readonly attempt: number
  readonly record: KafkaRecord
  readonly tx: Tx
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
    tx: Tx,
    outputs: CallOutputs | undefined,
  ) {
    this.signal = signal
    this.attempt = attempt
    this.record = record
    this.tx = tx
    this.#scope = scope
    this.#place = place
    this.#outputs = outputs
  }

  /** The context of a call without a transaction. */
  static of(
    scope: ContextScope,
    place: ContextPlace,
    record: KafkaRecord,
    attempt: number,
    signal: AbortSignal,
  ): RecordContext {
    return new RecordContext(scope, place, record, attempt, signal, undefined, place.outputs?.begin())
  }

  /** The same call within a transaction. */
  within<T>(tx: T): RecordContext<T> {
    return new RecordContext(this.#scope, this.#place, this.record, this.attempt, this.signal, tx, this.#outputs)
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

  /** The delivery headers of the record itself are never believed, so each name is there once. */
  #enriched(): RecordHeaders {
    const { groupId, bindingName } = this.#scope
    return trustedHeaders(headersOf(this.record), this.#place.kind, groupId)
      .append(deliveryHeader.bindingName, bindingName)
      .append(deliveryHeader.receivedTimestamp, this.#receivedAtMs())
      .append(deliveryHeader.consumerInstance, this.#place.consumerInstance)
  }

  #childLogger(): Logger {
    const context = logContextOf(this.#scope, this.record, this.#place)
    return this.#scope.logger.child({ ...context, offset: context.offset.toString() })
  }

  #receivedAtMs(): number {
    const { clock } = this.#scope
    return Math.round(clock.now() - (clock.monotonic() - this.#place.handedOverAt))
  }
}

/** What every line says that is logged about a delivery, by the engine or by its handler (S0-178). */
export function logContextOf(
  { bindingName, groupId }: Pick<ContextScope, 'bindingName' | 'groupId'>,
  { topic, partition, offset }: KafkaRecord,
  { consumerInstance, tier }: Pick<ContextPlace, 'consumerInstance' | 'tier'>,
): Required<LogContext> {
  return { bindingName, topic, partition, offset, consumerGroup: groupId, consumerInstance, retryTier: tier }
}
