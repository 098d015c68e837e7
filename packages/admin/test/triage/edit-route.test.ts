import { defineEvents } from '@waybill/core'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { adminWorld } from '../support/admin-world.ts'
import { buryLetters } from './bury-letters.ts'

const editing = { headers: 'CUSTOM' } as const
const version = { headers: { 'if-match': '"0-OPEN"', prefer: 'wait=60' } }
const reason = 'INC-311'

describe('an edit of a dead letter', () => {
  test('is off by default', () =>
    adminWorld({}, async (world) => {
      const [id] = await buryLetters(world, ['a1'])
      const answer = await world.ask('POST', `/eventbus/dead-letters/${id}/edit`, {
        ...version,
        body: { value: 'x', reason },
      })
      expect(answer).toMatchObject({ status: 403, body: { detail: 'Editing is off on this server.' } })
    }))

  test('replays it with another value, once, and resolves it', () => {
    const handled: string[] = []
    const isHandled = (value: string): boolean => value.startsWith('fixed') && handled.push(value) > 0
    return adminWorld({ admin: { editing }, isHandled }, async (world) => {
      const [id] = await buryLetters(world, ['{"total":"19.99"}'])
      const { ask, eventually } = world
      const url = `/eventbus/dead-letters/${id}/edit`
      const body = { value: 'fixed', headers: { set: { source: 'ana' } }, reason }
      expect(
        await ask('POST', `${url}?dryRun=true`, { ...version, body: { ...body, value: '{"total":"1999"}' } }),
      ).toMatchObject({
        status: 200,
        body: {
          dryRun: true,
          schema: { verdict: 'NOT_CHECKED' },
          diff: [{ path: '$.total', from: '"19.99"', to: '"1999"' }],
          key: 'UNCHANGED',
        },
      })
      const [one, other] = await Promise.all([
        ask('POST', url, { ...version, body }),
        ask('POST', url, { ...version, body }),
      ])
      expect([one.status, other.status].toSorted((a, b) => a - b)).toEqual([200, 409])
      expect(one.status === 200 ? one.body : other.body).toMatchObject({ replayed: 1 })
      await eventually(() => expect(handled).toEqual(['fixed']))
      expect((await ask('GET', `/eventbus/dead-letters/${id}`)).body).toMatchObject({ state: 'RESOLVED' })
      expect(await ask('POST', url, { ...version, body })).toMatchObject({
        status: 409,
        body: { code: 'WAYBILL_DEAD_LETTER_CHANGED' },
      })
    })
  })

  test('is refused without its version, with locked headers, and without a reason', () =>
    adminWorld({ admin: { editing } }, async (world) => {
      const [id] = await buryLetters(world, ['a1'])
      const edit = (body: object, headers: Readonly<Record<string, string>> = version.headers) =>
        world.ask('POST', `/eventbus/dead-letters/${id}/edit`, { headers, body })
      expect(await edit({ value: 'x', reason }, {})).toMatchObject({ status: 400 })
      expect(await edit({ value: 'x', reason }, { 'if-match': '"1-OPEN"' })).toMatchObject({ status: 409 })
      expect(await edit({ value: 'x' })).toMatchObject({ status: 428 })
      for (const name of ['x-eventbus-replay-count', 'id', 'traceparent', 'tenantId', 'ce_id'])
        expect(await edit({ headers: { set: { [name]: 'x' } }, reason })).toMatchObject({
          status: 400,
          body: { violations: [{ path: `headers.${name}` }] },
        })
    }))

  test('is checked with the schema of its event, unless it is forced', () => {
    const catalog = defineEvents({
      'order.placed': {
        topic: 'orders',
        schema: z.object({ orderId: z.string(), total: z.number() }),
        key: (order) => order.orderId,
      },
    })
    return adminWorld({ admin: { editing, catalogs: { orders: catalog } } }, async (world) => {
      await world.connector.start()
      await using producer = world.client.producer('EVENT')
      const headers = {
        id: '01KD0ZW3V8Q2M4N6P8R0T2V4W6',
        eventType: 'order.placed',
        eventVersion: '1',
        aggregateType: 'order',
      }
      await producer.send({
        topic: 'orders',
        key: Buffer.from('o-1'),
        value: Buffer.from('{"orderId":"o-1","total":"1"}'),
        headers: Object.entries(headers).map(([name, value]) => [name, Buffer.from(value)] as const),
      })
      const [id] = await buryLetters(world, []).then(async () => {
        await world.eventually(async () => {
          expect((await world.ask('GET', '/eventbus/dead-letters')).body.items).toHaveLength(1)
          await world.runtime.timers.sleep(500)
        })
        return (await world.ask('GET', '/eventbus/dead-letters')).body.items.map((one: { id: string }) => one.id)
      })
      const url = `/eventbus/dead-letters/${id}/edit`
      const wrong = { value: '{"orderId":"o-1","total":"2"}', reason }
      expect((await world.ask('POST', `${url}?dryRun=true`, { ...version, body: wrong })).body.schema).toMatchObject({
        verdict: 'INVALID',
        event: 'order.placed',
      })
      expect(await world.ask('POST', url, { ...version, body: wrong })).toMatchObject({ status: 422 })
      const right = { value: '{"orderId":"o-1","total":2}', reason }
      expect((await world.ask('POST', `${url}?dryRun=true`, { ...version, body: right })).body.schema.verdict).toBe(
        'VALID',
      )
      expect(await world.ask('POST', url, { ...version, body: { ...wrong, force: true } })).toMatchObject({
        status: 200,
      })
    })
  })

  test('needs dlt:edit for its binding, and payloads:raw where a mask applies', () =>
    adminWorld(
      {
        admin: { editing, payloads: { mask: ['$.a'] } },
        access: {
          eve: { 'dlt:read': true, 'dlt:edit': ['mail'] },
          rob: { 'dlt:read': true, 'dlt:edit': true, 'payloads:read': true },
        },
      },
      async (world) => {
        const [id] = await buryLetters(world, ['a1'])
        const edit = (by: string) =>
          world.ask('POST', `/eventbus/dead-letters/${id}/edit`, { by, ...version, body: { value: 'x', reason } })
        expect(await edit('eve')).toMatchObject({ status: 403, body: { permission: 'dlt:edit' } })
        expect(await edit('rob')).toMatchObject({ status: 403, body: { permission: 'payloads:raw' } })
      },
    ))
})
