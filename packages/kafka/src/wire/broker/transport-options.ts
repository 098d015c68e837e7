/** The options of the transport to real brokers, validated before a connection is opened. */

import type { ConnectionOptions as TlsOptions } from 'node:tls'
import { type Clock } from '@waybill/core'
import { systemClock } from '@waybill/core/internal'
import {
  instance,
  integer,
  mapOf,
  nested,
  oneOf,
  optional,
  orFalse,
  type Report,
  type Resolved,
  type Rule,
  resolveOptions,
  text,
} from '@waybill/core/option'

/** A secret, or a provider that is called for each login. */
export type Credential = string | (() => string | Promise<string>)

/** A login by name and password. PLAIN sends the password to the broker: use it only with TLS. */
export interface PasswordLogin {
  readonly mechanism: 'PLAIN' | 'SCRAM-SHA-256' | 'SCRAM-SHA-512'
  readonly username: Credential
  readonly password: Credential
}

/** A login by the token of an identity provider. */
export interface TokenLogin {
  readonly mechanism: 'OAUTHBEARER'
  readonly token: Credential
  /**
   * Extensions sent with the token, which some brokers require.
   * @defaultValue none
   */
  readonly extensions?: Readonly<Record<string, string>>
}

/** The options of a SASL login. */
export type SaslOptions = PasswordLogin | TokenLogin

/** Options of createBrokerTransport. */
export interface BrokerTransportOptions {
  /**
   * TLS with the options of node:tls; an empty object trusts the certificate authorities that Node trusts.
   * @defaultValue false
   */
  readonly tls?: TlsOptions | false
  /**
   * The SASL login.
   * @defaultValue false
   */
  readonly sasl?: SaslOptions | false
  /**
   * The largest accepted response, which bounds the memory that a broken or hostile peer can occupy per connection.
   * @defaultValue 268435456
   */
  readonly maxResponseBytes?: number
  /**
   * The clock that decides when a login is renewed.
   * @defaultValue systemClock
   */
  readonly clock?: Clock
}

/** {@link BrokerTransportOptions} with all defaults. */
export interface ResolvedTransportOptions {
  readonly tls: TlsOptions | false
  readonly sasl: SaslOptions | false
  readonly maxResponseBytes: number
  readonly clock: Clock
}

// All of it is hidden in errors: a misplaced value may be a secret.
const saslRules = {
  mechanism: hidden(oneOf(['PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512', 'OAUTHBEARER'])),
  username: optional(credential()),
  password: optional(credential()),
  token: optional(credential()),
  extensions: hidden(mapOf(hidden(text()), { default: {}, because: 'few brokers ask for any' })),
}

const rules = {
  tls: hidden(
    orFalse(instance<TlsOptions>('options of node:tls', isObject), {
      default: false,
      because: 'a broker on the same machine has none',
    }),
  ),
  sasl: hidden(orFalse(nested(saslRules), { default: false, because: 'a broker on the same machine asks for none' })),
  maxResponseBytes: integer({
    default: 256 * 2 ** 20,
    min: 2 ** 20,
    max: 2 ** 31 - 1,
    because: 'five times the most that is asked for at once, and more than any record a broker usually takes',
  }),
  clock: instance<Clock>('a clock', isObject, { default: systemClock }),
}

/** Validates the options. @throws OptionsError, which shows no secret. */
export function resolveTransportOptions(given: BrokerTransportOptions): ResolvedTransportOptions {
  const options = resolveOptions('createBrokerTransport', rules, given, ({ sasl }, report) => {
    if (sasl !== false) checkLogin(sasl, report)
  })
  // Validated above: each mechanism has its credentials.
  return { ...options, sasl: options.sasl as unknown as SaslOptions | false }
}

function checkLogin(sasl: Resolved<typeof saslRules>, report: Report): void {
  const needed = sasl.mechanism === 'OAUTHBEARER' ? (['token'] as const) : (['username', 'password'] as const)
  for (const name of needed) {
    if (sasl[name] === undefined) report(`sasl.${name}`, `is required for ${sasl.mechanism}`)
  }
}

function credential(): Rule<Credential> {
  return hidden(instance<Credential>('a string, or a function that returns one', isCredential))
}

function hidden<T>(rule: Rule<T>): Rule<T> {
  return { ...rule, isSecret: true }
}

function isCredential(value: unknown): boolean {
  return (typeof value === 'string' && value !== '') || typeof value === 'function'
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null
}
