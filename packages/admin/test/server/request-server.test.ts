import { Buffer } from 'node:buffer'
import { describe, expect, test } from 'vitest'
import { IdempotentAnswers } from '../../src/limit/idempotent-answers.ts'
import { adminWorld } from '../support/admin-world.ts'

const pause = '/eventbus/bindings/mail/pause'

describe('a request', () => {
  test('to an unknown path is a problem', () =>
    adminWorld({}, async ({ ask }) => {
      for (const url of [
        '/nothing',
        '/eventbus',
        '/eventbus/nothing',
        '/eventbus/bindings/',
        '/eventbus/bindings/mail/pause/x',
        '//eventbus/bindings',
      ])
        expect(await ask('GET', url)).toMatchObject({
          status: 404,
          headers: { 'content-type': 'application/problem+json' },
        })
    }))

  test('with a method that the path does not have names the others', () =>
    adminWorld({}, async ({ ask }) => {
      expect(await ask('PUT', '/eventbus/bindings')).toMatchObject({
        status: 405,
        headers: { allow: 'GET, HEAD, POST' },
      })
    }))

  test('for HEAD has the headers of GET and no body', () =>
    adminWorld({}, async ({ ask }) => {
      expect(await ask('HEAD', '/eventbus/bindings')).toMatchObject({ status: 200, text: '' })
    }))

  test.each([
    ['a path that cannot be decoded', '/eventbus/bindings/%E0%A4%A', 400],
    ['traversal', '/eventbus/bindings/%2e%2e', 400],
    ['a control character', '/eventbus/bindings/a%00b', 400],
    ['a repeated parameter', '/eventbus/bindings?limit=1&limit=2', 400],
    ['a URL that is too long', `/eventbus/bindings?state=${'x'.repeat(5_000)}`, 414],
  ])('with %s is refused', (_what, url, status) =>
    adminWorld({}, async ({ ask }) => {
      expect(await ask('GET', url)).toMatchObject({ status, body: { code: 'WAYBILL_ADMIN_BAD_REQUEST' } })
    }),
  )

  test('whose answer is not wanted as JSON is refused', () =>
    adminWorld({}, async ({ ask }) => {
      expect(await ask('GET', '/eventbus/bindings', { headers: { accept: 'text/html' } })).toMatchObject({
        status: 406,
      })
    }))

  test('has security headers and a request id in every answer', () =>
    adminWorld({}, async ({ ask }) => {
      for (const url of ['/eventbus/bindings', '/nothing'])
        expect((await ask('GET', url)).headers).toMatchObject({
          'cache-control': 'no-store',
          'x-content-type-options': 'nosniff',
          'waybill-api': '1',
          'waybill-request-id': expect.stringMatching(/^[0-9A-Z]{26}$/),
        })
    }))
})

describe('an operator', () => {
  const known = { admin: { authorize: undefined } } as never

  test('may only read, unless the host says more', () =>
    adminWorld(known, async ({ ask, connector }) => {
      await connector.start()
      expect(await ask('GET', '/eventbus/bindings')).toMatchObject({ status: 200 })
      expect(await ask('GET', '/eventbus/audit')).toMatchObject({ status: 403 })
      expect(await ask('POST', pause)).toMatchObject({ status: 403, body: { permission: 'bindings:operate' } })
      expect((await ask('GET', '/eventbus/me')).body.permissions).toMatchObject({
        'dlt:read': true,
        'payloads:read': false,
      })
    }))

  test.each([[undefined], [null], [{}], [{ by: '' }], [{ by: ' ' }], [{ by: 7 }]])(
    'without a name is unknown: %j',
    (identity) =>
      adminWorld({ admin: { identify: () => identity as never } }, async ({ ask }) => {
        expect(await ask('GET', '/eventbus/me')).toMatchObject({
          status: 401,
          body: { code: 'WAYBILL_ADMIN_UNIDENTIFIED' },
        })
      }),
  )
})

test('headers that are too large are refused', () =>
  adminWorld({}, async ({ ask }) => {
    expect(await ask('GET', '/eventbus/me', { headers: { cookie: 'x'.repeat(17_000) } })).toMatchObject({ status: 431 })
    expect(await ask('GET', '/eventbus/me', { headers: { cookie: 'x'.repeat(15_000) } })).toMatchObject({ status: 200 })
  }))

