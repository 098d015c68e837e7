import type { AuditEntry } from '@waybill/core'
import { systemRuntime } from '@waybill/core'
import { describe, expect, test } from 'vitest'
import { type AdminWorld, adminWorld, type WorldOptions } from '../support/admin-world.ts'
import { type SqliteOutbox, sqliteOutbox } from '../support/sqlite-outbox.ts'

interface OutboxWorld extends AdminWorld {
  readonly rows: SqliteOutbox
  /** Entries of the dead events. */
  readonly outboxAudit: AuditEntry[]
}

async function outboxWorld(options: WorldOptions, program: (world: OutboxWorld) => Promise<void>): Promise<void> {
  const outboxAudit: AuditEntry[] = []
  using rows = await sqliteOutbox(outboxAudit, systemRuntime)
  await adminWorld({ ...options, admin: { outboxes: { orders: rows.outbox }, ...options.admin } }, (world) =>
    program({ ...world, rows, outboxAudit }),
  )
}

const url = '/eventbus/outboxes/orders'
const hidden = (bytes: number): object => ({ hidden: true, bytes })
const unknown = '019a0000-0000-7000-8000-000000000000'

describe('an outbox', () => {
  test('is listed with its backlog, and shown with its shards', () =>
    outboxWorld({}, async ({ ask, rows }) => {
      for (const status of ['NEW', 'NEW', 'DONE', 'DEAD'] as const) await rows.write(status)
      const summary = {
        outbox: 'orders',
        mode: 'KEYED',
        backlog: { pending: '2', retrying: '0', more: false },
        dead: '1',
        nodes: [],
      }
      expect((await ask('GET', '/eventbus/outboxes')).body.items).toMatchObject([summary])
      expect((await ask('GET', url)).body).toMatchObject({ ...summary, shards: [] })
      expect(await ask('GET', '/eventbus/outboxes/basket')).toMatchObject({ status: 404 })
    }))

  test('lists DEAD events page by page, by their types', () =>
    outboxWorld({}, async ({ ask, rows }) => {
      const ids = [await rows.write('DEAD', 'o-1'), await rows.write('DEAD', 'o-2'), await rows.write('DEAD', 'o-3')]
      await rows.write('DEAD', 'o-4', 'order.cancelled')
      const first = await ask('GET', `${url}/dead?limit=2&type=order.placed`)
      expect(first.body.items.map((one: { eventId: string }) => one.eventId)).toEqual(ids.slice(0, 2))
      expect(first.body.items[0]).toMatchObject({
        eventType: 'order.placed',
        aggregateId: { text: 'o-1' },
        lastError: { text: 'UnroutableEventError: no listener' },
        attempts: 1,
        diedAt: expect.any(String),
      })
      const second = await ask('GET', `${url}/dead?limit=2&type=order.placed&cursor=${first.body.next}`)
      expect(second.body).toMatchObject({ items: [{ eventId: ids[2] }], next: null })
      expect(await ask('GET', `${url}/dead?cursor=${first.body.next}`)).toMatchObject({ status: 400 })
      expect(await ask('GET', `${url}/dead?tpye=x`)).toMatchObject({ status: 400 })
    }))

  test('shows the row of an event with its payload, byte for byte, and says in the audit log who read it', () =>
    outboxWorld({}, async ({ ask, rows, audit }) => {
      const id = await rows.write('NEW', 'o-1')
      for (let times = 0; times < 2; times++)
        expect((await ask('GET', `${url}/events/${id}`)).body).toMatchObject({
          eventId: id,
          status: 'NEW',
          payload: { encoding: 'utf8', text: '{"total":9007199254740993,"card":{"number":"4111"}}' },
          headers: [{ name: 'tenant', value: { text: 'acme' } }],
          diedAt: null,
        })
      expect(audit).toMatchObject([
        { operation: 'PAYLOAD_READ', by: 'ana', target: 'orders', request: { id }, outcome: 'ASKED' },
        { operation: 'PAYLOAD_READ', outcome: 'DONE' },
      ])
      for (const wrong of [unknown, 'x'.repeat(200)])
        expect(await ask('GET', `${url}/events/${wrong}`)).toMatchObject({ status: 404 })
    }))

  test('hides keys, payloads and errors without payloads:read, and masked parts from everyone', () =>
    outboxWorld(
      { access: { ben: 'READ_ONLY' }, admin: { payloads: { mask: ['$.card.number'], maskHeaders: ['Tenant'] } } },
      async ({ ask, rows, audit }) => {
        const id = await rows.write('DEAD', 'o-1')
        await rows.write('NEW', 'o-1')
        expect((await ask('GET', `${url}/events/${id}`, { by: 'ben' })).body).toMatchObject({
          aggregateId: hidden(3),
          lastError: hidden(33),
          payload: hidden(51),
          headers: [{ name: 'tenant', value: hidden(4) }],
        })
        for (const path of ['dead', 'blockers']) {
          const { text } = await ask('GET', `${url}/${path}`, { by: 'ben' })
          expect(text).not.toMatch(/o-1|Unroutable/)
        }
        expect(audit).toEqual([])
        expect((await ask('GET', `${url}/events/${id}`)).body).toMatchObject({
          payload: { text: '{"total":9007199254740993,"card":{"number":"***"}}' },
          headers: [{ name: 'tenant', value: hidden(4) }],
        })
      },
    ))

  test('lists the events that others wait for', () =>
    outboxWorld({}, async ({ ask, rows }) => {
      const id = await rows.write('DEAD', 'o-1')
      await rows.write('NEW', 'o-1')
      await rows.write('NEW', 'o-2')
      expect((await ask('GET', `${url}/blockers`)).body.items).toMatchObject([
        { eventId: id, status: 'DEAD', aggregateId: { text: 'o-1' }, behind: { count: '1', exact: true } },
      ])
    }))

  test('replays one DEAD event, once', () =>
    outboxWorld({}, async ({ ask, rows, outboxAudit }) => {
      const id = await rows.write('DEAD')
      const replay = `${url}/dead/${id}/replay`
      expect((await ask('POST', `${replay}?dryRun=true`)).body).toEqual({
        dryRun: true,
        eventId: id,
        replayed: true,
        status: 'DEAD',
      })
      expect((await ask('GET', `${url}/events/${id}`)).body.status).toBe('DEAD')
      expect((await ask('POST', replay, { body: { reason: 'fixed' } })).body).toEqual({ eventId: id, replayed: true })
      expect((await ask('POST', replay)).body).toEqual({ eventId: id, replayed: false })
      expect(outboxAudit.filter(({ operation }) => operation === 'REPLAY_DEAD_EVENTS').slice(0, 2)).toMatchObject([
        { outcome: 'ASKED', by: 'ana', reason: 'fixed', via: 'REST' },
        { outcome: 'DONE', detail: { replayed: 1 } },
      ])
      expect(await ask('POST', `${url}/dead/${unknown}/replay`)).toMatchObject({ status: 404 })
      expect(await ask('POST', replay, { body: { reson: 'x' } })).toMatchObject({ status: 400 })
    }))

  test('needs a permission for it', () =>
    outboxWorld(
      { access: { ben: { 'outbox:read': ['basket'] }, cleo: { 'outbox:read': true } } },
      async ({ ask, rows }) => {
        const id = await rows.write('DEAD')
        for (const path of ['', '/dead', '/blockers', `/events/${id}`]) {
          expect(await ask('GET', `${url}${path}`, { by: '' })).toMatchObject({ status: 401 })
          expect(await ask('GET', `${url}${path}`, { by: 'ben' })).toMatchObject({ status: 403 })
        }
        expect((await ask('GET', '/eventbus/outboxes', { by: 'ben' })).body.items).toEqual([])
        expect(await ask('POST', `${url}/dead/${id}/replay`, { by: 'cleo' })).toMatchObject({
          status: 403,
          body: { permission: 'outbox:replay' },
        })
        const body = { type: 'OUTBOX_REPLAY', outbox: 'orders' }
        expect(await ask('POST', '/eventbus/operations', { by: 'cleo', body })).toMatchObject({ status: 403 })
      },
    ))
})

