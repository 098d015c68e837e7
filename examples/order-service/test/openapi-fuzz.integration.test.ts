import fc from 'fast-check'
import { expect, test } from 'vitest'
import { openEmbedded } from '../src/config/resources.ts'
import { type Client, startOrders } from './support/order-world.ts'

interface Operation {
  readonly parameters: readonly { readonly name: string; readonly in: string; readonly schema: object }[]
  readonly requestBody?: { readonly content: { readonly 'application/json': { readonly schema: Schema } } }
  readonly responses: Readonly<Record<string, object>>
}

interface Schema {
  readonly type?: string
  readonly enum?: readonly string[]
  readonly required?: readonly string[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
  readonly examples?: readonly unknown[]
  readonly minimum?: number
  readonly maximum?: number
}

const requests = 5_000
/** Below the rate limit of a user and path. */
const requestsOfUser = 100
const requestsAtOnce = 20

const hostileValue = fc.oneof(
  fc.jsonValue(),
  fc.string({ unit: 'binary', maxLength: 300 }),
  fc.constantFrom(null, '', -1, 1e308, Number.MAX_SAFE_INTEGER, '\u0000', "' OR 1=1 --", '__proto__', [], {}),
)

/** Values that fit a schema; with `isHostile` some parts of them do not. */
function valueOf(schema: Schema, isHostile: boolean): fc.Arbitrary<unknown> {
  const fitting = fittingValue(schema, isHostile)
  return isHostile ? fc.oneof({ weight: 4, arbitrary: fitting }, { weight: 1, arbitrary: hostileValue }) : fitting
}

function fittingValue(schema: Schema, isHostile: boolean): fc.Arbitrary<unknown> {
  const { type, enum: names, required = [], properties = {}, items = {}, examples, minimum = 0, maximum = 100 } = schema
  if (names !== undefined) return fc.constantFrom(...names)
  if (type === 'array') return fc.array(valueOf(items, isHostile), { minLength: isHostile ? 0 : 1, maxLength: 5 })
  if (type === 'integer') return fc.integer({ min: minimum, max: Math.min(maximum, 1_000_000) })
  if (type !== 'object')
    return examples === undefined ? fc.string({ unit: 'grapheme', maxLength: 80 }) : fc.constantFrom(...examples)
  const members = Object.entries(properties).map(([name, each]) => [name, valueOf(each, isHostile)] as const)
  const model: Record<string, fc.Arbitrary<unknown>> = Object.fromEntries(members)
  return fc.record(model, { requiredKeys: isHostile ? [] : [...required] })
}

test('5,000 requests drawn from the OpenAPI document are answered without a server error, in the documented shape', {
  timeout: 240_000,
}, async () => {
  await using world = await startOrders(await openEmbedded())
  const { body: document } = await world.withToken(undefined)('GET', '/openapi.json')
  const operations = Object.entries(document.paths as Record<string, Record<string, Operation>>).flatMap(
    ([path, methods]) => Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  )
  expect(operations).toHaveLength(6)

  const owned = (await (await world.as('user-0'))('POST', '/orders', cartOf(1))).body.id as string
  const drawn = fc.sample(
    fc.constantFrom(...operations).chain(({ path, method, operation }) =>
      fc.record({
        path: fc.constant(path),
        method: fc.constant(method.toUpperCase()),
        id: fc.oneof(fc.constant(owned), fc.string({ unit: 'binary', minLength: 1, maxLength: 70 })),
        query: fc.dictionary(
          fc.constantFrom('page', 'size', 'status', 'sort', '__proto__'),
          fc.oneof(fc.constantFrom('0', '1', 'PENDING', '-1', '1e3'), fc.string({ unit: 'binary', maxLength: 20 })),
        ),
        key: fc.option(fc.string({ maxLength: 140 }), { nil: undefined }),
        body: fc
          .boolean()
          .chain((isHostile) => valueOf(operation.requestBody?.content['application/json'].schema ?? {}, isHostile)),
        isBroken: fc.integer({ min: 0, max: 15 }).map((lot) => lot === 0),
      }),
    ),
    { numRuns: requests, seed: 20_261_119 },
  )
  const statuses = new Map<number, number>()
  const send = async (call: Client, { path, method, id, query, key, body, isBroken }: (typeof drawn)[number]) => {
    const isRead = method === 'GET'
    const url = `${path.replace('{id}', encodeURIComponent(id.toWellFormed()))}${isRead ? `?${new URLSearchParams(query).toString()}` : ''}`
    const text = JSON.stringify(body) ?? 'null'
    const sent = isRead ? undefined : isBroken ? text.slice(0, -1) : text
    const answer = await call(method, url, sent, key === undefined ? {} : { 'x-idempotency-key': headerOf(key) })
    statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1)
    if (answer.status >= 500) expect.unreachable(`${method} ${url} ${text}: ${JSON.stringify(answer.body)}`)
    if (answer.status >= 400)
      expect(answer.body).toEqual({
        code: expect.stringMatching(/^[A-Z_]+$/),
        message: expect.any(String),
        requestId: answer.headers.get('x-request-id'),
        timestamp: expect.any(String),
      })
  }
  for (let first = 0; first < drawn.length; first += requestsAtOnce) {
    const call = await world.as(`user-${Math.floor(first / requestsOfUser)}`)
    await Promise.all(drawn.slice(first, first + requestsAtOnce).map((request) => send(call, request)))
  }
  // The requests reach behind the checks: some are orders, some change them.
  expect(statuses.get(201)).toBeGreaterThan(20)
  expect(statuses.get(200)).toBeGreaterThan(100)
  expect(statuses.get(400)).toBeGreaterThan(1_000)
})

function cartOf(quantity: number): object {
  return { items: [{ sku: 'A-1', quantity, unitPriceMinor: 1_250 }], currency: 'EUR' }
}

/** Returns text that a client can send in a header. */
function headerOf(text: string): string {
  return text.replaceAll(/[^\x20-\x7e]/g, '?')
}
