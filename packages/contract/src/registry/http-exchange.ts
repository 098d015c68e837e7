/**
 * One request to a registry and its response: bounded in time and size, with credentials for one host only.
 *
 *     request ──▶ response ──▶ body, up to the bound
 *        ▲            │ redirect within the host, at most three
 *        └────────────┘
 */

import { Buffer } from 'node:buffer'
import { describeThrown } from '@waybill/core'
import { RegistryUnavailableError } from './registry-errors.ts'
import type { RegistryAuth, ResolvedRegistryOptions } from './registry-options.ts'

/** A request of Confluent's API. */
export interface RegistryRequest {
  readonly method: 'GET' | 'POST'
  /** With its parts encoded: `/subjects/orders-value/versions`. */
  readonly path: string
  readonly body?: object
}

/** The complete response, whatever its status. */
export interface RegistryResponse {
  readonly status: number
  readonly body: string
}

type ExchangeOptions = Omit<ResolvedRegistryOptions, 'maxAttempts'>

const mediaType = 'application/vnd.schemaregistry.v1+json'
const mostRedirects = 3
/** Redirects that keep the method and the body. The others do so for GET only. */
const faithful: ReadonlySet<number> = new Set([307, 308])
const redirecting: ReadonlySet<number> = new Set([301, 302, ...faithful])

/** Sends requests to one registry. */
export class HttpExchange {
  readonly #options: ExchangeOptions

  constructor(options: ExchangeOptions) {
    this.#options = options
  }

  /** Returns the response. @throws RegistryUnavailableError if there is none, in time, within the bound */
  async send(request: RegistryRequest): Promise<RegistryResponse> {
    const { timeoutMs, runtime } = this.#options
    const ending = new AbortController()
    const timer = runtime.timers.schedule(timeoutMs, () => ending.abort(tooLate(request, timeoutMs)))
    try {
      return await untilAborted(ending.signal, this.#follow(request, ending.signal))
    } catch (thrown) {
      if (ending.signal.aborted) throw ending.signal.reason
      throw thrown instanceof RegistryUnavailableError ? thrown : noResponse(request, thrown)
    } finally {
      timer[Symbol.dispose]()
    }
  }

  async #follow(request: RegistryRequest, signal: AbortSignal): Promise<RegistryResponse> {
    const base = new URL(this.#options.url)
    const headers = await this.#headers(request)
    const body = request.body === undefined ? null : JSON.stringify(request.body)
    let address = new URL(`${base.pathname.replace(/\/+$/, '')}${request.path}`, base)
    for (let redirects = 0; ; redirects++) {
      const init: RequestInit = { method: request.method, headers, body, signal, redirect: 'manual' }
      // oxlint-disable-next-line no-await-in-loop -- A redirect is known only from the response.
      const response = await this.#options.fetch(address.href, init)
      const next = nextAddress(request, response, address)
      if (next === undefined) return { status: response.status, body: await this.#read(request, response) }
      void response.body?.cancel().catch(() => {}) // The connection is released; the body of a redirect says nothing.
      if (redirects >= mostRedirects) throw refusedRedirect(request, `more than ${mostRedirects} times`)
      address = next
    }
  }

  async #headers({ body }: RegistryRequest): Promise<Record<string, string>> {
    const { auth } = this.#options
    return {
      accept: `${mediaType}, application/json`,
      ...(body === undefined ? {} : { 'content-type': mediaType }),
      ...(auth === undefined ? {} : { authorization: await authorizationOf(auth) }),
    }
  }

  async #read(request: RegistryRequest, response: Response): Promise<string> {
    const { maxResponseBytes } = this.#options
    const chunks: Uint8Array[] = []
    let bytes = 0
    // Leaving the loop by an error cancels the body.
    for await (const chunk of response.body ?? []) {
      bytes += chunk.byteLength
      if (bytes > maxResponseBytes) throw tooLarge(request, maxResponseBytes)
      chunks.push(chunk)
    }
    return Buffer.concat(chunks, bytes).toString('utf8')
  }
}

/** Returns the address of a redirect; undefined for any other response. @throws RegistryUnavailableError */
function nextAddress(request: RegistryRequest, { status, headers }: Response, address: URL): URL | undefined {
  const location = headers.get('location')
  if (!redirecting.has(status) || location === null) return undefined
  const next = URL.canParse(location, address.href) ? new URL(location, address) : undefined
  // Another host must not see the credentials, and a downgrade from https would show them to everyone.
  if (next?.origin !== address.origin) throw refusedRedirect(request, `to ${next?.origin ?? 'no URL'}`)
  if (request.method !== 'GET' && !faithful.has(status)) throw refusedRedirect(request, `with status ${status}`)
  return next
}

async function authorizationOf(auth: RegistryAuth): Promise<string> {
  if ('username' in auth) return `Basic ${Buffer.from(`${auth.username}:${auth.password}`, 'utf8').toString('base64')}`
  return `Bearer ${typeof auth.token === 'string' ? auth.token : await auth.token()}`
}

/** Settles like the work, or rejects with the reason of the signal: a token function need not know the signal. */
async function untilAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>()
  const abort = (): void => reject(signal.reason as Error)
  signal.addEventListener('abort', abort, { once: true })
  try {
    return await Promise.race([work, promise])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

const unknown = { impact: 'The schema is not known; nothing was lost.' }

function noResponse({ method, path }: RegistryRequest, thrown: unknown): RegistryUnavailableError {
  // "fetch failed" says nothing; its cause does.
  const cause = thrown instanceof Error && thrown.cause !== undefined ? thrown.cause : thrown
  return new RegistryUnavailableError(`${method} ${path} has no response: ${describeThrown(cause)}.`, {
    ...unknown,
    hint: 'Check that the registry runs and that its URL is right.',
    cause: thrown,
  })
}

function tooLate({ method, path }: RegistryRequest, timeoutMs: number): RegistryUnavailableError {
  return new RegistryUnavailableError(`${method} ${path} has no response within ${timeoutMs} ms.`, {
    ...unknown,
    hint: 'Check the registry, or raise timeoutMs.',
  })
}

function tooLarge({ method, path }: RegistryRequest, maxBytes: number): RegistryUnavailableError {
  return new RegistryUnavailableError(`${method} ${path} has a response of more than ${maxBytes} bytes.`, {
    ...unknown,
    hint: 'Raise maxResponseBytes if the schema is that large.',
  })
}

function refusedRedirect({ method, path }: RegistryRequest, why: string): RegistryUnavailableError {
  return new RegistryUnavailableError(`${method} ${path} is redirected ${why}, which is not followed.`, {
    ...unknown,
    hint: 'Set the URL to the address that answers.',
  })
}
