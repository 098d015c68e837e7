import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { text as readText } from 'node:stream/consumers'
import { createRemoteJWKSet, exportJWK, exportSPKI, generateKeyPair, importJWK, SignJWT, UnsecuredJWT } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { demoToken } from '../src/config/demo-tokens.ts'
import { openEmbedded } from '../src/config/resources.ts'
import { type Client, cart, type OrderWorld, startOrders } from './support/order-world.ts'

const encode = (text: string): Uint8Array => new TextEncoder().encode(text)

describe('the access to orders', () => {
  let world: OrderWorld
  beforeAll(async () => {
    world = await startOrders(await openEmbedded())
  })
  afterAll(() => world[Symbol.asyncDispose]())

  const someone = (role?: string): Promise<Client> => world.as(`user-${randomUUID()}`, role)

  test('S4-065 is refused without a token, and with one that is forged, expired, early or for others', async () => {
    const claims = { subject: 'alice', role: 'ADMIN', ...world.settings }
    const token = await demoToken(claims, world.keyFile)
    const [own, rsa] = [await generateKeyPair('ES256'), await generateKeyPair('RS256')]
    const sign = (key: Parameters<SignJWT['sign']>[0], alg: string, more: object = {}) =>
      new SignJWT({ roles: ['ADMIN'], ...more })
        .setProtectedHeader({ alg, kid: 'demo' })
        .setSubject('alice')
        .setIssuer(claims.issuer)
        .setAudience(claims.audience)
        .setExpirationTime('1h')
        .sign(key)
    // By the key of the service, whose claims are still checked.
    const ownKey = await importJWK(JSON.parse(await readFile(world.keyFile, 'utf8')), 'ES256')
    const accepted = (more: object) =>
      new SignJWT({ roles: ['ADMIN'], iss: claims.issuer, aud: claims.audience, ...more }).setProtectedHeader({
        alg: 'ES256',
        kid: 'demo',
      })
    const unsecured = { roles: ['ADMIN'], sub: 'alice', iss: claims.issuer, aud: claims.audience, exp: 4e9 }
    const refused: Readonly<Record<string, string | undefined>> = {
      none: undefined,
      nonsense: 'nonsense',
      'a changed signature': `${token.slice(0, -4)}AAAA`,
      'a changed payload': token.replace(/\..*\./, `.${Buffer.from(JSON.stringify(unsecured)).toString('base64url')}.`),
      expired: await demoToken({ ...claims, lifetimeSeconds: -60 }, world.keyFile),
      'of another audience': await demoToken({ ...claims, audience: 'billing' }, world.keyFile),
      'of another issuer': await demoToken({ ...claims, issuer: 'https://mallory.example' }, world.keyFile),
      'signed by another key': await sign(own.privateKey, 'ES256'),
      'signed by another algorithm': await sign(rsa.privateKey, 'RS256'),
      'with a shared secret': await sign(encode('a shared secret of thirty-two bytes'), 'HS256'),
      'with a public key as a shared secret': await sign(encode(await exportSPKI(own.publicKey)), 'HS256'),
      unsecured: new UnsecuredJWT(unsecured).encode(),
      'valid from tomorrow on': await sign(own.privateKey, 'ES256', { nbf: Math.floor(Date.now() / 1_000) + 86_400 }),
      'of a subject with a space at its end': await demoToken({ ...claims, subject: 'alice ' }, world.keyFile),
      'of a subject that is a number': await accepted({ sub: 5 }).setExpirationTime('1h').sign(ownKey),
      'without an end': await accepted({ sub: 'alice' }).sign(ownKey),
      'longer than any': 'x'.repeat(9_000),
    }
    for (const [what, each] of Object.entries(refused)) {
      const { status, body, headers } = await world.withToken(each)('GET', '/orders')
      expect([what, status]).toEqual([what, 401])
      expect(headers.get('www-authenticate')).toBe('Bearer')
      expect(body).toEqual({
        code: 'UNAUTHENTICATED',
        message: expect.any(String),
        requestId: headers.get('x-request-id'),
        timestamp: expect.stringMatching(/^\d{4}-.*Z$/),
      })
    }
    const long = await world.withToken('x'.repeat(9_000))('GET', '/orders')
    expect(long.body.message).toContain('too long')
    expect((await world.withToken(token)('GET', '/orders')).status).toBe(200)
  })

  test('S4-065 needs the role USER or ADMIN, with or without the prefix ROLE_', async () => {
    for (const [role, status] of [
      ['USER', 200],
      ['ROLE_USER', 200],
      ['ADMIN', 200],
      ['OPERATOR', 403],
      ['user', 403],
      ['', 403],
    ] as const) {
      const call = await someone(role)
      expect([role, (await call('GET', '/orders')).status]).toEqual([role, status])
    }
  })

  test('S4-065 keys of an issuer are fetched, and 503 says that they cannot be', async () => {
    const { privateKey, publicKey } = await generateKeyPair('RS256', { extractable: true })
    let isUp = false
    const keys = { keys: [{ ...(await exportJWK(publicKey)), kid: 'k-1', alg: 'RS256', use: 'sig' }] }
    await using issuer = createServer((_, answer) => {
      answer.writeHead(isUp ? 200 : 500, { 'content-type': 'application/json' }).end(JSON.stringify(keys))
    }).listen(0, '127.0.0.1')
    await once(issuer, 'listening')
    const { port } = issuer.address() as AddressInfo
    const jwks = createRemoteJWKSet(new URL(`http://127.0.0.1:${port}/jwks`), { cooldownDuration: 0 })
    await using other = await startOrders(await openEmbedded(), { keys: jwks })
    const token = await new SignJWT({ roles: ['USER'] })
      .setProtectedHeader({ alg: 'RS256', kid: 'k-1' })
      .setSubject('alice')
      .setIssuer(other.settings.issuer)
      .setAudience(other.settings.audience)
      .setExpirationTime('1h')
      .sign(privateKey)
    const call = other.withToken(token)
    expect(await call('GET', '/orders')).toMatchObject({ status: 503, body: { code: 'INFRASTRUCTURE_ERROR' } })
    isUp = true
    expect((await call('GET', '/orders')).status).toBe(200)
  })

  test('no request changes what it may not: owner, status, version, time and total come from the service', async () => {
    const call = await someone()
    const { body: order } = await call('POST', '/orders', cart)
    const more = [
      { ownerSubject: 'mallory' },
      { id: order.id },
      { status: 'DELIVERED' },
      { version: 7 },
      { totalMinor: 1 },
      { createdAt: '2001-01-01T00:00:00Z' },
      { region: 'us-1' },
      { idempotencyKey: 'k' },
    ]
    for (const member of more) {
      expect((await call('POST', '/orders', { ...cart, ...member })).status).toBe(400)
      expect((await call('PATCH', `/orders/${order.id}/status`, { status: 'SHIPPED', more: member })).status).toBe(400)
    }
    const polluted = '{"items":[{"sku":"A","quantity":1,"unitPriceMinor":1,"__proto__":{"x":1}}],"currency":"EUR"}'
    expect((await call('POST', '/orders', polluted)).status).toBe(400)
    expect((await call('GET', '/orders')).body).toEqual([order])
  })

  test('text that is SQL, Redis or a header elsewhere is text', async () => {
    const call = await someone()
    const skus = ["'; DROP TABLE orders; --", 'a" OR "1"="1', '\\', '%', '_', '${7*7}', '{{7*7}}', '💥', 'a\tb']
    for (const sku of skus) {
      const answer = await call('POST', '/orders', { ...cart, items: [{ ...cart.items[0], sku }] })
      expect([sku, answer.status]).toEqual([sku, 201])
      expect(answer.body.items[0].sku).toBe(sku)
      expect((await call('GET', `/orders/${answer.body.id}`)).body).toEqual(answer.body)
    }
    for (const id of ["' OR 1=1 --", '..%2F..%2Fetc', '*', 'page%00', '%E0%A4%A'])
      expect((await call('GET', `/orders/${id.startsWith('%') ? id : encodeURIComponent(id)}`)).status).toBe(400)
    const given = { 'x-request-id': 'a b<script>' }
    expect((await call('GET', '/orders', undefined, given)).headers.get('x-request-id')).toMatch(/^[\w.-]+$/)
  })

  test('S4-065 a request that is no HTTP, or has no readable path, has the same error body', async () => {
    const { hostname, port } = new URL(world.url)
    const raw = async (text: string) => {
      const socket = connect(Number(port), hostname).end(text)
      const [head = '', body = ''] = (await readText(socket)).split('\r\n\r\n')
      const requestId = /x-request-id: (\S+)/i.exec(head)?.[1]
      return { status: Number(head.split(' ')[1]), requestId, body: JSON.parse(body) }
    }
    for (const [text, status, code] of [
      ['GET /orders/%zz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n', 400, 'BAD_REQUEST'],
      ['nonsense\r\n\r\n', 400, 'BAD_REQUEST'],
      [`GET /orders HTTP/1.1\r\nhost: x\r\na: ${'x'.repeat(20_000)}\r\n\r\n`, 431, 'HEADERS_TOO_LARGE'],
    ] as const) {
      const answer = await raw(text)
      expect(answer).toMatchObject({ status, body: { code, timestamp: expect.stringMatching(/Z$/) } })
      expect(answer.body.requestId).toBe(answer.requestId)
      expect(Object.keys(answer.body)).toEqual(['code', 'message', 'requestId', 'timestamp'])
    }
  })

  test("a key is its caller's alone: the same key of another caller creates another order, and shows none", async () => {
    const [alice, bob] = [await someone(), await someone()]
    const key = { 'x-idempotency-key': randomUUID() }
    const first = await alice('POST', '/orders', cart, key)
    const second = await bob('POST', '/orders', { ...cart, currency: 'USD' }, key)
    expect([first.status, second.status]).toEqual([201, 201])
    expect(second.body.id).not.toBe(first.body.id)
    expect((await bob('GET', `/orders/${first.body.id}`)).status).toBe(404)
  })

  test('S4-064 requests are limited by user and path, and 429 says when to come again', async () => {
    const [alice, bob] = [await someone(), await someone()]
    const { body: order } = await alice('POST', '/orders', cart)
    const answers = await Promise.all(Array.from({ length: 170 }, () => alice('GET', `/orders/${order.id}`)))
    const limited = answers.filter(({ status }) => status === 429)
    expect(limited.length).toBeGreaterThan(0)
    expect(answers.filter(({ status }) => status === 200).length).toBeGreaterThanOrEqual(150)
    expect(limited[0]).toMatchObject({ body: { code: 'RATE_LIMITED' } })
    expect(Number(limited[0]?.headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
    expect((await alice('HEAD', `/orders/${order.id}`)).status).toBe(429)
    expect((await alice('GET', '/orders')).status).toBe(200)
    expect((await bob('GET', '/orders')).status).toBe(200)
  })

  test('answers about orders are never cached by others', async () => {
    const call = await someone()
    expect((await call('GET', '/orders')).headers.get('cache-control')).toBe('no-store')
  })
})

describe('the admin API of the service', () => {
  let world: OrderWorld
  beforeAll(async () => {
    world = await startOrders(await openEmbedded())
  })
  afterAll(() => world[Symbol.asyncDispose]())

  const bindings = '/ops/eventbus/bindings'

  test('shows and changes as much as the role of the token allows', async () => {
    const pause = async (role: string): Promise<number> =>
      (await (await world.as(`op-${role}`, role))('POST', `${bindings}/orderCreated/pause`, { reason: 'a drill' }))
        .status
    const look = async (role: string): Promise<number> => (await (await world.as('op', role))('GET', bindings)).status
    expect((await world.withToken(undefined)('GET', bindings)).status).toBe(401)
    expect([await look('USER'), await look('VIEWER'), await look('OPERATOR'), await look('ADMIN')]).toEqual([
      403, 200, 200, 200,
    ])
    expect([await pause('USER'), await pause('VIEWER')]).toEqual([403, 403])
    expect(await pause('OPERATOR')).toBe(200)
    expect(world.app.connector.getState('orderCreated')).toBe('PAUSED')
    const admin = await world.as('op', 'ADMIN')
    expect((await admin('POST', `${bindings}/orderCreated/resume`, { reason: 'over' })).status).toBe(200)
    const { body } = await admin('GET', '/ops/eventbus/audit')
    expect(JSON.stringify(body)).toContain('op-OPERATOR')
    expect((await admin('GET', '/ops/eventbus/outboxes')).body).toMatchObject({ items: [{ outbox: 'orders' }] })
  })

  test('opens in a browser: a token is exchanged for a cookie that only operators use', async () => {
    const logIn = (token: string): Promise<Response> =>
      fetch(`${world.url}/ops-login`, { method: 'POST', body: new URLSearchParams({ token }), redirect: 'manual' })
    const token = await demoToken({ subject: 'anna', role: 'VIEWER', ...world.settings }, world.keyFile)
    expect(await (await fetch(`${world.url}/ops-login`)).text()).toContain('<form')
    expect((await logIn('nonsense')).status).toBe(401)
    expect((await fetch(`${world.url}/ops-login`, { method: 'POST' })).status).toBe(401)
    expect((await world.withToken(undefined)('POST', '/ops-login', { token })).status).toBe(415)
    expect((await logIn(`${token}; Path=/`)).status).toBe(401)
    const { status, headers } = await logIn(token)
    expect([status, headers.get('location')]).toEqual([303, '/ops/'])
    expect(headers.get('set-cookie')).toBe(`orders_operator=${token}; Path=/ops; HttpOnly; SameSite=Strict`)
    const cookie = { cookie: `a=b; orders_operator=${token}` }
    const browser = world.withToken(undefined)
    expect((await browser('GET', bindings, undefined, cookie)).status).toBe(200)
    expect((await browser('GET', '/orders', undefined, cookie)).status).toBe(401)
  })
})
