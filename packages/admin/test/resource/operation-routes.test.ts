import { describe, expect, test } from 'vitest'
import { type AdminWorld, type Answered, adminWorld } from '../support/admin-world.ts'
import { bury } from '../support/bury.ts'

const everything = { type: 'REPLAY', binding: 'shipping', filter: {}, reason: 'INC-311' }

/** Waits until an operation is in a state. */
async function reached({ ask, eventually }: AdminWorld, id: string, state: string): Promise<Answered> {
  await eventually(async () => expect((await ask('GET', `/eventbus/operations/${id}`)).body.state).toBe(state))
  return ask('GET', `/eventbus/operations/${id}`)
}

describe('an operation', () => {
  test('is created, runs, and is shown with its progress and outcomes', () =>
    adminWorld({}, async (world) => {
      await bury(world, ['a', 'b', 'c'])
      const { ask, audit } = world
      const created = await ask('POST', '/eventbus/operations', { body: everything })
      expect(created).toMatchObject({
        status: 202,
        headers: { location: `/eventbus/operations/${created.body.id}` },
        body: { type: 'REPLAY', state: 'RUNNING', by: 'ana', reason: 'INC-311', binding: 'shipping', durable: false },
      })
      const { body } = await reached(world, created.body.id, 'DONE')
      expect(body).toMatchObject({ progress: { scanned: '3', sent: '3', remaining: '0' }, takeovers: 0, trouble: null })
      await world.eventually(async () => {
        const later = await ask('GET', `/eventbus/operations/${created.body.id}`)
        expect(later.body.outcomes).toMatchObject({ failedAgain: '3', unknown: '0', mayBeRepeated: '0' })
      })
      for (const operation of ['CREATE_OPERATION', 'REPLAY'])
        expect(audit.filter((one) => one.operation === operation)).toMatchObject([
          { outcome: 'ASKED', by: 'ana', reason: 'INC-311', target: 'shipping' },
          { outcome: 'DONE', target: 'shipping' },
        ])
      expect(audit.find((one) => one.operation === 'CREATE_OPERATION')).toMatchObject({
        via: 'REST',
        address: '10.0.0.9',
      })
    }))

  test('is planned by a dry run, which sends nothing, and is started later', () =>
    adminWorld({}, async (world) => {
      await bury(world, ['a', 'b'])
      const { ask, audit } = world
      const planned = await ask('POST', '/eventbus/operations?dryRun=true', { body: everything })
      expect(planned).toMatchObject({
        status: 201,
        body: {
          state: 'PLANNED',
          expiresAt: expect.any(String),
          plan: { matched: '2', eligible: '2', sample: expect.any(Array) },
          progress: { sent: '0' },
        },
      })
      expect(audit.filter(({ operation }) => operation === 'REPLAY')).toEqual([])
      expect(await ask('POST', `/eventbus/operations/${planned.body.id}/start?dryRun=true`)).toMatchObject({
        body: { state: 'PLANNED' },
      })
      expect(await ask('POST', `/eventbus/operations/${planned.body.id}/start`)).toMatchObject({
        status: 200,
        body: { state: 'RUNNING' },
      })
      expect((await reached(world, planned.body.id, 'DONE')).body.progress.sent).toBe('2')
    }))

  test('of single dead letters sends these alone', () =>
    adminWorld({}, async (world) => {
      await bury(world, ['a', 'b', 'c'])
      const { body: stats } = await world.ask('GET', '/eventbus/bindings/shipping/dlt/stats')
      const ids = [stats.oldest.id, `default:${stats.newest.id}`]
      const { body } = await world.ask('POST', '/eventbus/operations', {
        body: { type: 'REPLAY', binding: 'shipping', ids },
      })
      expect((await reached(world, body.id, 'DONE')).body.progress.sent).toBe('2')
    }))

  test('never reads a topic that holds no dead letters of its binding', () =>
    adminWorld({}, async (world) => {
      await bury(world, ['a'])
      for (const id of ['mails:0:0', 'orders:0:0', 'orders.DLT:0:99', 'orders.DLT:77:0'])
        expect(
          await world.ask('POST', '/eventbus/operations', { body: { type: 'REPLAY', binding: 'shipping', ids: [id] } }),
        ).toMatchObject({
          status: 400,
          body: { code: 'WAYBILL_ARGUMENT_INVALID', detail: expect.stringContaining(id) },
        })
    }))

  test('lists the records that it refused', () =>
    adminWorld({}, async (world) => {
      await bury(world, ['a'])
      const { ask } = world
      const { body: first } = await ask('POST', '/eventbus/operations', { body: everything })
      await reached(world, first.id, 'DONE')
      await world.eventually(async () => {
        const stats = await ask('GET', '/eventbus/bindings/shipping/dlt/stats', {
          headers: { 'cache-control': 'no-cache' },
        })
        expect(stats.body.count).toBe(2)
        await world.runtime.timers.sleep(1_000)
      })
      const { body } = await ask('POST', '/eventbus/operations', { body: { ...everything, maxReplays: 1 } })
      await reached(world, body.id, 'DONE')
      const { body: items } = await ask('GET', `/eventbus/operations/${body.id}/items?outcome=REFUSED`)
      const refused = { id: expect.stringMatching(/^orders\.DLT:\d:\d+$/), outcome: 'REFUSED' }
      expect(items).toEqual({
        items: expect.arrayContaining([
          { ...refused, detail: 'MAX_REPLAYS' },
          { ...refused, detail: 'NOT_OPEN' },
        ]),
        next: null,
      })
    }))

  test('is paused, gets another rate, is resumed and cancelled', () =>
    adminWorld({}, async (world) => {
      await bury(world, ['a', 'b', 'c', 'd', 'e', 'f'])
      const { ask } = world
      const { body } = await ask('POST', '/eventbus/operations', {
        body: { ...everything, rate: 0.1, abortWhen: false },
      })
      const url = `/eventbus/operations/${body.id}`
      expect(await ask('POST', `${url}/resume`)).toMatchObject({
        status: 409,
        body: { code: 'WAYBILL_OPERATION_STATE_INVALID', state: 'RUNNING' },
      })
      expect(await ask('POST', `${url}/pause?dryRun=true`)).toMatchObject({ body: { wish: null } })
      await ask('POST', `${url}/pause`, { body: { reason: 'lunch' } })
      expect((await reached(world, body.id, 'PAUSED')).body.pausedBy).toBe('OPERATOR')
      expect(await ask('PATCH', `${url}?dryRun=true`, { body: { rate: 7 } })).toMatchObject({ body: { rate: 7 } })
      expect((await ask('GET', url)).body.rate).toBe(0.1)
      expect(await ask('PATCH', url, { body: { rate: 0.2 } })).toMatchObject({ status: 200, body: { rate: 0.2 } })
      await ask('POST', `${url}/resume`)
      await ask('POST', `${url}/cancel`)
      await reached(world, body.id, 'CANCELLED')
      expect(await ask('PATCH', url, { body: { rate: 1 } })).toMatchObject({ status: 409 })
      expect(
        world.audit.filter(({ operation }) => operation === 'PAUSE_OPERATION').map(({ outcome }) => outcome),
      ).toEqual(['ASKED', 'DONE'])
    }))

  test('is the same for a repeat with the same idempotency key', () =>
    adminWorld({}, async (world) => {
      await bury(world, ['a'])
      const headers = { 'idempotency-key': 'incident-311' }
      const first = await world.ask('POST', '/eventbus/operations', { body: everything, headers })
      const again = await world.ask('POST', '/eventbus/operations', { body: everything, headers })
      expect(again.body.id).toBe(first.body.id)
      expect(again.headers['idempotency-replayed']).toBe('true')
      await reached(world, first.body.id, 'DONE')
      expect((await world.ask('GET', '/eventbus/operations')).body.items).toHaveLength(1)
    }))

  test('selects by time, which is resolved once', () =>
    adminWorld({}, async (world) => {
      await bury(world, ['a'])
      await world.runtime.timers.sleep(60_000)
      const before = await world.ask('POST', '/eventbus/operations?dryRun=true', {
        body: { ...everything, filter: { since: 'PT30S' } },
      })
      expect(before.body).toMatchObject({
        plan: { matched: '0' },
        request: { filter: { sinceMs: expect.any(Number) } },
      })
      const after = await world.ask('POST', '/eventbus/operations?dryRun=true', {
        body: { ...everything, filter: { since: 'PT10M', exception: 'NonRetryableError', q: 'A IS REF' } },
      })
      expect(after.body.plan.matched).toBe('1')
    }))
})

