import type { Report } from '@waybill/core/option'

/** A JSON Schema of the dialect 2020-12, as OpenAPI 3.1 has it. */
export type JsonSchema = { readonly [keyword: string]: unknown }

/** Collects named schemas while a document is written. */
export interface SchemaWriter {
  /** INPUT refuses unknown keys; readers of OUTPUT pass over them. */
  readonly side: 'INPUT' | 'OUTPUT'
  /** Returns a reference to a named schema. */
  name(name: string, write: (writer: SchemaWriter) => JsonSchema): JsonSchema
}

/** Validates a value and describes it: one source for requests, answers and the OpenAPI document. */
export interface Schema<out T = unknown> {
  /** The accepted values, in words. */
  readonly expects: string
  readonly isOptional: boolean
  readonly fallback: unknown
  readonly about: string | undefined
  /** Converts the text of a query parameter to the value that JSON would have; undefined if it cannot. */
  readonly ofText: (text: string) => unknown
  readonly write: (writer: SchemaWriter) => JsonSchema
  /** Reports what is wrong with a value. After a report the result is not used. */
  readonly read: (value: unknown, path: string, report: Report) => T
}

/** The type that a schema reads. */
export type ReadOf<S> = S extends Schema<infer T> ? T : never

/** Schemas by key. */
export type Fields = { readonly [key: string]: Schema }

/** The object that fields read. */
export type ReadFields<F extends Fields> = { readonly [K in keyof F]: ReadOf<F[K]> }

/** Creates a schema from a check of one value. */
export function schemaOf<T>(given: {
  readonly expects: string
  readonly json: JsonSchema
  readonly ofText?: (text: string) => unknown
  readonly convert: (value: unknown) => T | undefined
}): Schema<T> {
  const { expects, json, ofText = (text) => text, convert } = given
  return {
    expects,
    isOptional: false,
    fallback: undefined,
    about: undefined,
    ofText,
    write: () => json,
    read(value, path, report) {
      const result = convert(value)
      if (result === undefined) report(path, `must be ${expects}`)
      return result as T
    },
  }
}

/** Allows a value to be absent. */
export function optional<T>(schema: Schema<T>): Schema<T | undefined> {
  return { ...schema, isOptional: true }
}

/** Gives a value that is absent a default. */
export function withDefault<T>(schema: Schema<T>, fallback: unknown): Schema<T> {
  return {
    ...schema,
    isOptional: true,
    fallback,
    write: (writer) => ({ ...schema.write(writer), default: fallback }),
  }
}

/** Adds a description. */
export function about<T>(text: string, schema: Schema<T>): Schema<T> {
  return {
    ...schema,
    about: text,
    write(writer) {
      const json = schema.write(writer)
      return { ...json, description: text }
    },
  }
}

/** Accepts null too. */
export function nullable<T>(schema: Schema<T>): Schema<T | null> {
  return {
    ...schema,
    expects: `${schema.expects} or null`,
    write(writer) {
      const json = schema.write(writer)
      if (typeof json['type'] !== 'string' || 'enum' in json) return { anyOf: [json, { type: 'null' }] }
      return { ...json, type: [json['type'], 'null'] }
    },
    read: (value, path, report) => (value === null ? null : schema.read(value, path, report)),
  }
}

/** Gives a schema a name of its own in the document. */
export function named<T>(name: string, schema: Schema<T>): Schema<T> {
  return { ...schema, write: (writer) => writer.name(name, schema.write) }
}
