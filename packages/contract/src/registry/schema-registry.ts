/** The port of schema registries, and the values that it passes. */

/** The languages of schemas, by the names that Confluent's API has for them. */
export type SchemaType = 'AVRO' | 'PROTOBUF' | 'JSON'

/** A schema that another one builds on: an imported file of Protobuf, a named type of Avro, a `$ref` of JSON Schema. */
export interface SchemaReference {
  /** The name under which the other schema refers to it. */
  readonly name: string
  readonly subject: string
  readonly version: number
}

/** A schema as a registry keeps it. */
export interface SchemaDocument {
  readonly schemaType: SchemaType
  readonly schema: string
  readonly references: readonly SchemaReference[]
}

/** A version of a subject. */
export interface SubjectVersion extends SchemaDocument {
  readonly subject: string
  readonly version: number
  readonly id: number
}

/** The verdict of a registry on a schema that may become the next version of a subject. */
export interface RegistryVerdict {
  readonly isCompatible: boolean
  /** The reasons, as far as the registry gives them. */
  readonly messages: readonly string[]
}

/**
 * A schema registry. Each call rejects with a {@link RegistryUnavailableError} when the registry gave no answer: nothing is
 * known then about the schema.
 */
export interface SchemaRegistry {
  /** The address in errors and destinations, without credentials. */
  readonly name: string
  /** Returns the schema with an id. @throws SchemaNotFoundError if the registry has none */
  schemaById(id: number): Promise<SchemaDocument>
  /** Returns the id of a schema that is registered under a subject. @throws SchemaNotFoundError */
  lookUp(subject: string, schema: SchemaDocument): Promise<number>
  /** Registers a schema and returns its id; that of the existing version if it is registered. @throws SchemaRefusedError */
  register(subject: string, schema: SchemaDocument): Promise<number>
  /** Returns a version of a subject. @throws SchemaNotFoundError */
  version(subject: string, version: number | 'latest'): Promise<SubjectVersion>
  /**
   * Compares a schema with a version of a subject, by the compatibility level of the subject. A subject without versions
   * accepts every schema. @throws SchemaRefusedError for a schema that cannot be read
   */
  checkCompatibility(subject: string, schema: SchemaDocument, version?: number | 'latest'): Promise<RegistryVerdict>
}
