import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ConsoleWorld, openConsoleWorld } from './support/console-world.ts'
import { describeConsole, expectAccessible, expectLayout, failing, screenshot } from './support/describe-console.ts'

const groupRow = (page: Page) => page.getByRole('row', { name: /NonRetryableError/ })

describeConsole('failures', ({ open }) => {
  let world: ConsoleWorld
  beforeAll(async () => {
    world = await openConsoleWorld()
  })
  afterAll(() => world?.[Symbol.asyncDispose]())

  test('shows groups with their counts and facets, in both themes and on a phone', () =>
    open(world, 'failures', async (page) => {
      await groupRow(page).getByText('12', { exact: true }).waitFor()
      await page.getByText('12 open dead letters in 1 group').waitFor()
      await page.getByRole('region', { name: 'Binding' }).getByRole('button', { name: 'shipping' }).waitFor()
      await expectLayout(page, 'failures')
    }))

  test('keeps a filter in the address, and takes it away again', () =>
    open(world, 'failures', async (page) => {
      const binding = page.getByRole('region', { name: 'Binding' })
      await binding.getByRole('button', { name: 'shipping' }).click()
      await page.getByRole('button', { name: 'Remove binding shipping' }).waitFor()
      await page.getByLabel('Died since').selectOption('PT1H')
      expect(new URL(page.url()).search).toBe('?binding=shipping&since=PT1H')
      await page.getByLabel('Search messages and keys').fill('bad-3')
      await page.getByText('1 open dead letter in 1 group').waitFor()
      await page.getByLabel('Search messages and keys').fill('nothing like it')
      await page.getByText('No dead letter matches the filter.').waitFor()
      await page.getByRole('button', { name: 'Clear the filter' }).click()
      await groupRow(page).waitFor()
      expect(new URL(page.url()).search).toBe('')
    }))

  test('notes and resolves a group by keys, and shows it again on demand', () =>
    open(world, 'failures', async (page) => {
      await groupRow(page).waitFor()
      await page.keyboard.press('j')
      await page.keyboard.press('n')
      const dialog = page.getByRole('dialog')
      await dialog.getByLabel('Note').fill('502 since 1.8.1')
      await dialog.getByRole('radio', { name: /^Resolved/ }).check()
      await expectAccessible(page)
      await screenshot(page, 'failures-triage')
      await page.keyboard.press('Control+Tab')
      await dialog.getByRole('button', { name: 'Save' }).click()
      await page.getByText('1 resolved or ignored').waitFor()
      expect(await groupRow(page).count()).toBe(0)
      await page.getByRole('link', { name: 'show', exact: true }).click()
      await groupRow(page).getByText('502 since 1.8.1').waitFor()
      await groupRow(page).getByText('RESOLVED').waitFor()
      await page.getByRole('button', { name: /^Triage/ }).click()
      await dialog.getByRole('radio', { name: /^Open/ }).check()
      await dialog.getByLabel('Note').fill('')
      await dialog.getByRole('button', { name: 'Save' }).click()
      await dialog.waitFor({ state: 'detached' })
      await groupRow(page).getByText('502 since 1.8.1').waitFor({ state: 'detached' })
    }))

  test('scans the topics without an index, and looks into values', () =>
    open(world, 'failures?mode=scan&q=bad-1', async (page) => {
      await page.getByText('Done: 3 dead letters in 1 group.').waitFor()
      await groupRow(page).getByText('3', { exact: true }).waitFor()
      await expectAccessible(page)
      await screenshot(page, 'failures-scan')
      await page.getByRole('button', { name: 'Back to the index' }).click()
      await page.getByRole('link', { name: 'Scan the topics' }).waitFor()
    }))

  test('plans a replay, and a purge only after the name of the topic was typed', () =>
    open(world, 'failures?binding=shipping', async (page) => {
      await page.getByRole('button', { name: 'Replay 12 matching…' }).click()
      const dialog = page.getByRole('dialog', { name: 'Replay dead letters of shipping' })
      await dialog.getByText('12 can go').waitFor()
      // A choice and its text are on one line.
      const choice = await dialog.getByText('back to this binding').boundingBox()
      expect(choice?.height).toBeLessThan(25)
      const send = dialog.getByRole('button', { name: 'Replay 5 first' })
      expect(await send.getAttribute('aria-disabled')).toBe('true')
      await dialog.getByLabel('Records that go first').fill('0')
      await dialog.getByRole('button', { name: 'Replay 12' }).waitFor()
      await dialog.getByLabel('Limit').fill('7')
      await dialog.getByRole('button', { name: 'Replay 7' }).waitFor()
      await dialog.getByLabel('Speed').fill('fast')
      await dialog.getByText('0.1 to 10000').waitFor()
      await dialog.getByLabel('Speed').fill('50')
      await dialog.getByLabel('Records that go first').fill('5')
      await expectAccessible(page)
      await screenshot(page, 'replay-dialog')
      await page.keyboard.press('Escape')
      await dialog.waitFor({ state: 'detached' })
      await page.getByRole('button', { name: 'Purge…' }).click()
      const purge = page.getByRole('dialog', { name: 'Purge dead letters of shipping' })
      await purge.getByText('None is that old.').waitFor()
      await purge.getByLabel('Older than').selectOption('PT0S')
      const purgeSend = purge.getByRole('button', { name: 'Purge 12' })
      await purgeSend.waitFor()
      await purge.getByText('12 of them were never replayed').waitFor()
      await purge.getByLabel('Reason').fill('INC-311')
      expect(await purgeSend.getAttribute('title')).toBe('Type the name of the topic.')
      await purge.getByLabel('Confirm').fill('orders.shipping.DLT')
      await expectAccessible(page)
      await screenshot(page, 'purge-dialog')
      await page.keyboard.press('Enter')
      expect(await purge.count()).toBe(1)
      await purge.getByRole('button', { name: 'Cancel' }).click()
    }))

  test('shows the numbers of a plan as the API counts them, whatever the index holds', () =>
    open(
      world,
      'failures?binding=shipping',
      async (page) => {
        await page.getByRole('button', { name: 'Replay 12 matching…' }).click()
        const dialog = page.getByRole('dialog', { name: 'Replay dead letters of shipping' })
        await dialog.getByText('14 can go').waitFor()
        await dialog.getByText('2 handled already').waitFor()
        await dialog.getByLabel('Replays').fill('3')
        await dialog.getByText('13 can go · 3 handled already').waitFor()
        expect(await dialog.getByText(/handled already/).count()).toBe(1)
      },
      { before: withPlans(['14', '2'], ['13', '3']) },
    ))

  test('disables what a viewer may not do, hides messages, and says why', () =>
    open(
      world,
      'failures?binding=shipping',
      async (page) => {
        await groupRow(page).waitFor()
        const replay = page.getByRole('button', { name: /^Replay 12/ })
        expect(await replay.getAttribute('title')).toContain('Needs dlt:replay for shipping')
        expect(await page.getByLabel('Search messages and keys').isDisabled()).toBe(true)
        await groupRow(page).getByText('▒▒▒').waitFor()
        await groupRow(page)
          .getByRole('button', { name: /^Triage/ })
          .click({ force: true })
        expect(await page.getByRole('dialog').count()).toBe(0)
        await expectAccessible(page)
        await screenshot(page, 'failures-viewer')
      },
      { by: 'viewer' },
    ))

  test('shows a failure with its help, and keeps the page', () =>
    open(
      world,
      'failures',
      async (page) => {
        await page.getByText('Check the database, then try again.').first().waitFor()
        await page.getByLabel('Died since').waitFor()
        await expectAccessible(page)
      },
      { before: failing('**/eventbus/dead-letters/groups*'), allowed: /503/ },
    ))
})

/** Counts other dead letters in each plan than the index holds. */
function withPlans(...counts: (readonly [eligible: string, handled: string])[]): (page: Page) => Promise<void> {
  return async (page) => {
    await page.route('**/operations?dryRun=true', async (route) => {
      const response = await route.fetch()
      const operation = (await response.json()) as { readonly plan: object }
      const [eligible, handled] = counts.shift() ?? []
      const plan = { ...operation.plan, eligible, refused: { NOT_OPEN: handled } }
      await route.fulfill({ response, json: { ...operation, plan } })
    })
  }
}
