/** A schema registry in memory. */

import { SchemaNotFoundError, SchemaRefusedError } from './registry-errors.ts'
import type { RegistryVerdict, SchemaDocument, SchemaRegistry, SubjectVersion } from './schema-registry.ts'

/** Options of {@link createMemoryRegistry}. */
export interface MemoryRegistryOptions {
  /** Returns the reasons why a schema may not follow another one. @defaultValue every schema may */
  readonly compare?: (older: SchemaDocument, newer: SchemaDocument) => readonly string[]
}

/**
 * Creates a schema registry in memory, for tests and for programs without a registry. As in Confluent's, equal schemas have one
 * id under all subjects. Schemas are compared as texts and not parsed.
 */
export function createMemoryRegistry({ compare = () => [] }: MemoryRegistryOptions = {}): SchemaRegistry {
  return new MemoryRegistry(compare)
}

class MemoryRegistry implements SchemaRegistry {
  readonly name = 'memory'
  readonly #compare: NonNullable<MemoryRegistryOptions['compare']>
  /** In the order of their ids, from 1. */
  readonly #schemas: SchemaDocument[] = []
  readonly #ids = new Map<string, number>()
  readonly #subjects = new Map<string, SubjectVersion[]>()

  constructor(compare: NonNullable<MemoryRegistryOptions['compare']>) {
    this.#compare = compare
  }

  async schemaById(id: number): Promise<SchemaDocument> {
    const schema = this.#schemas[id - 1]
    if (schema === undefined) throw new SchemaNotFoundError(`There is no schema with id ${id}.`)
    return schema
  }

  async lookUp(subject: string, schema: SchemaDocument): Promise<number> {
    const key = keyOf(schema)
    const found = this.#versionsOf(subject).find((version) => keyOf(version) === key)
    if (found === undefined) throw new SchemaNotFoundError(`The schema is not registered under subject ${subject}.`)
    return found.id
  }

  async register(subject: string, schema: SchemaDocument): Promise<number> {
    const versions = this.#subjects.get(subject) ?? []
    const key = keyOf(schema)
    const existing = versions.find((version) => keyOf(version) === key)
    if (existing !== undefined) return existing.id
    const latest = versions.at(-1)
    const messages = latest === undefined ? [] : this.#compare(latest, schema)
    if (messages.length > 0)
      throw new SchemaRefusedError(`The schema is incompatible with subject ${subject}: ${messages.join('; ')}.`)
    for (const { subject: other, version } of schema.references) this.#find(other, version)
    const { schemaType, schema: text, references } = schema
    const document: SchemaDocument = Object.freeze({ schemaType, schema: text, references })
    const id = this.#ids.get(key) ?? this.#schemas.push(document)
    this.#ids.set(key, id)
    versions.push({ ...document, subject, version: versions.length + 1, id })
    this.#subjects.set(subject, versions)
    return id
  }

  async version(subject: string, version: number | 'latest'): Promise<SubjectVersion> {
    return this.#find(subject, version)
  }

  async checkCompatibility(
    subject: string,
    schema: SchemaDocument,
    version: number | 'latest' = 'latest',
  ): Promise<RegistryVerdict> {
    if (version === 'latest' && !this.#subjects.has(subject)) return { isCompatible: true, messages: [] }
    const messages = this.#compare(this.#find(subject, version), schema)
    return { isCompatible: messages.length === 0, messages }
  }

  #find(subject: string, version: number | 'latest'): SubjectVersion {
    const versions = this.#versionsOf(subject)
    const found = version === 'latest' ? versions.at(-1) : versions[version - 1]
    if (found === undefined) throw new SchemaNotFoundError(`Subject ${subject} has no version ${version}.`)
    return found
  }

  #versionsOf(subject: string): readonly SubjectVersion[] {
    const versions = this.#subjects.get(subject)
    if (versions === undefined) throw new SchemaNotFoundError(`There is no subject ${subject}.`)
    return versions
  }
}

function keyOf({ schemaType, schema, references }: SchemaDocument): string {
  return JSON.stringify([schemaType, schema, references.map(({ name, subject, version }) => [name, subject, version])])
}
