import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ConsoleWorld, openConsoleWorld } from './support/console-world.ts'
import { describeConsole, expectAccessible, expectLayout, failing, screenshot } from './support/describe-console.ts'

const hostile = '<img src=x onerror=alert(1)>\u202Etxt.exe'

describeConsole('outboxes', ({ open }) => {
  let world: ConsoleWorld
  beforeAll(async () => {
    world = await openConsoleWorld()
    await world.rows.write('DEAD', hostile, 'order.hostile')
  })
  afterAll(() => world?.[Symbol.asyncDispose]())

  test('list their backlog, what holds it up, and single rows, in both themes and on a phone', () =>
    open(world, 'outbox', async (page) => {
      await page.getByRole('link', { name: 'orders', exact: true }).waitFor()
      await expectAccessible(page)
      await screenshot(page, 'outboxes')
      await page.getByRole('link', { name: 'orders', exact: true }).click()
      await page.getByRole('heading', { name: 'orders', level: 1 }).waitFor()
      await page.getByText('KEYED').waitFor()
      const blocker = page.getByRole('region', { name: 'Blockers' }).getByRole('row', { name: /o-1/ })
      await blocker.getByText('DEAD').waitFor()
      const dead = page.getByRole('region', { name: 'Dead events' })
      await dead.getByRole('row', { name: /o-1/ }).waitFor()
      // A hostile key is a text.
      await dead
        .getByRole('row', { name: /onerror/ })
        .getByText('U+202E')
        .waitFor()
      expect(await page.locator('img').count()).toBe(0)
      await expectLayout(page, 'outbox')
      await dead.getByRole('row', { name: /o-1/ }).getByRole('link').click()
      await page.getByRole('heading', { name: 'order.placed' }).waitFor()
      await page.getByText('9007199254740993').waitFor()
      await page.getByText('UnroutableEventError: no listener').waitFor()
      await page.getByRole('row', { name: /tenant/ }).waitFor()
      await expectAccessible(page)
      await screenshot(page, 'outbox-event')
    }))

  test('replay a dead event from its row by keys, with a reason', () =>
    open(world, 'outbox/orders?type=order.placed', async (page) => {
      const dead = page.getByRole('region', { name: 'Dead events' })
      const row = dead.getByRole('row', { name: /o-1/ })
      await row.waitFor()
      await page.keyboard.press('j')
      await page.keyboard.press('r')
      await page.getByRole('dialog').getByLabel('Reason').fill('INC-9')
      await expectAccessible(page)
      await page.keyboard.press('Enter')
      await row.waitFor({ state: 'detached' })
      await page.getByText('No key waits for a failed event.').waitFor()
    }))

  test('purge dead events after their number is typed', () =>
    open(world, 'outbox/orders', async (page) => {
      await page.getByRole('button', { name: 'Purge…' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByText('1 match').waitFor()
      await dialog.getByLabel('Reason').fill('they are of a test')
      const send = dialog.getByRole('button', { name: 'Delete 1' })
      expect(await send.getAttribute('aria-disabled')).toBe('true')
      await dialog.getByLabel('Type 1 to confirm').fill('1')
      await expectAccessible(page)
      await screenshot(page, 'outbox-purge')
      await send.click()
      await dialog.getByRole('status').getByRole('link').waitFor()
      await dialog.getByRole('button', { name: 'Close' }).last().click()
      await page.getByText('No dead event.').waitFor()
    }))

  test('say what is wrong while the database does not answer, and keep the rest of the page', () =>
    open(
      world,
      'outbox/orders',
      async (page) => {
        await page.getByText('The database does not answer.').first().waitFor()
        await page.getByRole('heading', { name: 'Dead events' }).waitFor()
      },
      { before: failing('**/eventbus/outboxes/orders*'), allowed: /503/ },
    ))

  test('disable what a viewer may not do, and hide payloads', async () => {
    const eventId = await world.rows.write('DEAD', 'o-2')
    await open(
      world,
      `outbox/orders/events/${eventId}`,
      async (page) => {
        await page.getByText('Needs payloads:read.').first().waitFor()
        const button = page.getByRole('button', { name: 'Replay' })
        expect(await button.getAttribute('aria-disabled')).toBe('true')
        expect(await button.getAttribute('title')).toContain('Needs outbox:replay')
      },
      { by: 'viewer' },
    )
  })
})
