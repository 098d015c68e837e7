/**
 * The common interface of zod, valibot, arktype and others: the types of Standard Schema 1.1 (standardschema.dev), written
 * down here so that core depends on no package. Any schema with a `~standard` property of this shape fits.
 */

/** A schema: takes anything, and answers with a typed value or with what is wrong. */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly '~standard': StandardSchemaProps<Input, Output>
}

/** The part of a schema that all libraries agree on. */
export interface StandardSchemaProps<Input = unknown, Output = Input> {
  readonly version: 1
  /** Library that made the schema. */
  readonly vendor: string
  /** Answers at once or later; a schema that looks things up is asynchronous. */
  readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>
  /** Carries the types and nothing else; there need not be a value. */
  readonly types?: { readonly input: Input; readonly output: Output } | undefined
}

/** The typed value, or what is wrong. `issues` tells which: it is absent on success. */
export type SchemaResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] }

/** One thing that is wrong with a value. */
export interface SchemaIssue {
  readonly message: string
  /** Keys that lead to it from the outside in; absent for the value itself. */
  readonly path?: ReadonlyArray<PropertyKey | { readonly key: PropertyKey }> | undefined
}

/** A schema that can also tell what it accepts as JSON Schema; the contract files are exported from it. */
export interface StandardJsonSchema<Input = unknown, Output = Input> {
  readonly '~standard': StandardSchemaProps<Input, Output> & { readonly jsonSchema: JsonSchemaConverter }
}

/** Gives the JSON Schema of what a schema takes and of what it gives. */
export interface JsonSchemaConverter {
  readonly input: (options: JsonSchemaTarget) => Record<string, unknown>
  readonly output: (options: JsonSchemaTarget) => Record<string, unknown>
}

/** The dialect of JSON Schema that is wanted: `draft-2020-12`, `draft-07`. */
export interface JsonSchemaTarget {
  readonly target: string
}

/** The input type of a schema. */
export type InferInput<T extends StandardSchema> = NonNullable<T['~standard']['types']>['input']

/** The output type of a schema. */
export type InferOutput<T extends StandardSchema> = NonNullable<T['~standard']['types']>['output']
