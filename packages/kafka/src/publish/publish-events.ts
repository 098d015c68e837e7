/** Publishes outbox events to Kafka: a listener for every event of a catalog. */

import { Buffer } from 'node:buffer'
import {
  type EventCatalog,
  type EventEnvelope,
  type ListenerContext,
  type ListenerRegistry,
  NonRetryableError,
  type OutboxListener,
  PayloadTooLargeError,
  type Schemas,
  UnavailableError,
  type WireRecord,
} from '@waybill/core'
import { definitionOf, encodeRecord } from '@waybill/core/internal'
import { integer, optional, resolveOptions, text } from '@waybill/core/option'
import { clientFactsOf } from '../client/cluster/client-facts.ts'
import { KafkaError } from '../client/cluster/kafka-error.ts'
import type { KafkaClient } from '../client/kafka-client.ts'
import { headerFields } from '../client/producer/header-fields.ts'
import type { OutRecord, Producer } from '../client/producer/producer.ts'
import { fieldBytes, recordBytes } from '../wire/records/encode-batch.ts'
import { checkClientAndCatalog } from './argument-rules.ts'
import { cutShort, FailedLanes } from './failed-lanes.ts'
import { destinationAt, KafkaDestinations } from './kafka-destinations.ts'
import { describeSendFailure, faultOf } from './send-faults.ts'
import { scopeOf, tracedSend } from './traced-send.ts'
import { createTransactionalSender } from './transactional-sender.ts'

/** Options of {@link publishEvents}. */
export interface PublishEventsOptions {
  /**
   * Publishes in Kafka transactions under this id, one for all events that are pending at the same time: read-committed
   * consumers see a batch whole or not at all. Each node needs its own id, stable across restarts, so that a new
   * process aborts the open transaction of the previous one.
   * @defaultValue no transactions: an idempotent producer
   */
  readonly transactionalId?: string | undefined
  /**
   * Largest record in bytes, with key, headers and batch overhead. A write that would exceed it is refused, since it
   * could never be sent. The producer has the same limit; raise `max.message.bytes` of the topics with it.
   * @defaultValue 1048576
   */
  readonly maxRecordBytes?: number | undefined
}

const rules = {
  maxRecordBytes: integer({
    default: 1_048_576,
    min: 1_024,
    max: 33_554_432, // The buffer of a producer.
    because: 'brokers refuse more by default',
  }),
  transactionalId: optional(text({ pattern: /^.{1,249}$/s, called: 'a string of 1 to 249 characters' })),
}

/**
 * Publishes each event to its topic from the catalog, in the catalog's wire format: the event's id and trace in
 * headers, the partition by the partition contract over its key. An event is published when all in-sync replicas have
 * it.
 *
 * Sends keep the order of the calls, so the order within a key is the order in which the outbox calls: `Outbox.keyed`
 * preserves it across failures and nodes. A send without a response is a failure, and its retry may create a second
 * record with the same id. The same applies to a send canceled because the outbox stopped or lost its lease: a record
 * that is not in a request yet is never sent, while one in flight may still arrive, even after records that another
 * node has published since.
 *
 * A record that Kafka never accepts is a NonRetryableError. While a partition, its topic or the cluster does not accept
 * records, events fail with an UnavailableError: they wait and spend no attempt.
 *
 * @param kafka - Closing it also closes the producer of the listeners: stop the outbox first.
 * @throws OptionsError
 */
export function publishEvents<S extends Schemas>(
  kafka: Pick<KafkaClient, 'producer' | 'transactionalProducer'>,
  events: EventCatalog<S>,
  options: PublishEventsOptions = {},
): ListenerRegistry {
  checkClientAndCatalog('publishEvents', kafka, events)
  const { transactionalId, maxRecordBytes } = resolveOptions('publishEvents', rules, options)
  const destinations = new KafkaDestinations(clientFactsOf(kafka), transactionalId)
  const laneOf = (topic: string, key: string | null): string => destinationAt(destinations.of(topic, key), 'PARTITION')
  const sender =
    transactionalId === undefined
      ? new IdempotentSender(kafka, maxRecordBytes, laneOf)
      : transactionalSender(kafka, transactionalId, maxRecordBytes, laneOf)

  const { tracer } = clientFactsOf(kafka)
  const publish: OutboxListener = async (event, context) => {
    const { topic } = definitionOf(events, event.eventType)
    const encoded = encodeRecord(events, event)
    // Awaited only where a codec looks something up, so that sends keep the order of the calls.
    const record = { topic, ...(encoded instanceof Promise ? await encoded : encoded) }
    try {
      // Passed unchanged: its signal is created on first access, which only slow sends need.
      const send = (): Promise<unknown> => sender.send(record, context, event.aggregateId)
      await (tracer === undefined ? send() : tracedSend(tracer, scopeOf(event, topic, context.attempt), send))
    } catch (thrown) {
      // A canceled send says nothing about its destination.
      if (context.signal.aborted) throw thrown
      const error = sender.failed(thrown, topic, event.aggregateId)
      throw deliveryError(event, error, destinations.of(topic, event.aggregateId))
    }
  }
  return {
    // The aggregate type does not matter: a catalog identifies events by name alone.
    listenerFor: (_aggregateType, eventType) => (Object.hasOwn(events.definitions, eventType) ? publish : null),
    destinationsOf: ({ eventType, aggregateId }) => {
      if (!Object.hasOwn(events.definitions, eventType)) return destinations.of(undefined, aggregateId)
      const { topic, codec } = definitionOf(events, eventType)
      const ofTopic = destinations.of(topic, aggregateId)
      // The narrowest: while a codec cannot encode, events without it still reach the partition.
      return codec === undefined ? ofTopic : [...ofTopic, codec.destination]
    },
    checkWrite: (event) => {
      // Skip measuring events far below the limit: it would be most of the cost.
      if (charactersOf(event) < maxRecordBytes / 16) return
      const record = events.wireFormat.encode(event)
      const bytes = batchBytes(record)
      const payloadBytes = Buffer.byteLength(event.payloadJson)
      const aroundBytes = Math.max(0, bytes - payloadBytes)
      if (bytes > maxRecordBytes)
        throw new PayloadTooLargeError(
          event.eventType,
          payloadBytes,
          Math.max(0, maxRecordBytes - aroundBytes),
          'raise maxRecordBytes of publishEvents, and max.message.bytes of the topic with it',
        )
    },
  }
}