describe('an operation on an outbox', () => {
  test('replays DEAD events of a type', () =>
    outboxWorld({}, async ({ ask, rows, eventually }) => {
      const [placed, cancelled] = [await rows.write('DEAD'), await rows.write('DEAD', undefined, 'order.cancelled')]
      const { body } = await ask('POST', '/eventbus/operations', {
        body: { type: 'OUTBOX_REPLAY', outbox: 'orders', eventType: 'order.placed' },
      })
      expect(body).toMatchObject({ outbox: 'orders', binding: null, plan: { matched: '1' } })
      await eventually(async () =>
        expect((await ask('GET', `/eventbus/operations/${body.id}`)).body).toMatchObject({
          state: 'DONE',
          progress: { sent: '1' },
        }),
      )
      expect((await ask('GET', `${url}/events/${placed}`)).body.status).toBe('NEW')
      expect((await ask('GET', `${url}/events/${cancelled}`)).body.status).toBe('DEAD')
    }))

  test('deletes DEAD events only with their number', () =>
    outboxWorld({}, async ({ ask, rows, eventually }) => {
      const id = await rows.write('DEAD')
      const purge = { type: 'OUTBOX_PURGE', outbox: 'orders', olderThan: 'PT0S', reason: 'not ours' }
      const plan = await ask('POST', '/eventbus/operations?dryRun=true', { body: purge })
      expect(plan).toMatchObject({ status: 201, body: { plan: { matched: '1' } } })
      expect(await ask('POST', '/eventbus/operations', { body: purge })).toMatchObject({
        status: 400,
        body: { violations: [{ path: 'confirm' }] },
      })
      expect(await ask('POST', '/eventbus/operations', { body: { ...purge, confirm: '7' } })).toMatchObject({
        status: 400,
        body: { reason: 'CONFIRM_MISMATCH' },
      })
      expect((await ask('GET', `${url}/events/${id}`)).body.status).toBe('DEAD')
      const { body } = await ask('POST', '/eventbus/operations', { body: { ...purge, confirm: '1' } })
      await eventually(async () =>
        expect((await ask('GET', `/eventbus/operations/${body.id}`)).body.state).toBe('DONE'),
      )
      expect(await ask('GET', `${url}/events/${id}`)).toMatchObject({ status: 404 })
    }))
})
