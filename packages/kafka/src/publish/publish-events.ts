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
  type WireRecord,
} from '@waybill/core'
import { definitionOf } from '@waybill/core/internal'
import { integer, optional, resolveOptions, text } from '@waybill/core/option'
import { KafkaError } from '../client/cluster/kafka-error.ts'
import type { KafkaClient } from '../client/kafka-client.ts'
import { headerFields } from '../client/producer/header-fields.ts'
import type { OutRecord } from '../client/producer/producer.ts'
import { fieldBytes, recordBytes } from '../wire/records/encode-batch.ts'
import { checkClientAndCatalog } from './argument-rules.ts'
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
  const open = (): Send =>
    transactionalId === undefined
      ? kafka.producer('EVENT', { maxRecordBytes })
      : createTransactionalSender(kafka, transactionalId, { maxRecordBytes })
  let sender: Send | undefined // Created with the first event: a factory does no IO.

  const publish: OutboxListener = async (event, context) => {
    const { topic } = definitionOf(events, event.eventType)
    sender ??= open()
    try {
      // Passed unchanged: its signal is created on first access, which only slow sends need.
      await sender.send({ topic, ...events.wireFormat.encode(event) }, context)
    } catch (error) {
      throw isTooLarge(error)
        ? new NonRetryableError(`${event.eventType} is too large for ${topic}.`, { cause: error })
        : error
    }
  }
  return {
    // The aggregate type does not matter: a catalog identifies events by name alone.
    listenerFor: (_aggregateType, eventType) => (Object.hasOwn(events.definitions, eventType) ? publish : null),
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

/** Returns whether the record was too large. In a transaction the refusal is the cause of the abort. */
function isTooLarge(error: unknown): boolean {
  if (!(error instanceof KafkaError)) return false
  return error.reason === 'MESSAGE_TOO_LARGE' || isTooLarge(error.cause)
}

interface Send {
  send(record: OutRecord, context: ListenerContext): Promise<unknown>
}
