import { describeThrown } from '../errors.ts'
import {
  createEnvelopeOfChecked,
  type EnvelopeFields,
  type EnvelopeSources,
  type EventEnvelope,
} from '../event/envelope.ts'
import { type HeaderText, headerEntries } from '../event/envelope-headers.ts'
import { nothingWritten } from '../event/error-context.ts'
import { SchemaViolationError } from '../event/event-errors.ts'
import { parseJson } from '../event/parse-json.ts'
import type { StandardSchema } from '../event/standard-schema.ts'
import { validate } from '../event/validate.ts'
import { eventHeader } from '../header/header-names.ts'
import { OptionsError } from '../option/resolve-options.ts'
import { unknownOption } from '../option/rule.ts'
import { type DefinedEvent, definitionOf, type EventCatalog, type InputOf, keyOf, type Schemas } from './catalog.ts'
import { declarePayload } from './declare-payload.ts'
import { fillIn } from './fill-in.ts'

/** Fields of an event that a writer may add to those of the catalog. */
export interface EventMeta extends Pick<EnvelopeFields, 'eventId' | 'occurredAt' | 'tenantId' | 'headers'> {
  /** Version of the aggregate after this event; projections need it, and it rises by one per event. */
  readonly aggregateVersion?: number | undefined
}

/**
 * Makes the envelope of a catalog event. The payload becomes JSON first, and the schema judges what a handler will read
 * later: an event that its own schema cannot read is refused here, where the transaction can still be rolled back. So is one
 * with members that the schema does not declare, unless the catalog says otherwise. Members that the schema fills in, such as
 * defaults, are written with the others.
 *
 * @throws {@link UnknownEventTypeError}, {@link SchemaViolationError}, {@link PayloadTooLargeError}, and
 * {@link OptionsError} for a meta field that does not exist.
 */
export async function encodeEvent<S extends Schemas, N extends keyof S & string>(
  catalog: EventCatalog<S>,
  name: N,
  input: InputOf<S, N>,
  meta: EventMeta = {},
  sources?: EnvelopeSources,
): Promise<EventEnvelope> {
  const definition = definitionOf(catalog, name)
  refuseUnknown(name, meta)
  const passedJson = stringify(name, input)
  const passed = parseJson(passedJson, `The payload of ${name}`)
  const { schema } = definition
  const declared = declarePayload(name, schema, passed, catalog.undeclared ?? 'REFUSE')
  const payload = await validate(schema, declared, name, asWritten)
  const written = await fillIn(schema, declared, payload, (filled) => validate(schema, filled, name, asWritten))
  // Ajv fills defaults into the value that it is given.
  const isAsPassed = written === passed && schema['~standard'].vendor !== 'waybill'
  const payloadJson = isAsPassed ? passedJson : stringify(name, written)
  const aggregateId = keyOf(name, definition, payload)
  const violations = [
    ...catalog.wireFormat.violations(aggregateId, written),
    ...(definition.codec?.violations(written) ?? []),
  ]
  if (violations.length > 0) throw new SchemaViolationError(name, violations, nothingWritten)
  const { eventId, occurredAt, tenantId } = meta
  const headers = headersOf(definition, meta)
  return createEnvelopeOfChecked(
    { eventId, eventType: name, occurredAt, aggregateType: definition.aggregateType, aggregateId, tenantId, headers },
    payloadJson,
    sources,
  )
}

const metaFields: ReadonlySet<string> = new Set<keyof EventMeta>([
  'eventId',
  'occurredAt',
  'tenantId',
  'headers',
  'aggregateVersion',
])

/** A misspelt `tenantId` would be lost in silence. Checked here and not by rules, because every event pays for it. */
function refuseUnknown(name: string, meta: EventMeta): void {
  const unknown = Object.keys(meta).filter((key) => !metaFields.has(key))
  if (unknown.length === 0) return
  const known = [...metaFields]
  throw new OptionsError(
    `The meta of ${name}`,
    unknown.map((key) => ({ path: key, problem: unknownOption(key, known) })),
  )
}

const asWritten = Object.freeze({
  ...nothingWritten,
  hint: 'The schema is given what JSON makes of the payload: of a Date, for one, its text.',
})

function stringify(name: string, input: unknown): string {
  let json: string | undefined
  try {
    json = JSON.stringify(input)
  } catch (thrown) {
    const message = `cannot be written as JSON (${describeThrown(thrown)})`
    throw new SchemaViolationError(name, [{ path: '', message }], { ...nothingWritten, cause: thrown })
  }
  if (json === undefined)
    throw new SchemaViolationError(name, [{ path: '', message: 'cannot be written as JSON' }], nothingWritten)
  return json
}

/** The version is kept with the event: when it is published, the catalog may already be a later one. */
function headersOf({ version }: DefinedEvent<StandardSchema>, { headers, aggregateVersion }: EventMeta): HeaderText[] {
  const pairs: HeaderText[] = [...headerEntries(headers ?? {}), [eventHeader.eventVersion, String(version)]]
  if (aggregateVersion !== undefined) pairs.push([eventHeader.aggregateVersion, String(aggregateVersion)])
  return pairs
}