function charactersOf({ payloadJson, headers }: EventEnvelope): number {
  return Object.entries(headers).reduce((sum, [name, value]) => sum + name.length + value.length, payloadJson.length)
}

/** Bytes of a batch header. */
const batchHeaderBytes = 61

/** Returns the size of a batch with this record alone, which a broker compares with `max.message.bytes`. */
function batchBytes({ key, value, headers }: WireRecord): number {
  const measured = { key, value, headerFields: headerFields(headers) }
  return batchHeaderBytes + recordBytes({ fieldBytes: fieldBytes(measured) })
}

/** Converts the error of a failed send: of the event, or of a destination that accepts nothing now. */
function deliveryError(event: EventEnvelope, error: unknown, destinations: readonly string[]): unknown {
  const fault = faultOf(error)
  if (fault === undefined) return error
  const why = describeSendFailure(error as Error)
  if (fault === 'RECORD')
    return new NonRetryableError(`${event.eventType} can never be published: ${why}`, { cause: error })
  const destination = destinationAt(destinations, fault)
  return new UnavailableError(`Cannot publish to ${destination}: ${why}`, { cause: error, destination })
}

/** Returns the partition of a record, or the topic while its partition count is unknown. */
type LaneOf = (topic: string, key: string | null) => string

interface Sender {
  send(record: OutRecord, context: ListenerContext, key: string | null): Promise<unknown>
  /** Called with the error of each failed send that was not canceled. Returns the error to report. */
  failed(thrown: unknown, topic: string, key: string | null): unknown
}

/** Sends with one producer, created with the first record: a factory does no IO. */
class IdempotentSender implements Sender {
  readonly #kafka: Pick<KafkaClient, 'producer'>
  readonly #maxRecordBytes: number
  readonly #laneOf: LaneOf
  readonly #lanes: FailedLanes = new FailedLanes()
  #producer: Producer | undefined

  constructor(kafka: Pick<KafkaClient, 'producer'>, maxRecordBytes: number, laneOf: LaneOf) {
    this.#kafka = kafka
    this.#maxRecordBytes = maxRecordBytes
    this.#laneOf = laneOf
  }

  send(record: OutRecord, context: ListenerContext, key: string | null): Promise<unknown> {
    const maxRecordBytes = this.#maxRecordBytes
    const producer = (this.#producer ??= this.#kafka.producer('EVENT', { maxRecordBytes }))
    if (this.#lanes.isEmpty) return producer.send(record, context)
    const lane = this.#laneOf(record.topic, key)
    const timeoutMs = this.#lanes.timeoutMs(lane)
    return timeoutMs === undefined
      ? producer.send(record, context)
      : this.#sendBriefly(producer, record, context.signal, { lane, timeoutMs })
  }

  async #sendBriefly(
    producer: Producer,
    record: OutRecord,
    signal: AbortSignal,
    { lane, timeoutMs }: { readonly lane: string; readonly timeoutMs: number },
  ): Promise<void> {
    const ending = new AbortController()
    const timer = clientFactsOf(this.#kafka).timers?.schedule(timeoutMs, () => ending.abort(cutShort))
    try {
      await producer.send(record, { signal: AbortSignal.any([signal, ending.signal]) })
      this.#lanes.reached(lane)
    } finally {
      timer?.[Symbol.dispose]()
    }
  }

  failed(thrown: unknown, topic: string, key: string | null): unknown {
    if (thrown instanceof KafkaError && thrown.kind === 'FENCED') {
      // The broker refuses this producer id from now on: the next records need another one.
      const fenced = this.#producer
      this.#producer = undefined
      void fenced?.close().catch(() => {}) // Its records have their own errors.
    }
    return this.#lanes.failed(this.#laneOf(topic, key), thrown)
  }
}

/** Sends in transactions. */
function transactionalSender(
  kafka: Pick<KafkaClient, 'transactionalProducer'>,
  transactionalId: string,
  maxRecordBytes: number,
  laneOf: LaneOf,
): Sender {
  const sender = createTransactionalSender(kafka, transactionalId, { maxRecordBytes })
  return {
    send: (record, context, key) => sender.send(record, () => laneOf(record.topic, key), context),
    // It replaces its producer and knows its failed lanes itself.
    failed: (thrown) => thrown,
  }
}
