/** The options of the client of a schema registry. */

import type { Runtime } from '@waybill/core'
import { runtimeRule } from '@waybill/core/internal'
import {
  durationMs,
  func,
  instance,
  integer,
  isPlainObject,
  optional,
  type Rule,
  resolveOptions,
  text,
} from '@waybill/core/option'

/** A user name and a password, or a token. A function is called before each request, so that a token may expire. */
export type RegistryAuth =
  | { readonly username: string; readonly password: string }
  | { readonly token: string | (() => Promise<string> | string) }

/** Options of {@link createRegistryClient}. */
export interface RegistryClientOptions {
  /**
   * Base of Confluent's API: `http://127.0.0.1:8081`, or `https://registry.internal/apis/ccompat/v7` for Apicurio. Without
   * credentials, which have an option of their own.
   */
  readonly url: string
  /** Sent to this host only. @defaultValue none */
  readonly auth?: RegistryAuth | undefined
  /** The time of one request, with its response. @defaultValue 3000 */
  readonly timeoutMs?: number | undefined
  /** The number of requests for one call, if the registry gives no answer. @defaultValue 3 */
  readonly maxAttempts?: number | undefined
  /** The largest response in bytes. @defaultValue 4194304 */
  readonly maxResponseBytes?: number | undefined
  /** @defaultValue the global `fetch` */
  readonly fetch?: typeof globalThis.fetch | undefined
  /** @defaultValue the system runtime */
  readonly runtime?: Runtime | undefined
}

/** A URL may hold a password where none is expected, so that no violation shows it. */
const url: Rule<string> = {
  ...text({
    pattern: /^https?:\/\/[^\s@?#]+$/,
    called: 'an http or https URL without credentials, query and fragment',
  }),
  isSecret: true,
}

const auth: Rule<RegistryAuth | undefined> = {
  ...optional(instance<RegistryAuth>('{ username, password } or { token }', isAuth)),
  isSecret: true,
}

const rules = {
  url,
  auth,
  timeoutMs: durationMs({
    default: 3_000,
    min: 1,
    max: 600_000,
    because: 'a registry answers from memory, and a partition waits for it',
  }),
  maxAttempts: integer({
    default: 3,
    min: 1,
    max: 100,
    because: 'a restarting node is replaced within a second; a longer outage is retried by what waits for the schema',
  }),
  maxResponseBytes: integer({
    default: 4_194_304,
    min: 1_024,
    because: 'schemas are smaller, and a proxy may send anything',
  }),
  fetch: func<typeof globalThis.fetch>({ default: globalThis.fetch, because: 'Node has it' }),
  runtime: runtimeRule,
}

/** The options of a client with their defaults. */
export interface ResolvedRegistryOptions {
  readonly url: string
  readonly auth: RegistryAuth | undefined
  readonly timeoutMs: number
  readonly maxAttempts: number
  readonly maxResponseBytes: number
  readonly fetch: typeof globalThis.fetch
  readonly runtime: Runtime
}

/** @throws OptionsError with every violation */
export function resolveRegistryOptions(options: RegistryClientOptions): ResolvedRegistryOptions {
  return resolveOptions('createRegistryClient', rules, options)
}

function isAuth(value: unknown): boolean {
  if (!isPlainObject(value)) return false
  const { username, password, token, ...others } = value
  if (Object.keys(others).length > 0) return false
  if (token !== undefined)
    return username === undefined && password === undefined && (isText(token) || typeof token === 'function')
  // A colon would end the user name on the wire.
  return isText(username) && !username.includes(':') && typeof password === 'string'
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}