describe('a request for an operation', () => {
  test.each([
    ['no type', { binding: 'shipping', filter: {} }, 'type'],
    ['neither a filter nor ids', { type: 'REPLAY', binding: 'shipping' }, 'filter'],
    ['both a filter and ids', { type: 'REPLAY', binding: 'shipping', filter: {}, ids: ['orders.DLT:0:1'] }, 'filter'],
    ['a key of another type', { type: 'REPLAY', binding: 'shipping', filter: {}, tier: 1 }, 'tier'],
    ['no tier', { type: 'REPLAY_TO_TIER', binding: 'shipping', filter: {} }, 'tier'],
    ['a purge by a filter', { type: 'PURGE', binding: 'shipping', olderThan: 'P7D', filter: {} }, 'filter'],
    ['an age in bare digits', { type: 'PURGE', binding: 'shipping', olderThan: '604800000' }, 'olderThan'],
    ['a wrong id', { type: 'REPLAY', binding: 'shipping', ids: ['orders.DLT:0'] }, 'ids[0]'],
    ['an id of another cluster', { type: 'REPLAY', binding: 'shipping', ids: ['eu:orders.DLT:0:1'] }, 'ids'],
    ['an unknown key', { type: 'REPLAY', bindng: 'shipping', filter: {} }, 'bindng'],
    ['a rate of 0', { type: 'REPLAY', binding: 'shipping', filter: {}, rate: 0 }, 'rate'],
    ['an abort rule of true', { type: 'REPLAY', binding: 'shipping', filter: {}, abortWhen: true }, 'abortWhen'],
  ])('with %s is refused', (_what, body, path) =>
    adminWorld({}, async ({ ask, audit }) => {
      const answer = await ask('POST', '/eventbus/operations', { body })
      expect(answer).toMatchObject({ status: 400, body: { code: 'WAYBILL_OPTIONS_INVALID' } })
      expect(answer.body.violations.map((one: { path: string }) => one.path)).toContain(path)
      expect(audit).toEqual([])
    }),
  )

  test('needs a reason where it deletes or lets keys continue', () =>
    adminWorld({}, async ({ ask, connector }) => {
      await connector.start()
      const purge = { type: 'PURGE', binding: 'shipping', olderThan: 'P7D' }
      expect(await ask('POST', '/eventbus/operations', { body: purge })).toMatchObject({
        status: 428,
        body: { code: 'WAYBILL_REASON_REQUIRED' },
      })
      expect(await ask('POST', '/eventbus/operations?dryRun=true', { body: purge })).toMatchObject({ status: 201 })
    }))

  test('needs the permission of its type for its binding, and payloads:read to select by keys and texts', () =>
    adminWorld(
      { access: { ben: { 'dlt:replay': ['mail'] }, cleo: { 'dlt:replay': true, 'bindings:read': true } } },
      async ({ ask, connector, audit }) => {
        await connector.start()
        expect(await ask('POST', '/eventbus/operations', { by: '', body: everything })).toMatchObject({ status: 401 })
        expect(await ask('POST', '/eventbus/operations', { by: 'dan', body: everything })).toMatchObject({
          status: 403,
          body: { permission: 'dlt:replay' },
        })
        expect(await ask('POST', '/eventbus/operations', { by: 'ben', body: everything })).toMatchObject({
          status: 404,
          body: { code: 'WAYBILL_BINDING_NOT_FOUND', known: [] },
        })
        for (const filter of [{ key: 'a*' }, { q: 'secret' }])
          expect(
            await ask('POST', '/eventbus/operations', { by: 'cleo', body: { ...everything, filter } }),
          ).toMatchObject({ status: 403, body: { permission: 'payloads:read' } })
        expect(audit.map(({ by, outcome }) => `${by} ${outcome}`)).toEqual([
          'dan REFUSED',
          'cleo REFUSED',
          'cleo REFUSED',
        ])
      },
    ))

  test('for a type that this process cannot run is refused', () =>
    adminWorld({}, async ({ ask }) => {
      expect(
        await ask('POST', '/eventbus/operations', { body: { type: 'OUTBOX_REPLAY', outbox: 'orders' } }),
      ).toMatchObject({ status: 404 })
    }))
})

