import { createMemoryAuditLog } from '@waybill/core/internal'
import { describe, expect, test } from 'vitest'
import { adminWorld } from '../support/admin-world.ts'

const pause = '/eventbus/bindings/mail/pause'

describe('the audit log', () => {
  test('has one entry for each change, with its outcome, who, why and from where', () =>
    adminWorld({}, async ({ ask, connector }) => {
      await connector.start()
      await ask('POST', pause, { body: { reason: 'INC-1' } })
      await ask('POST', '/eventbus/bindings/mail/resume')
      const { body } = await ask('GET', '/eventbus/audit')
      expect(body).toMatchObject({
        items: [
          { operation: 'RESUME', target: 'mail', by: 'ana', outcome: 'DONE', reason: null },
          {
            operation: 'PAUSE',
            target: 'mail',
            by: 'ana',
            outcome: 'DONE',
            reason: 'INC-1',
            scope: 'INSTANCE',
            via: 'REST',
            address: '10.0.0.9',
            at: expect.stringMatching(/^2026-/),
            endedAt: expect.any(String),
          },
        ],
        next: null,
      })
    }))

  test('is filtered and paged', () =>
    adminWorld({}, async ({ ask, connector, runtime }) => {
      await connector.start()
      await ask('POST', pause)
      await runtime.timers.sleep(60_000)
      await ask('POST', '/eventbus/bindings/mail/resume')
      const operations = async (query: string) =>
        (await ask('GET', `/eventbus/audit?${query}`)).body.items.map((one: { operation: string }) => one.operation)
      expect(await operations('operation=PAUSE')).toEqual(['PAUSE'])
      expect(await operations('binding=mail&outcome=DONE,FAILED')).toEqual(['RESUME', 'PAUSE'])
      expect(await operations('target=shipping')).toEqual([])
      expect(await operations('by=ben')).toEqual([])
      expect(await operations('outcome=REFUSED')).toEqual([])
      expect(await operations('since=PT30S')).toEqual(['RESUME'])
      expect(await operations('until=PT30S')).toEqual(['PAUSE'])
      const first = await ask('GET', '/eventbus/audit?limit=1')
      expect(first.body.items).toMatchObject([{ operation: 'RESUME' }])
      const second = await ask('GET', `/eventbus/audit?limit=1&cursor=${first.body.next}`)
      expect(second.body).toMatchObject({ items: [{ operation: 'PAUSE' }], next: null })
      for (const query of ['outcome=LOST', 'binding=a&target=b', 'since=yesterday', 'binding=', 'bindng=mail'])
        expect(await ask('GET', `/eventbus/audit?${query}`)).toMatchObject({ status: 400 })
    }))

  test('shows a change whose process ended before it knew the outcome', async () => {
    const auditLog = createMemoryAuditLog()
    await auditLog.write({
      id: '01KD0000000000000000000000',
      atMs: 0,
      by: 'ana',
      reason: undefined,
      operation: 'REPLAY',
      target: 'shipping',
      request: { count: 100 },
      outcome: 'ASKED',
      detail: undefined,
      scope: 'FLEET',
    })
    await adminWorld({ admin: { auditLog } }, async ({ ask }) => {
      expect((await ask('GET', '/eventbus/audit')).body.items).toMatchObject([
        { operation: 'REPLAY', outcome: 'ASKED', endedAt: null, request: { count: 100 }, detail: null, via: null },
      ])
    })
  })

  test('hides what a filter looks for without payloads:read', () =>
    adminWorld({ access: { ben: { 'audit:read': true } } }, async ({ ask, connector }) => {
      await connector.start()
      await ask('POST', '/eventbus/operations?dryRun=true', {
        body: { type: 'REPLAY', binding: 'shipping', filter: { key: 'o-17', exception: 'HttpError' } },
      })
      const shown = async (by: string) => (await ask('GET', '/eventbus/audit', { by })).body.items[0].request.filter
      expect(await shown('ana')).toEqual({ key: 'o-17', exception: 'HttpError' })
      expect(await shown('ben')).toEqual({ key: { hidden: true, bytes: 4 }, exception: 'HttpError' })
    }))

  test('needs audit:read, which READ_ONLY does not have', () =>
    adminWorld({ access: { ben: 'READ_ONLY' } }, async ({ ask }) => {
      expect(await ask('GET', '/eventbus/audit', { by: '' })).toMatchObject({ status: 401 })
      expect(await ask('GET', '/eventbus/audit', { by: 'ben' })).toMatchObject({
        status: 403,
        body: { permission: 'audit:read' },
      })
    }))

  test('that cannot be read says how to make it readable', () =>
    adminWorld({ admin: { auditLog: { write: () => {} } } }, async ({ ask }) => {
      expect(await ask('GET', '/eventbus/audit')).toMatchObject({
        status: 404,
        body: { hint: expect.stringContaining('createAuditLog') },
      })
    }))
})
