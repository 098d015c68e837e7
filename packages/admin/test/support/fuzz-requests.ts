/** Random requests for the routes of a document: valid ones, nearly valid ones, and hostile ones. */

import type { OpenApiDocument } from '../../src/server/openapi-document.ts'

/** A request to send. */
export interface FuzzRequest {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array | undefined
}

/** Names that exist in the world, by path parameter. */
export type KnownNames = Readonly<Record<string, readonly string[]>>

type Json = Readonly<Record<string, unknown>>

interface Operation {
  readonly parameters: readonly { readonly name: string; readonly in: string; readonly schema: Json }[]
  readonly requestBody?: { readonly content: { readonly 'application/json': { readonly schema: Json } } }
}

/** Returns numbers from 0 to 1: the same for a seed. */
export function seeded(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

const hostileTexts: readonly string[] = [
  '',
  ' ',
  '..',
  '../../etc/passwd',
  '%2e%2e%2f',
  '%00',
  '\u0000',
  'a\r\nX-Injected: 1',
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'hasOwnProperty',
  "' OR 1=1 --",
  '"; DROP TABLE outbox_event; --',
  '$where: function() { return true }',
  '{{7*7}}',
  '${process.exit(1)}',
  '${jndi:ldap://127.0.0.1/a}',
  '<script>alert(1)</script>',
  '(a+)+$',
  '^(([a-z])+.)+[A-Z]([a-z])+$',
  '*',
  '$..*',
  '-1',
  '0',
  '1e309',
  '9007199254740993',
  '9223372036854775808',
  '99999999999999999999999999',
  'NaN',
  'Infinity',
  'null',
  'undefined',
  'true',
  '[object Object]',
  '\ud800',
  '💥'.repeat(40),
  'x'.repeat(300),
  'x'.repeat(3_000),
  'orders.DLT:0:0',
  'orders.DLT:0:99999999999999999999',
  'orders.DLT:-1:0',
  'default:orders.DLT:0:0',
  'P7D',
  'PT0S',
  'P999999W',
  '2026-11-16T06:00:00Z',
  '2026-13-45T99:99:99Z',
  '0000-00-00',
  'op_01KD0ZW3V80000000000000000',
  'eyJwIjoiMSIsImYiOiJ4In0',
]

const hostileValues: readonly unknown[] = [
  null,
  true,
  false,
  0,
  -1,
  1.5,
  1e308,
  2 ** 53,
  [],
  {},
  [[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]],
  { $ne: null },
  { $gt: '' },
  { length: 1e9 },
  { toJSON: 'x' },
  Array.from({ length: 2_000 }, () => 'x'),
]

const methods = ['GET', 'POST', 'PATCH', 'DELETE', 'PUT', 'HEAD', 'OPTIONS', 'TRACE', 'get', '']

/** Creates random requests. */
export class FuzzRequests {
  readonly #random: () => number
  readonly #document: OpenApiDocument
  /** How often a value of the present request is hostile. */
  #hostility = 0
  /** How often its optional members are there. */
  #fullness = 0
  readonly #known: KnownNames
  readonly #bodies: Readonly<Record<string, readonly Json[]>>
  readonly #operations: readonly { readonly path: string; readonly method: string; readonly operation: Operation }[]

  /** @param bodies - valid bodies by path: a member of one is replaced now and then */
  constructor(
    document: OpenApiDocument,
    known: KnownNames,
    bodies: Readonly<Record<string, readonly Json[]>>,
    random: () => number,
  ) {
    this.#bodies = bodies
    this.#document = document
    this.#known = known
    this.#random = random
    this.#operations = Object.entries(document.paths).flatMap(([path, byMethod]) =>
      Object.entries(byMethod).map(([method, operation]) => ({
        path,
        method: method.toUpperCase(),
        operation: operation as unknown as Operation,
      })),
    )
  }

  next(): FuzzRequest {
    this.#hostility = this.#pick([0, 0, 0.02, 0.15])
    this.#fullness = this.#pick([0.1, 0.3, 0.6])
    const { path, method, operation } = this.#pick(this.#operations)
    const body = this.#body(path, operation)
    return {
      method: this.#chance(0.03) ? this.#pick(methods) : method,
      url: `${this.#path(path)}${this.#query(operation)}`,
      headers: this.#headers(body),
      body,
    }
  }

  #path(template: string): string {
    const path = template.replace(/\{(\w+)\}/g, (_, name: string) => {
      const known = this.#known[name]
      if (known !== undefined && this.#chance(0.9 - this.#hostility)) return encodeURIComponent(this.#pick(known))
      const text = this.#pick(hostileTexts)
      return this.#chance(0.2) ? text : encoded(text)
    })
    return this.#chance(0.02) ? `${path}/${encoded(this.#pick(hostileTexts))}` : path
  }

  #query({ parameters }: Operation): string {
    const parts = parameters
      .filter((one) => one.in === 'query' && this.#chance(0.5))
      .map(({ name, schema }) => `${encoded(name)}=${encoded(this.#text(schema))}`)
    if (this.#chance(0.05)) parts.push(`${encoded(this.#pick(hostileTexts))}=${encoded(this.#pick(hostileTexts))}`)
    if (this.#chance(0.03) && parts[0] !== undefined) parts.push(parts[0])
    if (this.#chance(0.02)) parts.push('%E0%A4%A=1')
    return parts.length === 0 ? '' : `?${parts.join('&')}`
  }

  #text(schema: Json): string {
    const value = this.#value(schema, 0)
    return typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
  }

  #body(path: string, { requestBody }: Operation): Uint8Array | undefined {
    const valid = this.#bodies[path]
    if (requestBody !== undefined && valid !== undefined && this.#chance(0.6)) {
      const body: Record<string, unknown> = { ...this.#pick(valid) }
      if (this.#chance(this.#hostility * 4)) body[this.#pick(Object.keys(body))] = this.#pick(hostileValues)
      return Buffer.from(JSON.stringify(body))
    }
    if (requestBody === undefined) return this.#chance(0.03) ? Buffer.from('{}') : undefined
    if (this.#chance(0.1)) return undefined
    if (this.#chance(0.05)) return this.#brokenBody()
    const value = this.#value(requestBody.content['application/json'].schema, 0)
    const text = JSON.stringify(value) ?? 'null'
    if (!this.#chance(0.05)) return Buffer.from(text)
    const key = this.#pick(['__proto__', 'constructor', 'prototype'])
    return Buffer.from(text.replace(/^\{/, `{"${key}":{"isAdmin":true},`))
  }

  #brokenBody(): Uint8Array {
    return this.#pick([
      Buffer.from('{'),
      Buffer.from('nul'),
      Buffer.from('[1,2'),
      Buffer.from([0xff, 0xfe, 0x00]),
      Buffer.from('['.repeat(10_000)),
      Buffer.from(`{"reason":"${'x'.repeat(70_000)}"}`),
      Buffer.from(JSON.stringify(Object.fromEntries(Array.from({ length: 1_200 }, (_, at) => [`k${at}`, at])))),
      Buffer.from('{"reason":"a","reason":"b"}'),
    ])
  }

  #headers(body: Uint8Array | undefined): Record<string, string> {
    const headers: Record<string, string> = {}
    if (body !== undefined) {
      headers['content-type'] = this.#chance(0.95)
        ? 'application/json'
        : this.#pick(['text/plain', '', 'application/json; charset=utf-16', 'multipart/form-data'])
      headers['content-length'] = this.#chance(0.97) ? String(body.length) : this.#pick(['0', '-1', '99999999', 'x'])
    }
    const optional: readonly (readonly [name: string, values: readonly string[], chance: number])[] = [
      ['waybill-reason', ['INC-311', 'gel%C3%B6st', '%', '%00', ...hostileTexts], 0.5],
      ['idempotency-key', ['k1', 'k2', '', 'a b', 'x'.repeat(129), '\r\n'], 0.1],
      ['prefer', ['wait=0', 'wait=1', 'wait=99999999', 'wait=-1', 'respond-async'], 0.3],
      ['accept', ['*/*', 'application/json', 'text/html', 'application/*;q=0', ';;;', 'text/event-stream'], 0.05],
      ['cache-control', ['no-cache'], 0.1],
      ['if-match', ['"0-OPEN"', '*', 'x', '"', '"1-REPLAYED"'], 0.1],
      ['last-event-id', ['1', '999', '-1', 'x', '9'.repeat(40)], 0.1],
      ['origin', ['http://evil.example', 'null', 'http://127.0.0.1'], 0.05],
      ['sec-fetch-site', ['cross-site', 'same-origin', 'none'], 0.05],
      ['host', ['127.0.0.1', 'evil.example', '[::1]:4400'], 0.05],
      ['x-http-method-override', ['DELETE'], 0.02],
      ['x-filler', ['x'.repeat(20_000)], 0.01],
    ]
    for (const [name, values, chance] of optional) if (this.#chance(chance)) headers[name] = this.#pick(values)
    return headers
  }

  /** A value of a schema, mostly: types and bounds are broken now and then. */
  #value(schema: Json, depth: number): unknown {
    if (depth > 6 || this.#chance(this.#hostility)) return this.#pick(this.#chance(0.5) ? hostileValues : hostileTexts)
    const { $ref: reference, anyOf, enum: words, examples, type, properties, items, additionalProperties } = schema
    if (typeof reference === 'string') return this.#value(this.#resolved(reference), depth + 1)
    if (Array.isArray(anyOf)) return this.#value(this.#pick(anyOf as readonly Json[]), depth + 1)
    if (Array.isArray(words)) return this.#pick(words)
    if ('const' in schema) return schema['const']
    if (typeof properties === 'object' && properties !== null) return this.#object(schema, depth)
    switch (Array.isArray(type) ? this.#pick(type) : type) {
      case 'array':
        return Array.from({ length: Math.floor(this.#random() * 3) }, () =>
          this.#value((items ?? {}) as Json, depth + 1),
        )
      case 'object':
        return typeof additionalProperties === 'object'
          ? { [this.#pick(hostileTexts)]: this.#value((additionalProperties ?? {}) as Json, depth + 1) }
          : {}
      case 'boolean':
        return this.#chance(0.5)
      case 'integer':
      case 'number':
        return this.#number(schema)
      case 'string':
        return this.#string(schema, Array.isArray(examples) ? examples : [])
      case 'null':
        return null
      default:
        return this.#pick(hostileValues)
    }
  }

  #object({ properties, required = [] }: Json, depth: number): Json {
    const value: Record<string, unknown> = {}
    for (const [key, schema] of Object.entries(properties as Readonly<Record<string, Json>>)) {
      const isRequired = (required as readonly string[]).includes(key)
      if (!this.#chance(isRequired ? 0.97 : this.#fullness)) continue
      const known = this.#known[key]
      value[key] = known !== undefined && this.#chance(0.7) ? this.#pick(known) : this.#value(schema, depth + 1)
    }
    if (this.#chance(this.#hostility / 2)) value[this.#pick(hostileTexts)] = this.#pick(hostileValues)
    return value
  }

  #number({ minimum, maximum }: Json): number {
    const [low, high] = [Number(minimum ?? 0), Math.min(Number(maximum ?? 100), 1_000_000)]
    if (this.#chance(this.#hostility * 3)) return this.#pick([low - 1, high + 1, low + 0.5])
    return this.#pick([low, high, Math.floor(low + this.#random() * 10)])
  }

  #string({ format }: Json, examples: readonly unknown[]): unknown {
    if (examples.length > 0 && this.#chance(0.7)) return this.#pick(examples)
    if (format === 'date-time') return this.#pick(['2026-01-01T00:00:00Z', '1767225600000'])
    if (format === 'duration') return this.#pick(['P7D', 'PT1H', 'PT0S'])
    return this.#pick(this.#chance(this.#hostility * 3) ? hostileTexts : ['INC-311', 'a', 'shipping', 'orders'])
  }

  #resolved(reference: string): Json {
    return this.#document.components.schemas[reference.split('/').at(-1) ?? ''] ?? {}
  }

  #pick<T>(among: readonly T[]): T {
    return among[Math.floor(this.#random() * among.length)] as T
  }

  #chance(of: number): boolean {
    return this.#random() < of
  }
}

/** Half of a surrogate pair cannot be encoded. */
function encoded(text: string): string {
  return encodeURIComponent(text.toWellFormed())
}
