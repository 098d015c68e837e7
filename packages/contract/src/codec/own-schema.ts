/** The schema that a codec writes with, and its id in the registry. */

import { SchemaNotFoundError, SchemaRefusedError } from '../registry/registry-errors.ts'
import type { SchemaDocument } from '../registry/schema-registry.ts'
import { BoundedCache } from './bounded-cache.ts'
import { SchemaNotRegisteredError } from './codec-errors.ts'
import type { ResolvedCodecOptions } from './codec-options.ts'

/** Looks up the id of a schema once, and keeps it. */
export class OwnSchema {
  /** The subject in its registry. */
  readonly destination: string
  readonly #options: ResolvedCodecOptions
  readonly #document: SchemaDocument
  readonly #ids = new BoundedCache<'id', number>(1)

  constructor(options: ResolvedCodecOptions, document: SchemaDocument) {
    this.#options = options
    this.#document = document
    this.destination = `${options.registry.name}/subjects/${options.subject}`
  }

  /** Returns the id: at once if it is known. @throws SchemaNotRegisteredError, RegistryUnavailableError */
  id(): number | Promise<number> {
    return this.#ids.get('id', () => this.#find())
  }

  async #find(): Promise<number> {
    const { registry, subject, registration } = this.#options
    try {
      return await (registration === 'REGISTER'
        ? registry.register(subject, this.#document)
        : registry.lookUp(subject, this.#document))
    } catch (cause) {
      if (cause instanceof SchemaNotFoundError)
        throw this.#notRegistered('is not registered', "Register it, or set registration: 'REGISTER'.", cause)
      if (cause instanceof SchemaRefusedError)
        throw this.#notRegistered(
          'was refused',
          'Correct the schema, or the compatibility level of the subject.',
          cause,
        )
      throw cause
    }
  }

  #notRegistered(what: string, hint: string, cause: unknown): SchemaNotRegisteredError {
    return new SchemaNotRegisteredError(`The schema of subject ${this.#options.subject} ${what}.`, {
      cause,
      hint,
      impact: 'Nothing was encoded; an event stays in the outbox.',
    })
  }
}
