/** The settings of an instance, from its environment. */

import { integer, oneOf, optional, resolveOptions, text } from '@waybill/core/option'
import type { Addresses } from './resources.ts'

/** Where the services of an instance are, and which instance it is. */
export interface Settings {
  readonly region: string
  readonly instanceId: number
  readonly instanceCount: number
  readonly issuer: string
  readonly audience: string
  /** The keys of the token issuer. @defaultValue the keys of this machine's demo */
  readonly jwksUrl: string | undefined
  /** The address to listen on. */
  readonly host: string
  readonly failover: 'ON' | 'OFF'
  /** OFF: without outbox and idempotency keys, as the benchmark compares it. Never set this. */
  readonly protection: 'ON' | 'OFF'
  readonly listMaxRows: number
  readonly pageMaxSize: number
  readonly promotionIntervalMs: number
  readonly promotionBatchSize: number
}

const rules = {
  region: text({ pattern: /^[a-z0-9-]{1,32}$/, default: 'eu-1', because: 'one region needs no other name' }),
  instanceId: integer({ default: 0, min: 0, max: 63, because: 'the only instance is the first' }),
  instanceCount: integer({ default: 1, min: 1, max: 64, because: 'one instance publishes everything' }),
  issuer: text({ default: 'https://issuer.example', because: 'the demo issues its own tokens' }),
  audience: text({ default: 'orders', because: 'the name of this service' }),
  jwksUrl: optional(text({ pattern: /^https?:\/\/\S+$/, called: 'the URL of the issuer’s keys' })),
  host: text({ default: '127.0.0.1', because: 'a demo is for this machine alone' }),
  failover: oneOf(['ON', 'OFF'], { default: 'OFF', because: 'a single region has nowhere to fail over to' }),
  protection: oneOf(['ON', 'OFF'], { default: 'ON', because: 'a service without it loses events and repeats orders' }),
  listMaxRows: integer({ default: 1_000, min: 1, max: 10_000, because: 'longer lists are what pages are for' }),
  pageMaxSize: integer({ default: 100, min: 1, max: 1_000, because: 'a screen shows no more' }),
  promotionIntervalMs: integer({ default: 300_000, min: 100, because: 'orders can be cancelled for five minutes' }),
  promotionBatchSize: integer({ default: 500, min: 1, max: 5_000, because: 'a page stays small in memory' }),
}

type Environment = Readonly<Record<string, string | undefined>>

/**
 * Reads the settings: `ORDERS_REGION` is `region`, `ORDERS_LIST_MAX_ROWS` is `listMaxRows`.
 * @throws OptionsError with every violation
 */
export function readSettings(environment: Environment): Settings {
  const given: Record<string, string | number> = {}
  for (const name of Object.keys(rules)) {
    const value = environment[`ORDERS_${name.replaceAll(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`]
    if (value !== undefined) given[name] = /^\d+$/.test(value) ? Number(value) : value
  }
  return resolveOptions('the environment', rules, given)
}

/** Reads the addresses of the real services. */
export function readAddresses(environment: Environment): Addresses {
  const { KAFKA_BOOTSTRAP = '127.0.0.1:9092', REDIS_URL = 'redis://127.0.0.1:6379' } = environment
  const { DATABASE_URL = 'postgres://postgres@127.0.0.1:5432/postgres', ORDERS_SCHEMA, ORDERS_TOPIC } = environment
  return {
    kafka: KAFKA_BOOTSTRAP,
    database: DATABASE_URL,
    redis: REDIS_URL,
    ...(ORDERS_SCHEMA === undefined ? {} : { schema: ORDERS_SCHEMA }),
    ...(ORDERS_TOPIC === undefined ? {} : { topic: ORDERS_TOPIC }),
  }
}
