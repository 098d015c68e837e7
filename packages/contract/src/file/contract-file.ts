import { ArgumentError, type EventCatalog, type Schemas } from '@waybill/core'
import { canonicalText, isJsonObject, type JsonObject } from '../schema/json.ts'
import { normalizeSchema } from './normalize-schema.ts'

/** The contract of one version of an event, as its file holds it. */
export interface ContractFile {
  readonly event: string
  readonly version: number
  readonly topic: string
  readonly description?: string
  /** Library that the schema was written with. */
  readonly vendor: string
  /** Version of that library when the file was written. */
  readonly vendorVersion?: string
  /** Earlier versions that upcast steps take to this one; absent for none. */
  readonly upcasts?: readonly number[]
  /** Form of the records; absent for JSON. */
  readonly wireFormat?: 'ENVELOPE' | 'CLOUDEVENTS'
  /** Media type of the codec of payloads; absent for none. */
  readonly codec?: string
  /** Set where writers may write members that the schema does not declare. */
  readonly undeclared?: 'ALLOW'
  /** JSON Schema of what a writer passes, normalized. */
  readonly schema: JsonObject
}

/** Returns the path of a contract file inside its folder. An event called `..` stays inside it, too. */
export function contractPath({ event, version }: Pick<ContractFile, 'event' | 'version'>): string {
  const folder = /^\.+$/.test(event) ? event.replaceAll('.', '%2E') : encodeURIComponent(event)
  return `${folder}/v${version}.json`
}

/**
 * Returns the contracts of a catalog, from what its schemas accept as input. `vendorVersions` has the versions of the
 * libraries by vendor: `{ zod: '4.6.7' }`.
 *
 * @throws {@link ArgumentError} for a schema that cannot tell its JSON Schema.
 */
export function contractsOf<S extends Schemas>(
  catalog: EventCatalog<S>,
  vendorVersions: Readonly<Record<string, string>> = {},
): readonly ContractFile[] {
  const { definitions, wireFormat, undeclared } = catalog
  return Object.entries(definitions).map(([event, { schema, version, topic, description, upcasters = {}, codec }]) => {
    const { vendor } = schema['~standard']
    const upcasts = Object.keys(upcasters).map(Number)
    const vendorVersion = vendorVersions[vendor]
    return {
      event,
      version,
      topic,
      ...(description === undefined ? {} : { description }),
      vendor,
      ...(vendorVersion === undefined ? {} : { vendorVersion }),
      ...(upcasts.length === 0 ? {} : { upcasts }),
      ...(wireFormat.name === 'JSON' ? {} : { wireFormat: wireFormat.name }),
      ...(codec === undefined ? {} : { codec: codec.mediaType }),
      ...(undeclared === 'ALLOW' ? { undeclared } : {}),
      schema: normalizeSchema(inputSchemaOf(event, schema)),
    }
  })
}

/** Returns the text of a contract file: sorted keys and a line end, so that equal contracts are equal files. */
export function contractText(contract: ContractFile): string {
  const { schema, ...about } = contract
  const file = { ...schema, 'x-waybill': about }
  return `${JSON.stringify(JSON.parse(canonicalText(file)), null, 2)}\n`
}

/**
 * Reads a contract file.
 *
 * @throws {@link ArgumentError} for a text that is none.
 */
export function readContract(path: string, text: string): ContractFile {
  const { 'x-waybill': about, ...schema } = parse(path, text)
  if (!isJsonObject(about)) throw notAContract(path, 'it has no "x-waybill"')
  const { event, version, topic, description, vendor, vendorVersion, upcasts, wireFormat, codec, undeclared } = about
  if (typeof event !== 'string' || typeof version !== 'number')
    throw notAContract(path, 'its "x-waybill" names no event and version')
  return {
    event,
    version,
    topic: typeof topic === 'string' ? topic : '',
    ...(typeof description === 'string' ? { description } : {}),
    vendor: typeof vendor === 'string' ? vendor : '',
    ...(typeof vendorVersion === 'string' ? { vendorVersion } : {}),
    ...(isListOfNumbers(upcasts) ? { upcasts } : {}),
    ...(wireFormat === 'ENVELOPE' || wireFormat === 'CLOUDEVENTS' ? { wireFormat } : {}),
    ...(typeof codec === 'string' ? { codec } : {}),
    ...(undeclared === 'ALLOW' ? { undeclared } : {}),
    schema,
  }
}

function isListOfNumbers(value: unknown): value is readonly number[] {
  return Array.isArray(value) && value.every((each) => typeof each === 'number')
}

/** Tells whether contracts say the same about topic, records and steps, whatever their schemas are. */
export function isSameUse(one: ContractFile, other: ContractFile): boolean {
  const about = ({ topic, upcasts = [], wireFormat, codec, undeclared }: ContractFile): string =>
    JSON.stringify([topic, upcasts, wireFormat, codec, undeclared])
  return about(one) === about(other)
}

function parse(path: string, text: string): JsonObject {
  try {
    const value: unknown = JSON.parse(text)
    if (isJsonObject(value)) return value
  } catch (cause) {
    throw notAContract(path, 'it is not JSON', cause)
  }
  throw notAContract(path, 'it is no object')
}

function notAContract(path: string, why: string, cause?: unknown): ArgumentError {
  return new ArgumentError(`${path} is no contract file: ${why}.`, {
    ...(cause === undefined ? {} : { cause }),
    hint: 'Restore it, or write it again from the catalog.',
  })
}

/** Returns what a schema accepts, as JSON Schema of a dialect. @throws ArgumentError for one that cannot tell it */
export function inputSchemaOf(
  event: string,
  schema: object,
  target: 'draft-2020-12' | 'draft-07' = 'draft-2020-12',
): JsonObject {
  const { jsonSchema } = (schema as { '~standard': { jsonSchema?: { input(options: { target: string }): unknown } } })[
    '~standard'
  ]
  const hint =
    'Use zod 4, arktype, valibot with toStandardJsonSchema, or fromJsonSchema, and describe values as they are on the wire.'
  if (jsonSchema === undefined) throw new ArgumentError(`The schema of ${event} cannot tell its JSON Schema.`, { hint })
  try {
    return JSON.parse(JSON.stringify(jsonSchema.input({ target }))) as JsonObject
  } catch (cause) {
    throw new ArgumentError(`The schema of ${event} cannot be written as JSON Schema.`, { cause, hint })
  }
}
