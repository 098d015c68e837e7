/** Decodes a record into an event of the catalog, and selects its handler. */

import type { Inbox } from '@waybill/core'
import {
  type EventCatalog,
  identifyEvent,
  ParseError,
  type ReceivedEvent,
  RecordHeaders,
  type Schemas,
  SchemaViolationError,
  trustedHeaders,
} from '@waybill/core'
import { receiveEvent, type TopicKind, type UnknownVersionReport, type WireEvent } from '@waybill/core/internal'
import type { KafkaRecord } from '@waybill/kafka'
import type { DeliveryContext } from '../api/handler-types.ts'
import { DeserializationError } from '../records/record-errors.ts'
import type { RecordContext } from './delivery-context.ts'
import type { Prepared, PreparedRun } from './prepared.ts'
import { requireStart } from './require-start.ts'

/** A handler of one event type with any payload. */
export type AnyEventHandler = (
  event: ReceivedEvent<string, unknown>,
  context: DeliveryContext<Schemas, unknown>,
) => Promise<void> | void

/** Decodes the event of a record, anew at each call. */
type Receive = () => Promise<ReceivedEvent<string, unknown>>

const unhandled: Prepared = Object.freeze({ kind: 'UNHANDLED' })

/** Prepares records for the handlers of `handleEvents`. It knows nothing of retries, outcomes and offsets. */
export class EventPreparer {
  readonly events: EventCatalog<Schemas>
  /** The inbox given to `handleEvents`, instead of one of the binding. */
  readonly inbox: Inbox<unknown> | undefined
  readonly #handlers: ReadonlyMap<string, AnyEventHandler>

  /** @param handlers - handlers by event name */
  constructor(
    events: EventCatalog<Schemas>,
    handlers: ReadonlyMap<string, AnyEventHandler>,
    inbox: Inbox<unknown> | undefined,
  ) {
    this.events = events
    this.#handlers = handlers
    this.inbox = inbox
  }

  /** Prepares a record. Never rejects. Events without a handler are not parsed. */
  async prepare(
    record: KafkaRecord,
    kind: TopicKind,
    groupId: string,
    reportUnknown?: UnknownVersionReport,
  ): Promise<Prepared> {
    let wire: WireEvent
    try {
      wire = identifyEvent(this.events, wireRecordOf(record, kind, groupId))
    } catch (error) {
      return { kind: 'POISON', error: nameKey(error as Error) }
    }
    const handle = this.#handlers.get(wire.eventType)
    if (handle === undefined) return unhandled
    return this.#receive(() => receiveEvent(this.events, wire, reportUnknown), wire.eventId, handle)
  }

  /**
   * Decodes the event. An error of the schema itself, such as a failed lookup, may be transient: the run retries it.
   */
  async #receive(receive: Receive, eventId: string, handle: AnyEventHandler): Promise<Prepared> {
    try {
      return new EventRun(receive, eventId, handle, await receive())
    } catch (error) {
      if (isPermanent(error)) return { kind: 'POISON', error }
      return new EventRun(receive, eventId, handle, undefined)
    }
  }
}

/** Throws CorruptBatchError for damaged headers. */
function wireRecordOf({ key, value, headers }: KafkaRecord, kind: TopicKind, groupId: string) {
  return { key, value, headers: trustedHeaders(RecordHeaders.from(headers), kind, groupId) }
}

/** One event and its handler. */
class EventRun implements PreparedRun {
  readonly kind = 'RUN'
  readonly eventId: string
  readonly #receive: Receive
  readonly #handle: AnyEventHandler
  #event: ReceivedEvent<string, unknown> | undefined

  constructor(
    receive: Receive,
    eventId: string,
    handle: AnyEventHandler,
    event: ReceivedEvent<string, unknown> | undefined,
  ) {
    this.#receive = receive
    this.eventId = eventId
    this.#handle = handle
    this.#event = event
  }

  async run(context: RecordContext<unknown>): Promise<void> {
    const event = await this.#take()
    requireStart(context) // Decoding may have taken time.
    await this.#handle(event, context)
  }

  /** Returns a fresh event for each call: a failed call may have modified the payload. */
  async #take(): Promise<ReceivedEvent<string, unknown>> {
    const event = this.#event ?? (await this.#receive())
    this.#event = undefined
    return event
  }
}

/** Returns whether the same bytes always lead to this error. */
function isPermanent(error: unknown): error is Error {
  return error instanceof ParseError || error instanceof SchemaViolationError
}

/** Wraps an error about the key, so that the dead letter marks the key as undecodable. */
function nameKey(error: Error): Error {
  const isKey = error instanceof SchemaViolationError && error.violations.every(({ path }) => path === 'key')
  return isKey ? new DeserializationError('KEY', { cause: error }) : error
}
