import type { EventEnvelope } from '../event/envelope.ts'
import { isBase64Flag } from '../event/envelope-headers.ts'
import type { WireRecord } from '../event/wire/wire-format.ts'
import { contentTypeHeader } from '../header/header-names.ts'
import { definitionOf, type EventCatalog, type Schemas } from './catalog.ts'

/**
 * Returns the record of an event: in the wire format of its catalog, with its payload as its codec writes it. Later, if the codec
 * has to look something up.
 *
 * @throws {@link UnknownEventTypeError}, and what the codec throws.
 */
export function encodeRecord<S extends Schemas>(
  catalog: EventCatalog<S>,
  event: EventEnvelope,
): WireRecord | Promise<WireRecord> {
  const { codec } = definitionOf(catalog, event.eventType)
  const record = catalog.wireFormat.encode(event)
  if (codec === undefined || isBase64Flag(event.headers)) return record
  // Headers name a media type only in formats that write one.
  const headers = record.headers.has(contentTypeHeader)
    ? record.headers.with(contentTypeHeader, codec.mediaType)
    : record.headers
  const withBytes = (value: Buffer): WireRecord => ({ key: record.key, value, headers })
  const bytes = codec.encode(JSON.parse(event.payloadJson))
  return Buffer.isBuffer(bytes) ? withBytes(bytes) : Promise.resolve(bytes).then(withBytes)
}
