import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createRegistryClient, type RegistryClientOptions, type SchemaDocument } from '@waybill/contract/registry'
import { OptionsError, runtimeWith, systemRuntime, UnavailableError } from '@waybill/core'
import { afterEach, expect, test } from 'vitest'

interface Seen {
  readonly method: string | undefined
  readonly url: string | undefined
  readonly authorization: string | undefined
  readonly body: string
}

type Respond = (request: IncomingMessage, response: ServerResponse, at: number) => void

const servers: { close(): void }[] = []
afterEach(() => {
  for (const server of servers.splice(0)) server.close()
})

/** Starts a server that keeps what it was asked. */
async function serve(respond: Respond): Promise<{ url: string; seen: Seen[] }> {
  const seen: Seen[] = []
  const server = createServer((request, response) => {
    let body = ''
    request.on('data', (chunk: Buffer) => {
      body += chunk.toString()
    })
    request.on('end', () => {
      const { method, url, headers } = request
      seen.push({ method, url, authorization: headers.authorization, body })
      respond(request, response, seen.length)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  servers.push({
    close() {
      server.closeAllConnections()
      server.close()
    },
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen }
}

const json = (response: ServerResponse, status: number, body: object, headers: Record<string, string> = {}): void => {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
}
const string: SchemaDocument = { schemaType: 'AVRO', schema: '"string"', references: [] }
const answerString: Respond = (_request, response) => json(response, 200, { schema: '"string"' })

/** Waits do not pass time; their lengths are kept. */
function hurried(): { sleeps: number[]; runtime: typeof systemRuntime } {
  const sleeps: number[] = []
  const sleep = async (ms: number): Promise<void> => {
    sleeps.push(ms)
  }
  return { sleeps, runtime: runtimeWith({ timers: { ...systemRuntime.timers, sleep } }) }
}

/** Every timer ends in this turn. */
const soon = (_ms: number, run: () => void): Disposable => {
  queueMicrotask(run)
  return { [Symbol.dispose]: () => {} }
}

test.each<[string, RegistryClientOptions['auth'], string | undefined]>([
  ['no credentials', undefined, undefined],
  [
    'a user name and a password',
    { username: 'jo', password: 'p:ä' },
    `Basic ${Buffer.from('jo:p:ä').toString('base64')}`,
  ],
  ['a token', { token: 'abc' }, 'Bearer abc'],
  ['the token of the moment', { token: async () => 'fresh' }, 'Bearer fresh'],
])('sends %s', async (_title, auth, authorization) => {
  const { url, seen } = await serve(answerString)
  expect(await createRegistryClient({ url, auth }).schemaById(7)).toEqual(string)
  expect(seen).toEqual([{ method: 'GET', url: '/schemas/ids/7', authorization, body: '' }])
})

test('encodes a subject, and keeps the path of the base', async () => {
  const { url, seen } = await serve((_request, response) => json(response, 200, { id: 3 }))
  const registry = createRegistryClient({ url: `${url}/apis/ccompat/v7/` })
  expect(await registry.register('a/b?c#d-value', string)).toBe(3)
  expect(seen[0]).toMatchObject({
    method: 'POST',
    url: '/apis/ccompat/v7/subjects/a%2Fb%3Fc%23d-value/versions',
    body: JSON.stringify({ schemaType: 'AVRO', schema: '"string"' }),
  })
})

test.each(['', '.', '..', '\ud800'])('refuses %j as the name of a subject', async (subject) => {
  await expect(createRegistryClient({ url: 'http://127.0.0.1:9' }).lookUp(subject, string)).rejects.toMatchObject({
    code: 'WAYBILL_ARGUMENT_INVALID',
  })
})

test('repeats a request that has no answer, each time after a longer wait', async () => {
  const { url, seen } = await serve((request, response, at) => {
    if (at === 1) request.socket.destroy()
    else if (at === 2) json(response, 503, { message: 'starting' })
    else answerString(request, response, at)
  })
  const { sleeps, runtime } = hurried()
  expect(await createRegistryClient({ url, runtime }).schemaById(1)).toEqual(string)
  expect(seen).toHaveLength(3)
  expect(sleeps).toEqual([expect.any(Number), expect.any(Number)])
  for (const [at, ms] of sleeps.entries()) expect(ms).toBeLessThanOrEqual(150 * 3 ** at)
})

test('gives up after the last attempt with an error of the road', async () => {
  const { url, seen } = await serve((_request, response) => json(response, 500, { message: 'broken' }))
  const { runtime } = hurried()
  const failure = createRegistryClient({ url, runtime, maxAttempts: 2 }).schemaById(1)
  await expect(failure).rejects.toThrow(UnavailableError)
  await expect(failure).rejects.toThrow(/GET \/schemas\/ids\/1 was refused with status 500: broken/)
  expect(seen).toHaveLength(2)
})

test.each([
  [404, 'a page of a proxy', 'WAYBILL_REGISTRY_UNAVAILABLE'],
  [404, { error_code: 404, message: 'HTTP 404 Not Found' }, 'WAYBILL_REGISTRY_UNAVAILABLE'],
  [404, { error_code: 40403, message: 'Schema 1 not found' }, 'WAYBILL_SCHEMA_NOT_FOUND'],
  [401, { error_code: 401, message: 'Unauthorized' }, 'WAYBILL_REGISTRY_UNAVAILABLE'],
  [403, {}, 'WAYBILL_REGISTRY_UNAVAILABLE'],
  [409, { error_code: 409, message: 'incompatible' }, 'WAYBILL_SCHEMA_REFUSED'],
  [422, { error_code: 42201, message: 'invalid' }, 'WAYBILL_SCHEMA_REFUSED'],
  [200, 'a page of a proxy', 'WAYBILL_REGISTRY_UNAVAILABLE'],
  [200, {}, 'WAYBILL_REGISTRY_UNAVAILABLE'],
  [200, { schema: '"string"', schemaType: 'XML' }, 'WAYBILL_REGISTRY_UNAVAILABLE'],
  [200, { schema: '"string"', references: [{ name: 'x' }] }, 'WAYBILL_REGISTRY_UNAVAILABLE'],
])('takes status %i with %j once, as %s', async (status, body, code) => {
  const { url, seen } = await serve((_request, response) => {
    if (typeof body === 'string') response.writeHead(status).end(body)
    else json(response, status, body)
  })
  await expect(createRegistryClient({ url }).schemaById(1)).rejects.toMatchObject({ code })
  expect(seen).toHaveLength(1)
})

test('looks a schema up a second time as another tool may have written it', async () => {
  const { url, seen } = await serve(({ url: path }, response) => {
    if (path?.endsWith('normalize=true')) json(response, 200, { subject: 's', version: 1, id: 9, schema: '"string"' })
    else json(response, 404, { error_code: 40403, message: 'Schema not found' })
  })
  expect(await createRegistryClient({ url }).lookUp('s', string)).toBe(9)
  expect(seen.map(({ url: path }) => path)).toEqual(['/subjects/s', '/subjects/s?normalize=true'])
})

test.each([408, 429])('repeats a request that was refused with status %i', async (status) => {
  const { url, seen } = await serve((request, response, at) => {
    if (at === 1) json(response, status, {})
    else answerString(request, response, at)
  })
  expect(await createRegistryClient({ url, runtime: hurried().runtime }).schemaById(1)).toEqual(string)
  expect(seen).toHaveLength(2)
})

test('lets a schema be the first of its subject, and misses a version that was named', async () => {
  const { url } = await serve((_request, response) => json(response, 404, { error_code: 40402, message: 'not found' }))
  const registry = createRegistryClient({ url })
  expect(await registry.checkCompatibility('s', string)).toEqual({ isCompatible: true, messages: [] })
  await expect(registry.checkCompatibility('s', string, 3)).rejects.toMatchObject({ code: 'WAYBILL_SCHEMA_NOT_FOUND' })
})

test('ends a request that has no response in time', async () => {
  const arrived = Promise.withResolvers<void>()
  const { url } = await serve(() => arrived.resolve())
  const timers: (() => void)[] = []
  const schedule = (_ms: number, run: () => void): Disposable => {
    timers.push(run)
    return { [Symbol.dispose]: () => {} }
  }
  const runtime = runtimeWith({ timers: { ...systemRuntime.timers, schedule } })
  const failure = createRegistryClient({ url, runtime, maxAttempts: 1, timeoutMs: 2_000 }).schemaById(1)
  await arrived.promise
  for (const expire of timers) expire()
  await expect(failure).rejects.toThrow(/no response within 2000 ms/)
})

test('ends a request whose token does not come in time', async () => {
  const runtime = runtimeWith({ timers: { ...systemRuntime.timers, schedule: soon } })
  const auth = { token: () => new Promise<string>(() => {}) }
  const registry = createRegistryClient({ url: 'http://127.0.0.1:9', auth, runtime, maxAttempts: 1 })
  await expect(registry.schemaById(1)).rejects.toThrow(/no response within 3000 ms/)
})

test('reads no more of a response than its bound', async () => {
  let written = 0
  const { url } = await serve((_request, response) => {
    const chunk = Buffer.alloc(65_536, 32)
    const more = (): void => {
      while (!response.destroyed && response.write(chunk)) written += chunk.length
      written += chunk.length
    }
    response.on('drain', more)
    more()
  })
  const registry = createRegistryClient({ url, maxResponseBytes: 100_000, maxAttempts: 1 })
  await expect(registry.schemaById(1)).rejects.toThrow(/a response of more than 100000 bytes/)
  expect(written).toBeLessThan(32 * 1024 * 1024)
})

test('follows a redirect within its host', async () => {
  const { url, seen } = await serve((request, response, at) => {
    if (at === 1) response.writeHead(307, { location: '/moved/schemas/ids/1' }).end()
    else answerString(request, response, at)
  })
  expect(await createRegistryClient({ url, auth: { token: 'abc' } }).schemaById(1)).toEqual(string)
  expect(seen[1]).toMatchObject({ url: '/moved/schemas/ids/1', authorization: 'Bearer abc' })
})

test('does not follow a redirect to another host, which would see the credentials', async () => {
  const other = await serve(answerString)
  const { url } = await serve((_request, response) => {
    response.writeHead(302, { location: `${other.url}/schemas/ids/1` }).end()
  })
  const registry = createRegistryClient({ url, auth: { token: 'abc' }, maxAttempts: 1 })
  await expect(registry.schemaById(1)).rejects.toThrow(/is redirected to http:\/\/127.0.0.1:\d+, which is not followed/)
  expect(other.seen).toEqual([])
})

test('does not follow redirects without end, nor one that drops the body', async () => {
  const { url, seen } = await serve(({ method }, response) => {
    response.writeHead(method === 'GET' ? 307 : 301, { location: '/again' }).end()
  })
  const registry = createRegistryClient({ url, maxAttempts: 1 })
  await expect(registry.schemaById(1)).rejects.toThrow(/more than 3 times/)
  expect(seen).toHaveLength(4)
  await expect(registry.register('s', string)).rejects.toThrow(/with status 301/)
})

test.each<[object, RegExp]>([
  [{ url: 'ftp://x' }, /url must be an http or https URL/],
  [{ url: 'http://jo:hunter2@x' }, /url must be an http or https URL without credentials/],
  [{ url: 'http://x', auth: { username: 'a:b', password: 'hunter2' } }, /auth must be/],
  [{ url: 'http://x', auth: { token: 'hunter2', username: 'jo' } }, /auth must be/],
  [{ url: 'http://x', auth: { pasword: 'hunter2' } }, /auth must be/],
  [{ url: 'http://x', timeout: 1 }, /did you mean timeoutMs/],
])('refuses %j and shows no password', (options, message) => {
  const create = (): unknown => createRegistryClient(options as RegistryClientOptions)
  expect(create).toThrow(OptionsError)
  expect(create).toThrow(message)
  expect(create).not.toThrow(/hunter2/)
})
