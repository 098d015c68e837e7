/** The outbox's way to Kafka: a listener for every event of a catalog. */

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
   * Publishes in Kafka transactions under this id, one for all events that wait at the same time: consumers that read
   * committed see a batch whole or not at all. Each node needs an id of its own, the same after a restart, so that the
   * new incarnation ends what the old one left open (C-75).
   * @defaultValue no transactions: an idempotent producer
   */
  readonly transactionalId?: string | undefined
  /**
   * The largest record, with its key, its headers and what a batch adds. A write that would make a larger one is refused: it
   * could never be sent. The producer behind the listeners takes as much; raise the topics' `max.message.bytes` with it.
   * @defaultValue 1048576
   */
  readonly maxRecordBytes?: number | undefined
}

const rules = {
  maxRecordBytes: integer({
    default: 1_048_576,
    min: 1_024,
    max: 33_554_432, // A producer holds as much as that.
    because: 'brokers refuse more by default',
  }),
  transactionalId: optional(text({ pattern: /^.{1,249}$/s, called: 'a text of 1 to 249 characters' })),
}

/**
 * Publishes each event to the topic that the catalog names, in the catalog's wire format: the event's id and trace in
 * headers, the partition by contract over its key. An event is carried on when all in-sync replicas have it.
 *
 * Sends go out in the order of the calls, so the order of a key is that in which the outbox calls: `Outbox.keyed` keeps it
 * through failures and over nodes. A send without an answer is a failure, and its repeat may be a second record with the
 * same id. So is one that was given up because the outbox had to end or its lease was gone: what no request carries yet is
 * never sent; what is on its way may still arrive, also behind what another node has published meanwhile.
 *
 * @param kafka closing it ends the producer behind the listeners too: stop the outbox first.
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
  let sender: Send | undefined // Made for the first event: a factory does no IO.

  const publish: OutboxListener = async (event, context) => {
    const { topic } = definitionOf(events, event.eventType)
    sender ??= open()
    try {
      // The context as it is: its signal is made when it is read, and that is for sends that take long.
      await sender.send({ topic, ...events.wireFormat.encode(event) }, context)
    } catch (error) {
      throw isTooLarge(error)
        ? new NonRetryableError(`${event.eventType} is too large for ${topic}.`, { cause: error })
        : error
    }
  }
  return {
    // Whatever the aggregate type: a catalog knows an event by its name alone.
    listenerFor: (_aggregateType, eventType) => (Object.hasOwn(events.definitions, eventType) ? publish : null),
    checkWrite: (event) => {
      // Most are so far below that measuring them would be most of the cost.
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

/** What the header of a batch takes. */
const batchHeaderBytes = 61

/** The size of a batch that holds this record alone: what a broker compares with `max.message.bytes`. */
function batchBytes({ key, value, headers }: WireRecord): number {
  const measured = { key, value, headerFields: headerFields(headers) }
  return batchHeaderBytes + recordBytes({ fieldBytes: fieldBytes(measured) })
}

/** In a transaction the refusal is the cause of its abort. */
function isTooLarge(error: unknown): boolean {
  if (!(error instanceof KafkaError)) return false
  return error.reason === 'MESSAGE_TOO_LARGE' || isTooLarge(error.cause)
}

interface Send {
  send(record: OutRecord, context: ListenerContext): Promise<unknown>
}
