/** The outbox's way to Kafka: a listener for every event of a catalog. */

import { definitionOf, type EventCatalog, type Schemas } from '@waybill/core'
import { optional, resolveOptions, text } from '@waybill/core/option'
import type { ListenerRegistry, OutboxListener } from '@waybill/core/outbox'
import type { KafkaClient } from '../client/kafka-client.ts'
import type { OutRecord } from '../client/types.ts'
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
}

const rules = {
  transactionalId: optional(text({ pattern: /^.{1,249}$/s, called: 'a text of 1 to 249 characters' })),
}

/**
 * Publishes each event to the topic that the catalog names, in the catalog's wire format: the event's id and trace in
 * headers, the partition by contract over its key. An event is carried on when all in-sync replicas have it.
 *
 * Sends go out in the order of the calls, so the order of a key is that in which the outbox calls: `Outbox.keyed` keeps it
 * through failures and over nodes. A send without an answer is a failure, and its repeat may be a second record with the
 * same id.
 *
 * @param kafka closing it ends the producer behind the listeners too: stop the outbox first.
 * @throws OptionsError
 */
export function publishEvents<S extends Schemas>(
  kafka: Pick<KafkaClient, 'producer' | 'transactionalProducer'>,
  events: EventCatalog<S>,
  options: PublishEventsOptions = {},
): ListenerRegistry {
  const { transactionalId } = resolveOptions('publishEvents', rules, options)
  const open = (): Send =>
    transactionalId === undefined ? kafka.producer('EVENT') : createTransactionalSender(kafka, transactionalId)
  let sender: Send | undefined // Made for the first event: a factory does no IO.

  const publish: OutboxListener = async (event) => {
    const { topic } = definitionOf(events, event.eventType)
    sender ??= open()
    await sender.send({ topic, ...events.wireFormat.encode(event) })
  }
  return {
    // Whatever the aggregate type: a catalog knows an event by its name alone.
    listenerFor: (_aggregateType, eventType) => (Object.hasOwn(events.definitions, eventType) ? publish : null),
  }
}

interface Send {
  send(record: OutRecord): Promise<unknown>
}
