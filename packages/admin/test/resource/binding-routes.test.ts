import { describe, expect, test } from 'vitest'
import { adminWorld } from '../support/admin-world.ts'

describe('the list of bindings', () => {
  test('shows each binding with its state, and continues at its cursor', () =>
    adminWorld({}, async ({ ask, connector }) => {
      await connector.start()
      const first = await ask('GET', '/eventbus/bindings?limit=1')
      expect(first.status).toBe(200)
      expect(first.body).toMatchObject({
        items: [{ key: 'mail', state: 'RUNNING', groupId: 'mail', instances: { alive: 1, running: 1 } }],
        total: { count: '2', exact: true },
      })
      const second = await ask('GET', `/eventbus/bindings?limit=1&cursor=${first.body.next}`)
      expect(second.body).toMatchObject({ items: [{ key: 'shipping' }], next: null })
    }))

  test('refuses a cursor of another filter', () =>
    adminWorld({}, async ({ ask }) => {
      const { body } = await ask('GET', '/eventbus/bindings?limit=1')
      const answer = await ask('GET', `/eventbus/bindings?state=RUNNING&cursor=${body.next}`)
      expect(answer).toMatchObject({ status: 400, body: { reason: 'CURSOR_MISMATCH' } })
      expect(await ask('GET', '/eventbus/bindings?cursor=abc')).toMatchObject({
        status: 400,
        body: { reason: 'CURSOR_INVALID' },
      })
    }))

  test('names the nearest parameter for an unknown one', () =>
    adminWorld({}, async ({ ask }) => {
      expect(await ask('GET', '/eventbus/bindings?sate=RUNNING')).toMatchObject({
        status: 400,
        body: { violations: [{ path: 'sate', message: 'is unknown; did you mean state?' }] },
      })
    }))

  test('shows only bindings that the operator may see', () =>
    adminWorld({ access: { ben: { 'bindings:read': ['mail'] } } }, async ({ ask }) => {
      const { body } = await ask('GET', '/eventbus/bindings', { by: 'ben' })
      expect(body.items.map(({ key }: { key: string }) => key)).toEqual(['mail'])
      expect(await ask('GET', '/eventbus/bindings/shipping', { by: 'ben' })).toMatchObject({
        status: 404,
        body: { code: 'WAYBILL_BINDING_NOT_FOUND', known: ['mail'] },
      })
    }))
})

describe('a binding', () => {
  test('is shown with its options, partitions, stages, series and audit', () =>
    adminWorld({ isHandled: () => true }, async ({ ask, connector, write, eventually, runtime }) => {
      await connector.start()
      await write('orders', ['a', 'b'])
      await runtime.timers.sleep(30_000)
      const detail = await ask('GET', '/eventbus/bindings/shipping')
      expect(detail.body).toMatchObject({
        key: 'shipping',
        configuration: { groupId: 'shipping', 'retry.tiers[0].delayMs': 1_000 },
        counters: { processed: '2' },
      })
      expect(await ask('GET', '/eventbus/bindings/default%3Ashipping')).toMatchObject({ status: 200 })
      const partitions = await ask('GET', '/eventbus/bindings/shipping/partitions')
      expect(partitions.body.items).toContainEqual(
        expect.objectContaining({ topic: 'orders', kind: 'SOURCE', instance: 'shop-0' }),
      )
      const pipeline = await ask('GET', '/eventbus/bindings/shipping/pipeline')
      expect(pipeline.body.stages.map(({ kind }: { kind: string }) => kind)).toEqual(['SOURCE', 'TIER', 'DLT'])
      const series = await ask(
        'GET',
        '/eventbus/bindings/shipping/series?metric=eventbus.records.processed&window=PT5M',
      )
      expect(series.body.points.at(-1)).toMatchObject({ value: 2 })
      expect(await ask('GET', '/eventbus/bindings/shipping/configuration')).toMatchObject({ status: 200 })
      await eventually(async () => {
        const audit = await ask('GET', '/eventbus/bindings/shipping/audit')
        expect(audit.body.items).toContainEqual(expect.objectContaining({ topic: 'orders', binding: 'shipping' }))
      })
    }))

  test('that does not exist is a problem that lists the known ones', () =>
    adminWorld({}, async ({ ask }) => {
      expect(await ask('GET', '/eventbus/bindings/nothing')).toMatchObject({
        status: 404,
        body: { code: 'WAYBILL_BINDING_NOT_FOUND', known: ['shipping', 'mail'] },
      })
    }))
})
