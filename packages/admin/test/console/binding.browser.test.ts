import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ConsoleWorld, openConsoleWorld } from './support/console-world.ts'
import { describeConsole, expectAccessible, expectLayout, failing, screenshot } from './support/describe-console.ts'

describeConsole('the page of a binding', ({ open }) => {
  let world: ConsoleWorld
  beforeAll(async () => {
    world = await openConsoleWorld()
  })
  afterAll(() => world?.[Symbol.asyncDispose]())

  test('draws the way of a record, with the same numbers in a table, in both themes and on a phone', () =>
    open(world, 'bindings/shipping', async (page) => {
      await page.getByRole('heading', { name: 'shipping', level: 1 }).waitFor()
      await page.locator('svg.pipeline').getByText('retry 1 min').waitFor()
      await page.locator('svg.pipeline').getByText('12', { exact: true }).waitFor()
      await page.getByRole('link', { name: 'NonRetryableError' }).waitFor()
      await screenshot(page, 'binding-closed')
      await page.getByText('The same as a table').click()
      await page
        .getByRole('row', { name: /^retry 1 min/ })
        .getByText('2', { exact: true })
        .waitFor()
      await expectLayout(page, 'binding')
    }))

  test('accounts for every record, is read from the address, and has its tabs in the history', () =>
    open(
      world,
      'bindings/shipping?tab=audit',
      async (page) => {
        await page.getByText('0 unaccounted: 3 partitions, 54 records.').waitFor()
        await screenshot(page, 'binding-audit')
        await page.keyboard.press('2')
        await page.getByRole('row', { name: /^0 orders source/ }).waitFor()
        expect(new URL(page.url()).search).toBe('?tab=partitions')
        await expectAccessible(page)
        await screenshot(page, 'binding-partitions')
        await page.keyboard.press('3')
        await page.getByLabel('Search options').fill('groupId')
        await page
          .getByRole('row', { name: /^groupId/ })
          .getByText('shipping')
          .waitFor()
        await screenshot(page, 'binding-configuration')
        await page.goBack()
        await page.goBack()
        await page.getByText('0 unaccounted').waitFor()
      },
      { theme: 'dark' },
    ))

  test('draws charts in the colors of the theme, which no other check sees', () =>
    open(
      world,
      'bindings/shipping',
      async (page) => {
        await page.getByRole('figure').first().locator('canvas').waitFor()
        // The colors of drawn pixels: the grid is as the theme has it, and nothing is black on the dark ground.
        const colors = await page.evaluate<readonly string[]>(`{
          const canvas = document.querySelector('canvas')
          const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height)
          const found = new Set()
          for (let at = 0; at < data.length; at += 4)
            if (data[at + 3] === 255) found.add([data[at], data[at + 1], data[at + 2]].join())
          ;[...found]
        }`)
        expect(colors).toContain('46,57,69')
        expect(colors).not.toContain('0,0,0')
        await page.getByText('handled: 10 now, highest 10 at').waitFor({ state: 'attached' })
        await page.getByRole('button', { name: 'Table' }).first().click()
        await page.getByRole('row', { name: /10 0$/ }).first().waitFor()
      },
      { theme: 'dark', before: withSeries },
    ))

  test('plans a move of positions, and moves after the name was typed', () =>
    open(world, 'bindings/billing', async (page) => {
      await page.getByRole('button', { name: 'Positions' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByLabel('Action').selectOption('reset')
      await dialog.getByLabel('Reason').fill('INC-311')
      await dialog.getByRole('button', { name: 'Plan' }).click()
      await dialog.getByRole('row', { name: /^0 invoices/ }).waitFor()
      await expectAccessible(page)
      await screenshot(page, 'binding-positions')
      await dialog.getByRole('button', { name: 'Move' }).click({ force: true })
      await dialog.getByLabel('Confirm').fill('billing')
      await dialog.getByRole('button', { name: 'Move' }).click()
      await dialog.getByText('Moved.').waitFor()
    }))

  test('shows a viewer why actions are off, and a problem beside the values of before', () =>
    open(
      world,
      'bindings/shipping?tab=partitions',
      async (page) => {
        await page.getByText('The database does not answer.').waitFor()
        await page.getByRole('button', { name: 'Try again' }).waitFor()
        const button = page.getByRole('button', { name: 'Positions' })
        expect(await button.getAttribute('title')).toContain('Needs bindings:position for shipping')
      },
      { by: 'viewer', before: failing('**/bindings/shipping/partitions'), allowed: /503/ },
    ))

  test('says once that a binding is unknown, with the names that are known', () => {
    const asked: string[] = []
    return open(
      world,
      'bindings/gone',
      async (page) => {
        await page
          .getByText(/'gone'/)
          .first()
          .waitFor()
        await page.getByText('WAYBILL_BINDING_NOT_FOUND').waitFor()
        // Each of its parts would fail too.
        expect(asked.filter((url) => /\/bindings\/gone\//.test(url))).toEqual([])
      },
      { allowed: /404/, before: async (page) => void page.on('request', (request) => asked.push(request.url())) },
    )
  })
})

/** Answers with a minute of points, which a server has only after a minute. */
async function withSeries(page: Page): Promise<void> {
  await page.route('**/series?*', (route) => {
    const metric = new URL(route.request().url()).searchParams.get('metric')
    const points = Array.from({ length: 7 }, (_, at) => ({
      at: new Date(Date.UTC(2026, 10, 16, 6, 0, at * 10)).toISOString(),
      value: metric === 'eventbus.records.failed' ? 3 : at * 100,
    }))
    return route.fulfill({ json: { metric, labels: {}, points } })
  })
}
