import { ArgumentError } from '../errors.ts'
import { recordUnchanged } from '../event/error-context.ts'
import { SchemaViolationError } from '../event/event-errors.ts'
import type { StandardSchema } from '../event/standard-schema.ts'
import type { WireEvent, WireRecord } from '../event/wire/wire-format.ts'
import type { RecordHeaders } from '../header/headers.ts'
import { showValue } from '../option/show-value.ts'
import type { Logger } from '../telemetry/logger.ts'
import { type DefinedEvent, definitionOf, type EventCatalog, keyOf, type PayloadOf, type Schemas } from './catalog.ts'
import { readPayload } from './read-payload.ts'
import { logUnknownVersion, type UnknownVersionReport } from './unknown-version.ts'

/** An event as its handler gets it. */
export interface ReceivedEvent<N, P> {
  readonly id: string
  readonly name: N
  /** Version of the schema the producer wrote with. The payload is of the catalog's version, whatever this says. */
  readonly version: number
  readonly key: string | null
  /** The output of the event's newest schema. */
  readonly payload: P
  /** When the fact happened, in epoch milliseconds; null where the record does not tell. */
  readonly occurredAt: number | null
  readonly aggregateType: string
  readonly aggregateVersion: number | null
  readonly tenantId: string | null
  /** All headers of the record, as they came. */
  readonly headers: RecordHeaders
}

/** Any event of a catalog; its name tells which payload it has. */
export type ReceivedEventOf<S extends Schemas> = {
  [N in keyof S & string]: ReceivedEvent<N, PayloadOf<S, N>>
}[keyof S & string]

/**
 * Identifies the event of the catalog that a record holds without reading its payload: enough to skip an event that has no
 * handler.
 *
 * @throws {@link ParseError}, {@link SchemaViolationError}, {@link UnknownEventTypeError}: all of them permanent.
 * {@link ArgumentError} for what is no {@link WireRecord}.
 */
export function identifyEvent<S extends Schemas>(catalog: EventCatalog<S>, record: WireRecord): WireEvent {
  requireHeaders(record)
  const event = catalog.wireFormat.decode(record)
  definitionOf(catalog, event.eventType)
  return event
}

/**
 * Parses and validates the payload of an event that {@link identifyEvent} found, and takes it to the newest version. The event
 * itself keeps the bytes it came with.
 *
 * @throws {@link ParseError}, {@link SchemaViolationError}, and what the schema itself throws.
 */
export async function receiveEvent<S extends Schemas>(
  catalog: EventCatalog<S>,
  event: WireEvent,
  reportUnknown?: UnknownVersionReport,
): Promise<ReceivedEventOf<S>> {
  const { eventType: name, aggregateId: key } = event
  const definition = definitionOf(catalog, name)
  const written = await payloadOf(definition, event)
  const payload = await readPayload(name, definition, event.eventVersion, written, reportUnknown)
  if (catalog.wireFormat.bindsKey && keyOf(name, definition, payload) !== key)
    throw new SchemaViolationError(
      name,
      [{ path: 'partition_key', message: 'is not the key of the payload' }],
      recordUnchanged,
    )
  const { aggregateType, aggregateVersion, occurredAt, tenantId, headers } = event
  return {
    id: event.eventId,
    name,
    version: event.eventVersion,
    key,
    payload,
    occurredAt,
    aggregateType,
    aggregateVersion,
    tenantId,
    headers,
  } as ReceivedEventOf<S>
}

/** Returns the payload as its writer passed it, or resolved to the codec's schema where no steps lead to the newest version. */
function payloadOf({ codec, upcasters, version }: DefinedEvent<StandardSchema>, event: WireEvent): unknown {
  const bytes = codec && event.payload.bytes()
  if (bytes === undefined || !codec?.recognizes(bytes)) return event.payload.json()
  const isOlder = upcasters !== undefined && event.eventVersion < version
  return isOlder ? codec.decodeAsWritten(bytes) : codec.decode(bytes)
}

/** The mistake to expect: Kafka clients hand out headers as an object or a Map. */
function requireHeaders({ headers }: WireRecord): void {
  if (typeof (headers as Partial<RecordHeaders> | undefined)?.getAll === 'function') return
  throw new ArgumentError(`The headers of a record are RecordHeaders, not ${showValue(headers)}.`, {
    hint: 'Make them from pairs: RecordHeaders.from(Object.entries(headers)).',
  })
}

/** Settings of {@link decodeEvent}. */
export interface DecodeEventOptions {
  /** Receives a warning for an event of a version that the catalog does not know. @defaultValue none */
  readonly logger?: Logger | undefined
}

/**
 * Identifies the event of a record, then parses and validates its payload. An earlier version is taken through the steps of the
 * catalog to the newest one; a version above it is read as version 1, with a warning.
 *
 * @throws {@link ParseError}, {@link SchemaViolationError}, {@link UnknownEventTypeError}: all of them permanent.
 */
export async function decodeEvent<S extends Schemas>(
  catalog: EventCatalog<S>,
  record: WireRecord,
  { logger }: DecodeEventOptions = {},
): Promise<ReceivedEventOf<S>> {
  const report: UnknownVersionReport | undefined =
    logger && ((name, version) => logUnknownVersion(logger, name, version))
  return receiveEvent(catalog, identifyEvent(catalog, record), report)
}
