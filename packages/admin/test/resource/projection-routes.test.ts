import { defineEvents } from '@waybill/core'
import { createMemoryProjectionStore, createProjector, createQuarantine, defineProjection } from '@waybill/projection'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { AdminProjection } from '../../src/service/admin-projection.ts'
import { adminWorld } from '../support/admin-world.ts'

const accounts = defineEvents({
  AccountOpened: { topic: 'accounts', schema: z.object({ accountId: z.string() }), key: (one) => one.accountId },
})

const balances = defineProjection({
  name: 'balances',
  events: accounts,
  state: z.object({ isOpen: z.boolean() }),
  columns: { isOpen: 'boolean' },
}).on({ AccountOpened: () => ({ isOpen: true }) })

async function projected(rebuild?: AdminProjection['rebuild']): Promise<AdminProjection> {
  const store = createMemoryProjectionStore()
  await createProjector(balances, { store }).prepare()
  const administration = { permits: () => true, auditLog: { write: () => {} } }
  const quarantine = createQuarantine(balances, { store, administration })
  return { projection: balances, store, quarantine, ...(rebuild === undefined ? {} : { rebuild }) }
}

describe('a projection', () => {
  test('is listed with its live table, and shown with its tables and positions', async () => {
    const own = await projected()
    await adminWorld({ admin: { projections: { balances: own } } }, async ({ ask }) => {
      const summary = {
        projection: 'balances',
        revision: 1,
        live: { build: 1, revision: 1, state: 'LIVE' },
        rebuild: null,
        quarantinedKeys: '0',
        lagRecords: null,
        canRebuild: false,
      }
      expect((await ask('GET', '/eventbus/projections')).body.items).toMatchObject([summary])
      expect((await ask('GET', '/eventbus/projections/balances')).body).toMatchObject({
        ...summary,
        builds: [{ build: 1, state: 'LIVE' }],
        positions: [],
      })
      expect((await ask('GET', '/eventbus/projections/balances/quarantine')).body).toEqual({ items: [], next: null })
      expect(await ask('GET', '/eventbus/projections/orders')).toMatchObject({ status: 404 })
      expect(await ask('GET', '/eventbus/projections/balances/quarantine?limit=0')).toMatchObject({ status: 400 })
    })
  })

  test('is read and rebuilt with its permissions alone', async () => {
    const projections = { balances: await projected() }
    const access = { ben: { 'projections:read': ['orders'] }, cleo: { 'projections:read': true } } as const
    await adminWorld({ access, admin: { projections } }, async ({ ask }) => {
      for (const path of ['/balances', '/balances/quarantine']) {
        expect(await ask('GET', `/eventbus/projections${path}`, { by: '' })).toMatchObject({ status: 401 })
        expect(await ask('GET', `/eventbus/projections${path}`, { by: 'ben' })).toMatchObject({ status: 403 })
      }
      expect((await ask('GET', '/eventbus/projections', { by: 'ben' })).body.items).toEqual([])
      const body = { type: 'PROJECTION_REBUILD', projection: 'balances' }
      expect(await ask('POST', '/eventbus/operations', { by: 'cleo', body })).toMatchObject({
        status: 403,
        body: { permission: 'projections:rebuild' },
      })
      // It was given no rebuild.
      expect(await ask('POST', '/eventbus/operations', { body })).toMatchObject({ status: 400 })
    })
  })

  test('is rebuilt by an operation that shows how far it is, and that a pause stops', async () => {
    const status = { build: 2, state: 'CATCHING_UP', remaining: 40n, quarantined: 0, reason: null }
    const asked: string[] = []
    let isHeld = true
    const own = await projected({
      async *run({ by }) {
        asked.push(by)
        for (let applied = 10; isHeld; applied += 10) yield { ...status, applied, remaining: 40n }
        return { ...status, applied: 100, state: 'LIVE', remaining: 0n }
      },
    })
    await adminWorld({ admin: { projections: { balances: own } } }, async ({ ask, eventually, runtime }) => {
      const body = { type: 'PROJECTION_REBUILD', projection: 'balances', reason: 'revision 2' }
      const created = await ask('POST', '/eventbus/operations', { body })
      expect(created).toMatchObject({ status: 202, body: { projection: 'balances', binding: null } })
      const url = `/eventbus/operations/${created.body.id}`
      const reached = (state: string): Promise<void> =>
        eventually(async () => {
          await runtime.timers.sleep(100)
          expect((await ask('GET', url)).body.state).toBe(state)
        })
      await ask('POST', `${url}/pause`)
      await reached('PAUSED')
      expect(Number((await ask('GET', url)).body.progress.scanned)).toBeGreaterThan(0)
      isHeld = false
      await ask('POST', `${url}/resume`)
      await reached('DONE')
      expect(new Set(asked)).toEqual(new Set(['ana']))
    })
  })
})