describe('a body', () => {
  test.each([
    ['broken JSON', '{"reason":', {}, 400],
    ['another media type', '{}', { 'content-type': 'text/plain' }, 415],
    ['compression', '{}', { 'content-encoding': 'gzip' }, 415],
    ['a list', '[]', {}, 400],
    ['null', 'null', {}, 400],
    ['a key that reaches a prototype', '{"__proto__":{"reason":"x"}}', {}, 400],
    ['a key that reaches a constructor', '{"constructor":{"prototype":{}}}', {}, 400],
    ['too many levels', `${'['.repeat(30)}${']'.repeat(30)}`, {}, 400],
    [
      'too many keys',
      JSON.stringify(Object.fromEntries(Array.from({ length: 1_100 }, (_, at) => [`k${at}`, 1]))),
      {},
      400,
    ],
    ['too many bytes', JSON.stringify({ reason: 'x'.repeat(70_000) }), {}, 413],
    ['a control character', '{"reason":"a\\u0000b"}', {}, 400],
  ])('with %s is refused', (_what, body, headers, status) =>
    adminWorld({}, async ({ ask, connector, audit }) => {
      await connector.start()
      expect(await ask('POST', pause, { body, headers })).toMatchObject({
        status,
        body: { code: expect.stringMatching(/^WAYBILL_/) },
      })
      expect(connector.getState('mail')).toBe('RUNNING')
      expect(audit).toEqual([])
    }),
  )
})

describe('a change from a browser', () => {
  const cookies = { authorization: '', cookie: 'session=ana' }
  const options = {
    admin: {
      identify: ({ headers }: { headers: Readonly<Record<string, string | undefined>> }) =>
        headers['cookie'] === undefined ? null : { by: 'ana' },
    },
  }

  test('needs the header that a page of another origin cannot send', () =>
    adminWorld(options, async ({ ask, connector }) => {
      await connector.start()
      expect(await ask('POST', pause, { headers: cookies })).toMatchObject({
        status: 403,
        body: { reason: 'CSRF_HEADER_MISSING' },
      })
      const forged = { ...cookies, 'waybill-csrf': '1', 'sec-fetch-site': 'cross-site' }
      expect(await ask('POST', pause, { headers: forged })).toMatchObject({
        status: 403,
        body: { reason: 'CROSS_ORIGIN' },
      })
      const foreign = { ...cookies, 'waybill-csrf': '1', origin: 'https://evil.example', host: 'ops.example' }
      expect(await ask('POST', pause, { headers: foreign })).toMatchObject({
        status: 403,
        body: { reason: 'CROSS_ORIGIN' },
      })
      expect(connector.getState('mail')).toBe('RUNNING')
      const own = {
        ...cookies,
        'waybill-csrf': '1',
        'sec-fetch-site': 'same-origin',
        origin: 'https://ops.example',
        host: 'ops.example',
      }
      expect(await ask('POST', pause, { headers: own })).toMatchObject({ status: 200 })
    }))
})

describe('without identify', () => {
  const options = { admin: { identify: undefined, authorize: undefined } } as never

  test('only requests from this machine are answered, with all permissions', () =>
    adminWorld(options, async ({ ask, admin }) => {
      expect(await ask('GET', '/eventbus/bindings')).toMatchObject({
        status: 401,
        body: { code: 'WAYBILL_ADMIN_UNIDENTIFIED' },
      })
      const local = {
        method: 'GET',
        url: '/eventbus/me',
        headers: { host: 'localhost:4400' },
        remoteAddress: '127.0.0.1',
      }
      expect(await admin.handle(local)).toMatchObject({
        status: 200,
        body: expect.stringContaining('"dlt:purge":true'),
      })
      for (const name of ['x-forwarded-for', 'x-forwarded-host', 'x-real-ip', 'forwarded', 'via'])
        expect([name, (await admin.handle({ ...local, headers: { [name]: '10.0.0.1' } })).status]).toEqual([name, 401])
      expect(await admin.handle({ ...local, headers: { host: 'rebound.example' } })).toMatchObject({ status: 401 })
    }))
})

describe('an idempotency key', () => {
  const keyed = { headers: { 'idempotency-key': 'incident-1' } }

  test('repeats the first answer and not the change', () =>
    adminWorld({}, async ({ ask, connector, audit }) => {
      await connector.start()
      const first = await ask('POST', pause, keyed)
      const entries = audit.length
      const second = await ask('POST', pause, keyed)
      expect(second).toMatchObject({ status: 200, text: first.text, headers: { 'idempotency-replayed': 'true' } })
      expect(audit.length).toBe(entries)
    }))

  test('belongs to one request of one operator', () =>
    adminWorld({ access: { ben: 'ALL' } }, async ({ ask, connector }) => {
      await connector.start()
      await ask('POST', pause, keyed)
      expect(await ask('POST', '/eventbus/bindings/mail/resume', keyed)).toMatchObject({
        status: 422,
        body: { code: 'WAYBILL_IDEMPOTENCY_KEY_REUSED' },
      })
      expect(await ask('POST', '/eventbus/bindings/mail/resume', { ...keyed, by: 'ben' })).toMatchObject({
        status: 200,
      })
    }))

  test('repeats a refusal too, and is refused itself when it is not printable', () =>
    adminWorld({}, async ({ ask }) => {
      expect(await ask('POST', pause, keyed)).toMatchObject({ status: 409 })
      expect(await ask('POST', pause, keyed)).toMatchObject({
        status: 409,
        headers: { 'idempotency-replayed': 'true' },
      })
      expect(await ask('POST', pause, { headers: { 'idempotency-key': 'a b' } })).toMatchObject({ status: 400 })
    }))
})

