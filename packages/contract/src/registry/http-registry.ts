/** The client of registries with Confluent's API: Confluent Schema Registry, Apicurio, Karapace, Redpanda. */

import { ArgumentError } from '@waybill/core'
import { type BackoffPolicy, backoffMs } from '@waybill/core/internal'
import { showValue } from '@waybill/core/option'
import { HttpExchange, type RegistryRequest } from './http-exchange.ts'
import { RegistryUnavailableError, SchemaNotFoundError, SchemaRefusedError } from './registry-errors.ts'
import { type RegistryClientOptions, type ResolvedRegistryOptions, resolveRegistryOptions } from './registry-options.ts'
import { type RegistryRefusal, readId, readRefusal, readSchema, readVerdict, readVersion } from './registry-response.ts'
import type { RegistryVerdict, SchemaDocument, SchemaRegistry, SubjectVersion } from './schema-registry.ts'

/**
 * Creates the client of a schema registry. It sends nothing until a schema is needed, and holds no connection of its own.
 *
 * @throws OptionsError
 */
export function createRegistryClient(options: RegistryClientOptions): SchemaRegistry {
  return new HttpRegistry(resolveRegistryOptions(options))
}

/** Ids of schemas are signed 32-bit integers. */
const highestId = 2_147_483_647

/** Short, because what waits for the schema retries with a backoff of its own. */
const backoff: BackoffPolicy = { initialMs: 100, multiplier: 3, maxMs: 2_000, jitterExceedsMax: false }

/** No version can be found: no schema, no subject, no version. */
const notFound: ReadonlySet<number | undefined> = new Set([40401, 40402, 40403])

class HttpRegistry implements SchemaRegistry {
  readonly name: string
  readonly #options: ResolvedRegistryOptions
  readonly #exchange: HttpExchange

  constructor(options: ResolvedRegistryOptions) {
    this.name = options.url.replace(/\/+$/, '')
    this.#options = options
    this.#exchange = new HttpExchange(options)
  }

  async schemaById(id: number): Promise<SchemaDocument> {
    if (!Number.isInteger(id) || id < 0 || id > highestId)
      throw new SchemaNotFoundError(`A schema has no id ${id}: ids are integers from 0 to ${highestId}.`)
    const request: RegistryRequest = { method: 'GET', path: `/schemas/ids/${id}` }
    return readSchema(this.#named(request), await this.#call(request))
  }

  async lookUp(subject: string, schema: SchemaDocument): Promise<number> {
    const path = `/subjects/${segment(subject)}`
    const exact: RegistryRequest = { method: 'POST', path, body: bodyOf(schema) }
    try {
      return readId(this.#named(exact), await this.#call(exact))
    } catch (thrown) {
      if (!(thrown instanceof SchemaNotFoundError)) throw thrown
      // Another tool may have registered it with other blanks or another order of members.
      const normalized: RegistryRequest = { ...exact, path: `${path}?normalize=true` }
      return readId(this.#named(normalized), await this.#call(normalized))
    }
  }

  async register(subject: string, schema: SchemaDocument): Promise<number> {
    const path = `/subjects/${segment(subject)}/versions`
    const request: RegistryRequest = { method: 'POST', path, body: bodyOf(schema) }
    return readId(this.#named(request), await this.#call(request))
  }

  async version(subject: string, version: number | 'latest'): Promise<SubjectVersion> {
    const path = `/subjects/${segment(subject)}/versions/${checked(version)}`
    const request: RegistryRequest = { method: 'GET', path }
    return readVersion(this.#named(request), await this.#call(request))
  }

  async checkCompatibility(
    subject: string,
    schema: SchemaDocument,
    version: number | 'latest' = 'latest',
  ): Promise<RegistryVerdict> {
    const path = `/compatibility/subjects/${segment(subject)}/versions/${checked(version)}?verbose=true`
    const request: RegistryRequest = { method: 'POST', path, body: bodyOf(schema) }
    try {
      return readVerdict(this.#named(request), await this.#call(request))
    } catch (thrown) {
      if (version === 'latest' && thrown instanceof SchemaNotFoundError) return { isCompatible: true, messages: [] }
      throw thrown
    }
  }

  /** Returns the body of a successful response, after at most `maxAttempts` requests. */
  async #call(request: RegistryRequest): Promise<string> {
    const { maxAttempts, runtime } = this.#options
    for (let attempt = 1; ; attempt++) {
      // oxlint-disable-next-line no-await-in-loop -- The next attempt depends on this one.
      const answer = await this.#once(request)
      if ('body' in answer) return answer.body
      if (attempt >= maxAttempts || !answer.isTransient) throw answer.error
      // oxlint-disable-next-line no-await-in-loop -- The backoff separates attempts.
      await runtime.timers.sleep(backoffMs(backoff, attempt, runtime.random))
    }
  }

  async #once(request: RegistryRequest): Promise<Answer> {
    try {
      const { status, body } = await this.#exchange.send(request)
      return status >= 200 && status < 300 ? { body } : this.#refused(request, status, readRefusal(body))
    } catch (thrown) {
      if (!(thrown instanceof RegistryUnavailableError)) throw thrown
      return { error: this.#unavailable(thrown.happened, thrown), isTransient: true }
    }
  }

  #refused(request: RegistryRequest, status: number, { errorCode, message }: RegistryRefusal): Answer {
    const happened = `${this.#named(request)} was refused with status ${status}: ${message === '' ? 'no message' : message}`
    if (status === 404 && notFound.has(errorCode))
      return { error: new SchemaNotFoundError(happened, { impact: 'Nothing was changed.' }), isTransient: false }
    if (status === 409 || status === 422) return { error: new SchemaRefusedError(happened), isTransient: false }
    const isTransient = status >= 500 || status === 408 || status === 429
    return { error: this.#unavailable(happened, { hint: hintFor(status) }), isTransient }
  }

  #unavailable(happened: string, context: { readonly hint?: string | undefined; readonly cause?: unknown }): Error {
    const { hint, cause } = context
    return new RegistryUnavailableError(`The schema registry ${this.name} is unavailable: ${happened}`, {
      impact: 'The schema is not known; nothing was lost.',
      ...(hint === undefined ? {} : { hint }),
      ...(cause === undefined ? {} : { cause }),
    })
  }

  #named({ method, path }: RegistryRequest): string {
    return `${method} ${path}`
  }
}

type Answer = { readonly body: string } | { readonly error: Error; readonly isTransient: boolean }

function hintFor(status: number): string | undefined {
  if (status === 401 || status === 403) return 'Set `auth`, and give its user the right to read the subject.'
  // A page of a proxy or of another API, which must not count as a missing schema.
  if (status === 404)
    return "Check that the URL is the base of Confluent's API: for Apicurio it ends with /apis/ccompat/v7."
  return undefined
}

/** Returns a subject as one segment of a path. @throws ArgumentError for a text that URLs take for a folder */
function segment(subject: string): string {
  if (typeof subject === 'string' && subject !== '' && subject !== '.' && subject !== '..' && subject.isWellFormed())
    return encodeURIComponent(subject)
  throw new ArgumentError(`${showValue(subject)} is not the name of a subject.`)
}

/** @throws ArgumentError */
function checked(version: number | 'latest'): number | 'latest' {
  if (version === 'latest' || (Number.isInteger(version) && version > 0)) return version
  throw new ArgumentError(`${showValue(version)} is not a version: it is an integer from 1, or latest.`)
}

function bodyOf({ schemaType, schema, references }: SchemaDocument): object {
  return { schemaType, schema, ...(references.length === 0 ? {} : { references }) }
}
