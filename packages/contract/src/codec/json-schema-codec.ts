/** JSON with a schema in a registry. */

import { Buffer } from 'node:buffer'
import { SchemaViolationError, type StandardSchema } from '@waybill/core'
import { nothingWritten, parseJsonBytes } from '@waybill/core/internal'
import { instance, isPlainObject, resolveOptions } from '@waybill/core/option'
import { inputSchemaOf } from '../file/contract-file.ts'
import { normalizeSchema } from '../file/normalize-schema.ts'
import { canonicalText, type JsonObject } from '../schema/json.ts'
import { type CodecOptions, codecRules } from './codec-options.ts'
import { createSchemaCodec, type SchemaCodec } from './schema-codec.ts'

/** Options of {@link createJsonSchemaCodec}. */
export interface JsonSchemaCodecOptions extends CodecOptions {
  /** A JSON Schema, or a Standard Schema that can tell it. It is registered in its normal form. */
  readonly schema: StandardSchema | Readonly<Record<string, unknown>>
}

const rules = {
  ...codecRules,
  schema: instance<StandardSchema | Readonly<Record<string, unknown>>>(
    'a JSON Schema, or a Standard Schema that can tell it',
    (value) => isPlainObject(value) || hasStandard(value),
  ),
}

/**
 * Creates a codec for JSON as Confluent's serializers frame it. The id in the frame tells other consumers the schema; decoding
 * needs no registry. The schema of the event, or of a handler, validates the payload.
 *
 * @throws OptionsError
 * @throws ArgumentError for a schema that cannot tell its JSON Schema
 */
export function createJsonSchemaCodec<T = unknown>(options: JsonSchemaCodecOptions): SchemaCodec<T> {
  const { schema, ...resolved } = resolveOptions('createJsonSchemaCodec', rules, options)
  const json = hasStandard(schema) ? inputSchemaOf(resolved.subject, schema) : (schema as JsonObject)
  const references = resolved.references.map(({ name, subject, version }) => ({ name, subject, version }))
  return createSchemaCodec<T, undefined>(resolved, {
    mediaType: 'application/json',
    document: { schemaType: 'JSON', schema: canonicalText(normalizeSchema(json)), references },
    violations: () => [],
    write: (payload) => [Buffer.from(textOf(resolved.subject, payload), 'utf8')],
    compile: null,
    read: readJson,
    readAsWritten: readJson,
  })
}

function readJson(body: Buffer): unknown {
  return parseJsonBytes(body, 'The payload')
}

function textOf(subject: string, payload: unknown): string {
  const refused = (cause?: unknown): Error =>
    new SchemaViolationError(subject, [{ path: '', message: 'cannot be written as JSON' }], {
      ...nothingWritten,
      cause,
    })
  try {
    const text = JSON.stringify(payload) as string | undefined
    if (text !== undefined) return text
  } catch (thrown) {
    throw refused(thrown)
  }
  throw refused()
}

function hasStandard(value: unknown): value is StandardSchema {
  return Object(value)['~standard'] !== undefined
}
