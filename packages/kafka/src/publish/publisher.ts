/** Publishes catalog events to Kafka without an outbox. */

import {
  createUlidGenerator,
  type EventCatalog,
  encodeEvent,
  type InputOf,
  type Runtime,
  type Schemas,
  StateError,
  systemRuntime,
  type Tracer,
} from '@waybill/core'
import { definitionOf, type EventMeta, encodeRecord } from '@waybill/core/internal'
import { resolveOptions } from '@waybill/core/option'
import { clientFactsOf } from '../client/cluster/client-facts.ts'
import { runtimeRule } from '../client/cluster/optional-runtime.ts'
import type { KafkaClient } from '../client/kafka-client.ts'
import type { OutRecord, Producer } from '../client/producer/producer.ts'
import { checkClientAndCatalog } from './argument-rules.ts'
import { tracedMeta } from './traced-send.ts'

/** Publishes the events of a catalog. */
export interface Publisher<S extends Schemas> {
  /**
   * Resolves with the event's id once all in-sync replicas have it. Rejects with KafkaError; kind UNKNOWN means that it
   * may be in the log. Publish it again under the same `meta.eventId`, by which consumers detect the duplicate.
   *
   * @throws SchemaViolationError, PayloadTooLargeError, UnknownEventTypeError before anything is written
   */
  publish<N extends keyof S & string>(name: N, payload: InputOf<S, N>, meta?: EventMeta): Promise<string>
}

/** A {@link Publisher} that owns its producer. */
export interface EventPublisher<S extends Schemas> extends Publisher<S>, AsyncDisposable {
  /** Resolves when every published event has its result. */
  close(): Promise<void>
}

/** Options of a publisher. */
export interface PublisherOptions {
  /** Source of ids and timestamps. @defaultValue the system runtime */
  readonly runtime?: Runtime | undefined
}

const rules = { runtime: runtimeRule }

/**
 * Creates a publisher that publishes events immediately. A published event is not undone when the surrounding work
 * fails: to publish if and only if a transaction commits, write to an outbox.
 *
 * @throws OptionsError
 */
export function createPublisher<S extends Schemas>(
  kafka: Pick<KafkaClient, 'producer'>,
  events: EventCatalog<S>,
  options: PublisherOptions = {},
): EventPublisher<S> {
  checkClientAndCatalog('createPublisher', kafka, events)
  const runtime = resolveOptions('publisher', rules, options).runtime ?? systemRuntime
  return new KafkaPublisher(kafka, events, runtime)
}

/** Source of the ids and timestamps of events. */
type EventSources = NonNullable<Parameters<typeof encodeEvent>[4]>

/**
 * Encodes an event as a record, and returns it with its id. @throws SchemaViolationError, PayloadTooLargeError,
 * UnknownEventTypeError
 */
export async function recordOfEvent<S extends Schemas, N extends keyof S & string>(
  events: EventCatalog<S>,
  name: N,
  payload: InputOf<S, N>,
  meta: EventMeta | undefined,
  sources: EventSources,
): Promise<{ readonly record: OutRecord; readonly eventId: string }> {
  const envelope = await encodeEvent(events, name, payload, meta, sources)
  const { topic } = definitionOf(events, name)
  return { record: { topic, ...(await encodeRecord(events, envelope)) }, eventId: envelope.eventId }
}

class KafkaPublisher<S extends Schemas> implements EventPublisher<S> {
  readonly #kafka: Pick<KafkaClient, 'producer'>
  readonly #events: EventCatalog<S>
  readonly #sources: EventSources
  readonly #tracer: Tracer | undefined
  /** Created with the first event: most handlers publish none. */
  #producer: Producer | undefined
  #isClosed = false

  constructor(kafka: Pick<KafkaClient, 'producer'>, events: EventCatalog<S>, runtime: Runtime) {
    this.#kafka = kafka
    this.#events = events
    this.#sources = { clock: runtime.clock, nextId: createUlidGenerator(runtime) }
    this.#tracer = runtime.tracer ?? clientFactsOf(kafka).tracer
  }

  async publish<N extends keyof S & string>(name: N, payload: InputOf<S, N>, meta?: EventMeta): Promise<string> {
    const { meta: traced, span } = tracedMeta(this.#tracer, name, meta)
    try {
      const { record, eventId } = await recordOfEvent(this.#events, name, payload, traced, this.#sources)
      // Opened only now: the publisher may be closed while the schema validates the payload.
      await this.#open().send(record)
      span?.end()
      return eventId
    } catch (error) {
      span?.end(error)
      throw error
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.#producer?.close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  #open(): Producer {
    if (this.#isClosed)
      throw new StateError('The publisher is closed.', {
        impact: 'Nothing was written.',
        hint: 'Create another publisher.',
      })
    return (this.#producer ??= this.#kafka.producer('EVENT'))
  }
}