describe('operations of others', () => {
  test('are listed for readers of their binding, and controlled with operations:control', () =>
    adminWorld(
      {
        access: {
          ben: { 'operations:read': ['mail'], 'dlt:replay': true, 'bindings:read': true },
          cleo: { 'operations:read': true, 'operations:control': ['shipping'] },
          dan: { 'bindings:read': true },
        },
      },
      async (world) => {
        await bury(world, ['a', 'b', 'c'])
        const { ask } = world
        const { body } = await ask('POST', '/eventbus/operations', { body: { ...everything, rate: 0.1 } })
        const url = `/eventbus/operations/${body.id}`
        expect((await ask('GET', '/eventbus/operations', { by: 'ben' })).body.items).toEqual([])
        expect(await ask('GET', url, { by: 'ben' })).toMatchObject({ status: 403 })
        expect(await ask('GET', `${url}/items`, { by: 'ben' })).toMatchObject({ status: 403 })
        for (const by of ['ben', 'dan']) {
          expect(await ask('POST', `${url}/cancel`, { by })).toMatchObject({ status: 403 })
          expect(await ask('PATCH', url, { by, body: { rate: 1 } })).toMatchObject({ status: 403 })
        }
        expect((await ask('GET', '/eventbus/operations', { by: 'cleo' })).body.items).toHaveLength(1)
        expect(await ask('POST', `${url}/cancel`, { by: 'cleo' })).toMatchObject({ status: 200 })
        await reached(world, body.id, 'CANCELLED')
        const own = await ask('POST', '/eventbus/operations', { by: 'ben', body: { ...everything, rate: 0.1 } })
        expect(await ask('POST', `/eventbus/operations/${own.body.id}/cancel`, { by: 'ben' })).toMatchObject({
          status: 200,
        })
        await reached(world, own.body.id, 'CANCELLED')
      },
    ))

  test('are filtered and paged', () =>
    adminWorld({}, async (world) => {
      await bury(world, ['a'])
      const { ask } = world
      const ids: string[] = []
      for (let at = 0; at < 3; at++)
        ids.push((await ask('POST', '/eventbus/operations?dryRun=true', { body: everything })).body.id)
      const first = await ask('GET', '/eventbus/operations?limit=2&binding=shipping&state=PLANNED,RUNNING&type=REPLAY')
      expect(first.body.items.map((one: { id: string }) => one.id)).toEqual([ids[2], ids[1]])
      const cursor = first.body.next
      const second = await ask(
        'GET',
        `/eventbus/operations?limit=2&binding=shipping&state=PLANNED,RUNNING&type=REPLAY&cursor=${cursor}`,
      )
      expect(second.body).toMatchObject({ items: [{ id: ids[0] }], next: null })
      expect(await ask('GET', `/eventbus/operations?by=ben&cursor=${cursor}`)).toMatchObject({
        status: 400,
        body: { reason: 'CURSOR_MISMATCH' },
      })
      expect((await ask('GET', '/eventbus/operations?binding=mail')).body.items).toEqual([])
      for (const query of ['state=SLEEPING', 'limit=0', 'limit=501', 'binding=a&outbox=b', 'stat=DONE'])
        expect(await ask('GET', `/eventbus/operations?${query}`)).toMatchObject({ status: 400 })
    }))

  test('are not found by an unknown id or by a text that is none', () =>
    adminWorld({}, async ({ ask }) => {
      for (const id of ['op_01KD0ZW3V80000000000000000', 'op_', 'x', '1', "op_'--"])
        expect(await ask('GET', `/eventbus/operations/${encodeURIComponent(id)}`)).toMatchObject({
          status: 404,
          body: { code: 'WAYBILL_ADMIN_NOT_FOUND' },
        })
      expect(await ask('POST', '/eventbus/operations/op_01KD0ZW3V80000000000000000/pause')).toMatchObject({
        status: 404,
      })
    }))
})
