import { createMemoryOperationStore } from '@waybill/core/internal'
import { describe, expect, test } from 'vitest'
import type { AdminRequest } from '../../src/http/admin-request.ts'
import { writeCursor } from '../../src/json/cursor.ts'
import { type Admin, createAdmin } from '../../src/mount/create-admin.ts'
import { type AdminWorld, adminWorld } from '../support/admin-world.ts'
import { buryLetters } from '../triage/bury-letters.ts'

const identify = (): { readonly by: string } => ({ by: 'ana' })

const requestOf = (method: string, url: string, headers: Readonly<Record<string, string>> = {}): AdminRequest => ({
  method,
  url,
  headers: { authorization: 'Bearer ana', ...headers },
  remoteAddress: '10.0.0.9',
})

/** Opens a stream, and answers its status; the body is left unread. */
async function open({ admin }: AdminWorld, method: string, url: string, leave?: AbortSignal): Promise<number> {
  return (await admin.handle(requestOf(method, url), undefined, leave)).status
}

describe('streams', () => {
  test('are not opened by a request for their headers', () =>
    adminWorld({}, async (world) => {
      for (const url of ['/eventbus/stream', '/eventbus/dead-letters/scan']) {
        for (let at = 0; at < 6; at++) expect(await open(world, 'HEAD', url)).toBe(200)
        expect([url, await open(world, 'GET', url)]).toEqual([url, 200])
      }
    }))

  test('of one operator stay within their bound when they are opened at the same time', () =>
    adminWorld({}, async (world) => {
      const statuses = await Promise.all(Array.from({ length: 12 }, () => open(world, 'GET', '/eventbus/stream')))
      expect(statuses.filter((status) => status === 200)).toHaveLength(5)
      expect(statuses.filter((status) => status === 429)).toHaveLength(7)
    }))

  test('keep no place of clients that leave before they read', () =>
    adminWorld({}, async (world) => {
      for (const url of ['/eventbus/stream', '/eventbus/dead-letters/scan'])
        for (let at = 0; at < 8; at++) {
          const leave = new AbortController()
          expect([url, at, await open(world, 'GET', url, leave.signal)]).toEqual([url, at, 200])
          leave.abort()
        }
    }))

  test('and reads are refused to pages of another origin, which a link may still come from', () =>
    adminWorld({}, async ({ admin }) => {
      const from = async (url: string, headers: Readonly<Record<string, string>>): Promise<number> =>
        (await admin.handle(requestOf('GET', url, headers))).status
      for (const site of ['cross-site', 'same-site'])
        for (const url of ['/eventbus/stream', '/eventbus/bindings'])
          expect(await from(url, { 'sec-fetch-site': site, 'sec-fetch-mode': 'cors', 'sec-fetch-dest': 'empty' })).toBe(
            403,
          )
      const link = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' }
      expect(await from('/eventbus/bindings', { ...link, 'sec-fetch-dest': 'document' })).toBe(200)
      expect(await from('/eventbus/bindings', { ...link, 'sec-fetch-dest': 'iframe' })).toBe(403)
      expect(await from('/eventbus/bindings', { 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'cors' })).toBe(200)
      expect(await from('/eventbus/bindings', { 'sec-fetch-site': 'none', 'sec-fetch-mode': 'navigate' })).toBe(200)
      expect(await from('/livez', { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' })).toBe(200)
    }))
})

describe('a cursor that was made by hand', () => {
  const letters = {
    binding: undefined,
    cluster: undefined,
    topic: undefined,
    group: undefined,
    event: undefined,
    exception: undefined,
    reason: undefined,
    state: undefined,
    key: undefined,
    since: undefined,
    until: undefined,
    minAttempts: undefined,
    replayCount: undefined,
    traceId: undefined,
    q: undefined,
  }
  const positions = [
    '',
    '1',
    'x y',
    '1 ',
    '1 {',
    '1 null',
    '1 []',
    '1 ["a"]',
    '1 [1,"default","t",0,"x"]',
    '1 [1,"default","t",0,"9999999999999999999"]',
    '1 ["1","default","t",0,"1"]',
    '1 ["x","g"]',
    '1 ["99999999999999999999","g"]',
    '1 ["1","\\u0000"]',
    '99999999999999999 ["1","g"]',
  ]

  test.each([
    ['/eventbus/dead-letters', letters],
    ['/eventbus/dead-letters/groups', { ...letters, sort: 'count' }],
  ])('is refused by %s', (url, filter) =>
    adminWorld({}, async (world) => {
      await buryLetters(world, ['a'])
      for (const position of positions) {
        const { status, body } = await world.ask('GET', `${url}?cursor=${writeCursor(position, filter)}`)
        expect([position, status, body.reason]).toEqual([position, 400, 'CURSOR_INVALID'])
        await world.runtime.timers.sleep(100)
      }
    }),
  )

  test('is refused by the items of an operation', () =>
    adminWorld({}, async (world) => {
      await buryLetters(world, ['a'])
      const body = { type: 'REPLAY', binding: 'shipping', filter: {} }
      const { id } = (await world.ask('POST', '/eventbus/operations?dryRun=true', { body })).body
      for (const position of ['x', '-1', '1e9', '99999999999', 'NaN', '\u0000']) {
        const cursor = writeCursor(position, { id, outcome: undefined })
        expect(await world.ask('GET', `/eventbus/operations/${id}/items?cursor=${cursor}`)).toMatchObject({
          status: 400,
          body: { reason: 'CURSOR_INVALID' },
        })
      }
    }))
})

test('a cursor with a control character is refused by every list', () =>
  adminWorld({}, async ({ ask }) => {
    for (const url of ['/eventbus/operations', '/eventbus/audit', '/eventbus/bindings'])
      expect(await ask('GET', `${url}?cursor=${writeCursor('a\u0000b', {})}`)).toMatchObject({
        status: 400,
        body: { reason: 'CURSOR_INVALID' },
      })
  }))

test('a body with too many keys is refused before it is read', () =>
  adminWorld({}, async ({ ask }) => {
    const keys = Object.fromEntries(Array.from({ length: 1_100 }, (_, at) => [`k${at}`, 1]))
    expect(await ask('POST', '/eventbus/bindings', { body: keys })).toMatchObject({
      status: 400,
      body: { code: 'WAYBILL_ADMIN_BAD_REQUEST', detail: expect.stringContaining('1000 keys') },
    })
  }))

test('a permission for one binding is none for another that the operator may see', () =>
  adminWorld(
    { access: { ben: { 'bindings:read': true, 'bindings:operate': ['mail'], 'bindings:position': ['mail'] } } },
    async ({ ask, connector }) => {
      await connector.start()
      for (const [path, body] of [
        ['pause', {}],
        ['positions/seek', { to: 'EARLIEST' }],
      ] as const)
        expect(await ask('POST', `/eventbus/bindings/shipping/${path}`, { by: 'ben', body })).toMatchObject({
          status: 403,
        })
      expect(connector.getState('shipping')).toBe('RUNNING')
      expect(await ask('POST', '/eventbus/bindings/mail/pause', { by: 'ben' })).toMatchObject({ status: 200 })
    },
  ))

describe('a mask', () => {
  const options = {
    admin: { payloads: { mask: ['$.card'] } },
    access: { raw: 'ALL', vic: { 'dlt:read': true, 'payloads:read': true } },
  } as const

  test('hides values from a search through a scan', () =>
    adminWorld(options, async (world) => {
      await buryLetters(world, ['{"card":"4111","name":"eve"}'])
      const matched = async (q: string, by: string): Promise<string> => {
        const { text } = await world.ask('GET', `/eventbus/dead-letters/scan?q=${q}&exception=NonRetryableError`, {
          by,
        })
        return /"matched":"(\d+)","groups"/.exec(text)?.[1] ?? text
      }
      // The key of these records is their value, which no mask hides from the index; the message has it, too.
      expect(await matched('no-such', 'vic')).toBe('0')
      expect(await matched('eve', 'vic')).toBe('1')
      expect(await matched('eve', 'raw')).toBe('1')
    }))
})

describe('a change that an operator may not make', () => {
  test('is in the audit log, with what they lack', () =>
    adminWorld({ access: { vic: 'READ_ONLY' } }, async ({ ask, connector, audit }) => {
      await connector.start()
      const reason = { 'waybill-reason': 'INC-1' }
      expect(await ask('POST', '/eventbus/bindings/mail/pause', { by: 'vic', headers: reason })).toMatchObject({
        status: 403,
      })
      const body = { type: 'REPLAY', binding: 'shipping', filter: {}, reason: 'INC-2' }
      expect(await ask('POST', '/eventbus/operations', { by: 'vic', body })).toMatchObject({ status: 403 })
      expect(await ask('POST', '/eventbus/operations?dryRun=true', { by: 'vic', body })).toMatchObject({ status: 403 })
      expect(await ask('GET', '/eventbus/audit', { by: 'vic' })).toMatchObject({ status: 403 })
      expect(audit).toMatchObject([
        {
          by: 'vic',
          operation: 'PAUSE',
          target: 'mail',
          outcome: 'REFUSED',
          request: { method: 'POST', path: '/eventbus/bindings/mail/pause', permission: 'bindings:operate' },
          via: 'REST',
          address: '10.0.0.9',
        },
        { by: 'vic', reason: 'INC-2', operation: 'CREATE_OPERATION', target: 'shipping', outcome: 'REFUSED' },
      ])
    }))

  test('has one entry if the connector refuses it', () =>
    adminWorld(
      { connector: { administration: { permits: () => false, auditLog: { write: () => {} } } } },
      async ({ ask, connector, audit }) => {
        await connector.start()
        expect(await ask('POST', '/eventbus/bindings/mail/pause')).toMatchObject({ status: 403 })
        expect(audit).toEqual([])
      },
    ))
})

describe('an idempotency key', () => {
  test('of another request is refused at another instance, too', () =>
    adminWorld({}, async (world) => {
      await buryLetters(world, ['a', 'b'])
      const { connector, client, runtime, metrics } = world
      const operations = createMemoryOperationStore({ runtime })
      const parts = { connector, clusters: { default: client }, metrics, operations, runtime }
      // Each instance has its own memory of answers, and all share the store.
      const instance = (): Admin => createAdmin({ ...parts, identify, authorize: () => 'ALL' })
      const send = async (body: object): Promise<{ status: number; body: string }> => {
        await using to = instance()
        const bytes = Buffer.from(JSON.stringify(body))
        const headers = {
          'content-type': 'application/json',
          'content-length': String(bytes.length),
          'idempotency-key': 'incident-7',
        }
        const answer = await to.handle(
          requestOf('POST', '/eventbus/operations', headers),
          (async function* () {
            yield bytes
          })(),
        )
        return { status: answer.status, body: answer.body as string }
      }
      const replay = { type: 'REPLAY', binding: 'shipping', filter: { since: 'PT1H' }, limit: 1 }
      const first = await send(replay)
      expect(first.status).toBe(202)
      await runtime.timers.sleep(2_000)
      const repeated = await send(replay)
      expect([repeated.status, JSON.parse(repeated.body).id]).toEqual([202, JSON.parse(first.body).id])
      for (const another of [
        { ...replay, limit: 2 },
        { ...replay, filter: { exception: 'Other' } },
        { ...replay, binding: 'mail' },
        { type: 'REPLAY_TO_TIER', binding: 'shipping', filter: { since: 'PT1H' }, tier: 1, limit: 1 },
      ])
        expect(await send(another)).toMatchObject({
          status: 422,
          body: expect.stringContaining('WAYBILL_IDEMPOTENCY_KEY_REUSED'),
        })
    }))
})
