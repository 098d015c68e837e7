import { setTimeout as sleep } from 'node:timers/promises'
import { defineEvents } from '@waybill/core'
import { createMemoryProjectionStore, createProjector, defineProjection } from '@waybill/projection'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import type { AdminProjection } from '../../src/service/admin-projection.ts'
import { type ConsoleWorld, openConsoleWorld } from './support/console-world.ts'
import { describeConsole, expectAccessible, expectLayout, failing, screenshot } from './support/describe-console.ts'

const accounts = defineEvents({
  AccountOpened: { topic: 'accounts', schema: z.object({ accountId: z.string() }), key: (one) => one.accountId },
})

const balances = defineProjection({
  name: 'balances',
  events: accounts,
  state: z.object({ isOpen: z.boolean() }),
  columns: { isOpen: 'boolean' },
}).on({ AccountOpened: () => ({ isOpen: true }) })

/** A projection with a table that serves, a key in quarantine, and a rebuild that never ends. */
async function balancesWithGap(): Promise<AdminProjection> {
  const store = createMemoryProjectionStore()
  await createProjector(balances, { store }).prepare()
  const since = 1_763_000_000_000
  return {
    projection: { name: 'balances', revision: 2 },
    store: {
      builds: (name) => store.builds(name),
      positions: (build) => store.positions(build),
      countQuarantined: async () => 1,
    },
    quarantine: {
      list: async () => [{ key: '<b>a-1</b>', reason: 'GAP', expected: 2, found: 4, last: 9, since }],
    },
    rebuild: {
      async *run(_, { signal } = {}) {
        const status = { build: 2, state: 'CATCHING_UP', applied: 120, remaining: 40n, quarantined: 0, reason: null }
        for (; signal?.aborted !== true; await sleep(50)) yield status
        return status
      },
    },
  }
}

describeConsole('projections', ({ open }) => {
  let world: ConsoleWorld
  beforeAll(async () => {
    world = await openConsoleWorld({ hasData: false, admin: { projections: { balances: await balancesWithGap() } } })
  })
  afterAll(() => world?.[Symbol.asyncDispose]())

  test('show the table that serves, gaps by key and an outdated revision, in both themes and on a phone', () =>
    open(world, 'projections', async (page) => {
      await page.getByRole('link', { name: 'balances', exact: true }).click()
      await page.getByText('The table that serves has revision 1, the code has 2: rebuild it.').waitFor()
      await page.getByRole('row', { name: /LIVE serves queries/ }).waitFor()
      await page.getByRole('row', { name: /GAP/ }).getByText('<b>a-1</b>').waitFor()
      await expectLayout(page, 'projection')
    }))

  test('are rebuilt by an operation that the page then follows', () =>
    open(world, 'projections/balances', async (page) => {
      await page.getByRole('button', { name: 'Rebuild…' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByLabel('Reason').fill('revision 2')
      await expectAccessible(page)
      await page.keyboard.press('Enter')
      await dialog.getByRole('status').getByRole('link').waitFor()
      await dialog.getByRole('button', { name: 'Close' }).last().click()
      await page.getByRole('heading', { name: 'Rebuild in progress' }).waitFor()
      await page.getByText('RUNNING').first().waitFor()
      await expectAccessible(page)
      await screenshot(page, 'projection-rebuild')
    }))

  test('say what is wrong while their database does not answer', () =>
    open(
      world,
      'projections/balances',
      async (page) => {
        await page.getByText('The database does not answer.').first().waitFor()
      },
      { before: failing('**/eventbus/projections/**'), allowed: /503/ },
    ))

  test('are not rebuilt by a viewer, who learns why', () =>
    open(
      world,
      'projections/balances',
      async (page) => {
        const button = page.getByRole('button', { name: 'Rebuild…' })
        await button.waitFor()
        expect(await button.getAttribute('aria-disabled')).toBe('true')
        expect(await button.getAttribute('title')).toContain('Needs projections:rebuild')
        await page.getByRole('row', { name: /GAP/ }).getByText('Needs payloads:read.').waitFor()
      },
      { by: 'viewer' },
    ))
})
