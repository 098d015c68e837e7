/**
 * The schemas that values were written with, from a registry:
 *
 *     id ──▶ kept? ──▶ registry ──▶ document and its references ──▶ compiled, kept
 *                        │ not found: asked once more after a pause, then unknown for a while
 *                        │ no answer: RegistryUnavailableError, nothing is kept
 */

import type { ParseError, Runtime } from '@waybill/core'
import { SchemaNotFoundError } from '../registry/registry-errors.ts'
import type { SchemaDocument, SchemaRegistry } from '../registry/schema-registry.ts'
import { BoundedCache } from './bounded-cache.ts'
import { unreadable } from './codec-errors.ts'

/** A schema with all that it refers to. */
export interface ResolvedSchema {
  readonly document: SchemaDocument
  /** The texts of the schemas that it refers to, by the names of the references; each after those that it needs itself. */
  readonly references: ReadonlyMap<string, string>
}

/** The settings of a {@link SchemaSource}. */
export interface SchemaSourceOptions {
  readonly registry: SchemaRegistry
  readonly maxSchemas: number
  readonly confirmMissingMs: number
  readonly runtime: Runtime
}

/** The most schemas that one schema may refer to, directly or not. */
const mostReferences = 1_000
/** A registry that was restored has the id again. */
const missingForMs = 30_000

type Outcome<T> = { readonly value: T } | { readonly error: ParseError; readonly until: number }

/** Looks schemas up by their id, and compiles each once. `T` is a compiled schema. */
export class SchemaSource<T> {
  readonly #options: SchemaSourceOptions
  readonly #compile: (schema: ResolvedSchema) => T
  readonly #outcomes: BoundedCache<number, Outcome<T>>

  constructor(options: SchemaSourceOptions, compile: (schema: ResolvedSchema) => T) {
    this.#options = options
    this.#compile = compile
    this.#outcomes = new BoundedCache(options.maxSchemas)
  }

  /**
   * Returns the schema of an id: at once if it is known.
   *
   * @throws ParseError for an id that the registry does not have and for a schema that cannot be compiled
   * @throws RegistryUnavailableError
   */
  schemaOf(id: number): T | Promise<T> {
    const outcome = this.#outcomes.get(id, () => this.#load(id))
    if (outcome instanceof Promise) return outcome.then(valueOf)
    if ('value' in outcome) return outcome.value
    if (this.#options.runtime.clock.monotonic() < outcome.until) throw outcome.error
    this.#outcomes.delete(id)
    return this.schemaOf(id)
  }

  async #load(id: number): Promise<Outcome<T>> {
    const failed = (problem: string, cause: unknown): Outcome<T> => ({
      error: unreadable('', `was written with schema ${id}, which ${problem}`, cause),
      until: this.#options.runtime.clock.monotonic() + missingForMs,
    })
    let schema: ResolvedSchema
    try {
      const document = await this.#find(id)
      schema = { document, references: await this.#referencesOf(document) }
    } catch (thrown) {
      if (!(thrown instanceof SchemaNotFoundError)) throw thrown
      return failed(`${this.#options.registry.name} does not have`, thrown)
    }
    try {
      return { value: this.#compile(schema) }
    } catch (thrown) {
      return failed('cannot be used', thrown)
    }
  }

  async #find(id: number): Promise<SchemaDocument> {
    const { registry, confirmMissingMs, runtime } = this.#options
    try {
      return await registry.schemaById(id)
    } catch (thrown) {
      if (!(thrown instanceof SchemaNotFoundError)) throw thrown
    }
    // A node of the registry may be behind the one where the writer registered the schema a moment ago.
    await runtime.timers.sleep(confirmMissingMs)
    return registry.schemaById(id)
  }

  async #referencesOf(document: SchemaDocument): Promise<ReadonlyMap<string, string>> {
    const found = new Map<string, string>()
    const seen = new Set<string>()
    const follow = async ({ references }: SchemaDocument): Promise<void> => {
      for (const { name, subject, version } of references) {
        if (seen.has(name)) continue
        if (seen.size >= mostReferences)
          throw new SchemaNotFoundError(`It refers to more than ${mostReferences} schemas.`)
        seen.add(name)
        // oxlint-disable-next-line no-await-in-loop -- A schema comes after those that it needs.
        const inner = await this.#options.registry.version(subject, version)
        // oxlint-disable-next-line no-await-in-loop -- As above.
        await follow(inner)
        found.set(name, inner.schema)
      }
    }
    await follow(document)
    return found
  }
}

function valueOf<T>(outcome: Outcome<T>): T {
  if ('value' in outcome) return outcome.value
  throw outcome.error
}
