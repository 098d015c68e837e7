import {
  identifyEvent,
  ParseError,
  type Schemas,
  SchemaViolationError,
  UnknownEventTypeError,
  type WireRecord,
} from '@waybill/core'
import { receiveEvent, type UnknownVersionReport } from '@waybill/core/internal'
import type { Projection } from '../definition/projection.ts'
import { ProjectionInputError } from '../definition/projection-errors.ts'
import type { AnyProjectedEvent } from './fold-batch.ts'

/** The events of a batch, up to the first record that is none. */
export interface DecodedRecords {
  readonly events: readonly AnyProjectedEvent[]
  /** Why the record behind the last event cannot be read; undefined if all records were decoded. */
  readonly error: ProjectionInputError | undefined
}

/** The widths of key columns. */
const longestKey = 255

/**
 * Decodes records into events of a projection.
 *
 * Rejects only if a schema fails otherwise than by its verdict, such as in a lookup: the same record may succeed later.
 */
export async function decodeRecords<S extends Schemas, State>(
  projection: Projection<S, State>,
  records: readonly WireRecord[],
  reportUnknown?: UnknownVersionReport,
): Promise<DecodedRecords> {
  const events: AnyProjectedEvent[] = []
  for (const record of records) {
    try {
      events.push(await decodeRecord(projection, record, reportUnknown))
    } catch (error) {
      if (error instanceof ProjectionInputError) return { events, error }
      if (!isVerdict(error)) throw error
      return { events, error: new ProjectionInputError(projection.name, error.happened, { cause: error }) }
    }
  }
  return { events, error: undefined }
}

async function decodeRecord<S extends Schemas, State>(
  projection: Projection<S, State>,
  record: WireRecord,
  reportUnknown: UnknownVersionReport | undefined,
): Promise<AnyProjectedEvent> {
  const wire = identifyEvent(projection.events, record)
  const { aggregateId: key, eventType: name } = wire
  if (key === null) throw new ProjectionInputError(projection.name, `${name} has no key`)
  // Some databases ignore spaces at the end, and PostgreSQL accepts no NUL.
  if (key === '' || key.length > longestKey || /\0|\s$/.test(key))
    throw new ProjectionInputError(
      projection.name,
      `${name} has a key that is empty, longer than ${longestKey} characters, contains NUL or ends with a space`,
    )
  // The payload of an event without a function is not needed.
  if (projection.fold[name] !== undefined)
    return { ...(await receiveEvent(projection.events, wire, reportUnknown)), key }
  const { eventId: id, eventVersion: version, occurredAt, aggregateType, aggregateVersion, tenantId, headers } = wire
  return { id, name, version, key, payload: undefined, occurredAt, aggregateType, aggregateVersion, tenantId, headers }
}

function isVerdict(error: unknown): error is ParseError | SchemaViolationError | UnknownEventTypeError {
  return error instanceof ParseError || error instanceof SchemaViolationError || error instanceof UnknownEventTypeError
}
