import { ArgumentError, describeThrown } from '../errors.ts'
import type { SchemaIssue, SchemaResult, StandardJsonSchema } from './standard-schema.ts'

/** The part of Ajv that is used. Every Ajv of version 8 fits, with whatever dialect, formats and options it was made. */
export interface JsonSchemaCompiler {
  compile(schema: Record<string, unknown>): JsonSchemaValidator
}

/** A compiled schema. It answers with a promise when the schema says `$async`. */
export interface JsonSchemaValidator {
  (value: unknown): boolean | Promise<unknown>
  readonly errors?: readonly JsonSchemaFailure[] | null | undefined
}

/** One validation failure, as Ajv reports it. */
export interface JsonSchemaFailure {
  /** JSON Pointer to the value. */
  readonly instancePath: string
  readonly message?: string | undefined
  readonly params: Readonly<Record<string, unknown>>
}

/**
 * A JSON Schema as an event schema: `fromJsonSchema<Order>(schema, new Ajv())`. The type is the caller's word; nothing
 * derives it from the schema. Ajv is handed in, so that its version, dialect and formats are yours.
 *
 * With `useDefaults` or `coerceTypes` handlers get what Ajv made of the payload, and so does the record of an event that is
 * written.
 *
 * @throws {@link ArgumentError} when Ajv cannot compile the schema.
 */
export function fromJsonSchema<T = unknown>(
  schema: Readonly<Record<string, unknown>>,
  ajv: JsonSchemaCompiler,
): StandardJsonSchema<T> {
  const check = compile(schema, ajv)
  const source = structuredClone(schema)
  // Returned in its own dialect, since nothing here converts it.
  const jsonSchema = (): Record<string, unknown> => structuredClone(source)
  return {
    '~standard': {
      version: 1,
      vendor: 'waybill',
      validate(value) {
        const answer = check(value)
        if (typeof answer !== 'boolean') return settle(answer, value as T)
        return answer ? { value: value as T } : { issues: toIssues(check.errors) }
      },
      jsonSchema: { input: jsonSchema, output: jsonSchema },
    },
  }
}

function compile(schema: Record<string, unknown>, ajv: JsonSchemaCompiler): JsonSchemaValidator {
  try {
    return ajv.compile(schema)
  } catch (thrown) {
    throw new ArgumentError(`The JSON Schema cannot be compiled: ${describeThrown(thrown)}.`, { cause: thrown })
  }
}

async function settle<T>(answer: Promise<unknown>, value: T): Promise<SchemaResult<T>> {
  try {
    await answer
    return { value }
  } catch (thrown) {
    const { errors } = thrown as { errors?: unknown }
    if (!Array.isArray(errors)) throw thrown // Not a verdict: the schema's own look-up failed.
    return { issues: toIssues(errors as JsonSchemaFailure[]) }
  }
}

function toIssues(failures: readonly JsonSchemaFailure[] | null | undefined): readonly SchemaIssue[] {
  return (failures ?? []).map((failure) => ({ message: failure.message ?? 'is not valid', path: pathOf(failure) }))
}

/** Ajv reports a missing or forbidden property at the object around it; the path is more useful at the property. */
function pathOf({ instancePath, params }: JsonSchemaFailure): string[] {
  const keys = instancePath.split('/').slice(1).map(unescapePointer)
  const property = params['missingProperty'] ?? params['additionalProperty'] ?? params['unevaluatedProperty']
  return typeof property === 'string' ? [...keys, property] : keys
}

function unescapePointer(key: string): string {
  return key.replaceAll('~1', '/').replaceAll('~0', '~')
}
