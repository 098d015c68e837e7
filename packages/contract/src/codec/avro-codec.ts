/** Avro with a schema in a registry. */

import type { Buffer } from 'node:buffer'
import { formatPath, type SchemaViolation } from '@waybill/core/internal'
import { instance, isPlainObject, resolveOptions } from '@waybill/core/option'
import type { AvroLibrary, AvroParts, AvroType } from './avro-library.ts'
import { createAvroCompiler } from './avro-types.ts'
import { unreadable } from './codec-errors.ts'
import { type CodecOptions, codecRules, type LongTreatment, libraryRule, longsRule } from './codec-options.ts'
import { scanAvro } from './scan-avro.ts'
import { createSchemaCodec, type SchemaCodec } from './schema-codec.ts'

/** Options of {@link createAvroCodec}. */
export interface AvroCodecOptions extends CodecOptions {
  /** The library avsc: `import avsc from 'avsc'`. */
  readonly avro: AvroLibrary
  /** The schema, as an object or as JSON text. Readers get what it describes, whichever schema the writer had. */
  readonly schema: Readonly<Record<string, unknown>> | string
  /** Type of `long` in payloads. With NUMBER, integers beyond 2^53 are refused. @defaultValue `NUMBER` */
  readonly longs?: LongTreatment | undefined
}

const rules = {
  ...codecRules,
  avro: libraryRule<AvroLibrary>('the library avsc', 'Type', 'types'),
  schema: instance<Readonly<Record<string, unknown>> | string>(
    'an Avro schema, as an object or as JSON text',
    (value) => typeof value === 'string' || isPlainObject(value),
  ),
  longs: longsRule,
}

/** A writer's schema. */
interface Writer {
  readonly type: AvroParts
  /** Returns the resolver of avsc from the writer's schema to the codec's own; undefined where they are the same. */
  readonly resolver: () => unknown
}

/**
 * Creates a codec for Avro as Confluent's serializers frame it. Payloads are JSON values: bytes are base64 text, and a union is
 * its value alone unless two branches have the same type in JavaScript.
 *
 * @throws OptionsError
 * @throws Error of avsc for a schema that is none
 */
export function createAvroCodec<T = unknown>(options: AvroCodecOptions): SchemaCodec<T> {
  const { avro, schema, longs, ...resolved } = resolveOptions('createAvroCodec', rules, options)
  const compile = createAvroCompiler(avro, longs)
  const text = typeof schema === 'string' ? schema : JSON.stringify(schema)
  const own = compile(text, new Map(resolved.references.map((reference) => [reference.name, reference.schema])))

  const read = (body: Buffer, type: AvroParts, reader: AvroType, resolver: unknown): unknown => {
    scanAvro(type, body)
    try {
      return plainValue(reader.fromBuffer(body, resolver as never))
    } catch (thrown) {
      scanAvro(type, body, { safeIntegers: longs === 'NUMBER' })
      throw thrown
    }
  }

  return createSchemaCodec<T, Writer>(resolved, {
    mediaType: 'application/vnd.apache.avro',
    document: {
      schemaType: 'AVRO',
      schema: text,
      references: resolved.references.map(({ name, subject, version }) => ({ name, subject, version })),
    },
    violations: (payload) => violationsOf(own, payload),
    write: (payload) => [own.toBuffer(payload)],
    compile: ({ document, references }) => {
      if (document.schemaType !== 'AVRO') throw unreadable('', `is ${document.schemaType} and not AVRO`)
      if (document.schema === text) return { type: own, resolver: () => undefined }
      const type = compile(document.schema, references)
      let resolver: unknown
      return { type, resolver: () => (resolver ??= resolverOf(own, type)) }
    },
    read: (body, { type, resolver }) => read(body, type, own, resolver()),
    readAsWritten: (body, { type }) => read(body, type, type, undefined),
  })
}

function resolverOf(reader: AvroType, writer: AvroType): unknown {
  try {
    return reader.createResolver(writer as never)
  } catch (thrown) {
    throw unreadable('', 'was written with a schema that the schema of its reader does not fit', thrown)
  }
}

function violationsOf(type: AvroType, payload: unknown): readonly SchemaViolation[] {
  const violations: SchemaViolation[] = []
  const errorHook = (path: readonly string[], value: unknown, expected: AvroParts): void => {
    const undeclared = undeclaredOf(expected, value)
    for (const name of undeclared) violations.push({ path: formatPath([...path, name]), message: 'is not declared' })
    if (undeclared.length === 0) violations.push({ path: formatPath(path), message: `is not ${describe(expected)}` })
  }
  const isValid = type.isValid(payload, { errorHook, noUndeclaredFields: true })
  return isValid || violations.length > 0 ? violations : [{ path: '', message: 'does not fit the Avro schema' }]
}

/** Avro drops members that a record does not have. */
function undeclaredOf({ fields }: AvroParts, value: unknown): readonly string[] {
  if (fields === undefined || typeof value !== 'object' || value === null) return []
  return Object.keys(value).filter((name) => !fields.some((field) => field.name === name))
}

function describe({ typeName, underlyingType, symbols }: AvroParts): string {
  if (symbols !== undefined) return `one of ${symbols.join(', ')}`
  if (underlyingType !== undefined) return `${underlyingType.typeName} in base64`
  return `an Avro ${typeName.replace(/^abstract:|:.*$/g, '')}`
}

/** Records of avsc have a class of their own; payloads are plain objects. */
function plainValue(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plainValue)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, plainValue(member)]))
}