describe('the answer to an idempotency key', () => {
  const keyed = { headers: { 'idempotency-key': 'incident-2' } }

  test('of a dry run is not kept: the change itself may have the key', () =>
    adminWorld({}, async ({ ask, connector }) => {
      await connector.start()
      expect(await ask('POST', `${pause}?dryRun=true`, keyed)).toMatchObject({ body: { dryRun: true } })
      expect(await ask('POST', pause, keyed)).toMatchObject({ status: 200, body: { outcome: 'APPLIED' } })
      expect(connector.getState('mail')).toBe('PAUSED')
    }))

  test('is forgotten after a day', () =>
    adminWorld({}, async ({ ask, connector, runtime }) => {
      expect(await ask('POST', pause, keyed)).toMatchObject({ status: 409 })
      await runtime.timers.sleep(23 * 3_600_000)
      expect((await ask('POST', pause, keyed)).headers).toHaveProperty('idempotency-replayed')
      await runtime.timers.sleep(2 * 3_600_000)
      await connector.start()
      expect(await ask('POST', pause, keyed)).toMatchObject({ status: 200 })
    }))

  test.each([429, 500, 503, 504])('is not kept if it is %d, which says to try again', async (status) => {
    const answers = new IdempotentAnswers({ monotonic: () => 0 })
    const request = { by: 'ana', key: 'k', method: 'POST', url: '/x', body: undefined }
    let runs = 0
    const run = async () => ({ status: ++runs === 1 ? status : 200, headers: {}, body: '' })
    expect((await answers.answer(request, run)).status).toBe(status)
    expect((await answers.answer(request, run)).status).toBe(200)
    expect((await answers.answer(request, run)).status).toBe(200)
    expect(runs).toBe(2)
  })

  test('is awaited: a second request meanwhile is refused, and one after a failure runs', async () => {
    const answers = new IdempotentAnswers({ monotonic: () => 0 })
    const request = { by: 'ana', key: 'k', method: 'POST', url: '/x', body: undefined }
    const slow = Promise.withResolvers<{ status: number; headers: object; body: string }>()
    const first = answers.answer(request, () => slow.promise as never)
    await expect(answers.answer(request, async () => ({ status: 200, headers: {}, body: '' }))).rejects.toMatchObject({
      status: 409,
    })
    slow.reject(new Error('gone'))
    await expect(first).rejects.toThrow('gone')
    expect((await answers.answer(request, async () => ({ status: 200, headers: {}, body: '' }))).status).toBe(200)
  })
})

test('a body that announces no size is read up to its limit', () =>
  adminWorld({}, async ({ admin }) => {
    let sent = 0
    const endless = async function* (): AsyncGenerator<Uint8Array> {
      for (;;) {
        sent += 1_024
        yield Buffer.alloc(1_024, 'x')
      }
    }
    const headers = { authorization: 'Bearer ana', 'content-type': 'application/json', 'transfer-encoding': 'chunked' }
    const answer = await admin.handle({ method: 'POST', url: pause, remoteAddress: '10.0.0.9', headers }, endless())
    expect([answer.status, sent]).toEqual([413, 65 * 1_024])
  }))

describe('the rate', () => {
  test('of an operator is limited, and recovers', () =>
    adminWorld({ access: { ben: 'ALL' } }, async ({ ask, runtime }) => {
      const statuses = new Set<number>()
      for (let at = 0; at < 30; at++) statuses.add((await ask('POST', `${pause}?dryRun=true`)).status)
      expect(statuses).toEqual(new Set([409, 429]))
      expect(await ask('POST', `${pause}?dryRun=true`)).toMatchObject({ headers: { 'retry-after': '1' } })
      expect(await ask('POST', `${pause}?dryRun=true`, { by: 'ben' })).toMatchObject({ status: 409 })
      await runtime.timers.sleep(1_000)
      expect(await ask('POST', `${pause}?dryRun=true`)).toMatchObject({ status: 409 })
    }))
})

describe('a failure of the host', () => {
  test('is an internal error that shows nothing of itself and is logged', () =>
    adminWorld(
      {
        admin: {
          authorize: () => {
            throw new Error('secret of the host')
          },
        },
      },
      async ({ ask, logger }) => {
        const { status, text, body } = await ask('GET', '/eventbus/bindings')
        expect(status).toBe(500)
        expect(text).not.toContain('secret')
        expect(logger.lines.map(({ fields }) => fields)).toContainEqual(
          expect.objectContaining({ requestId: body.requestId }),
        )
      },
    ))
})
