import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ConsoleWorld, openConsoleWorld } from './support/console-world.ts'
import { describeConsole, expectAccessible, expectLayout, failing, screenshot } from './support/describe-console.ts'

describeConsole('the audit log', ({ open }) => {
  let world: ConsoleWorld
  beforeAll(async () => {
    world = await openConsoleWorld()
    await world.connector.admin.pause('mail', { by: '<script>alert(1)</script>', reason: 'odd \u202e name' })
  })
  afterAll(() => world?.[Symbol.asyncDispose]())

  test('shows who changed what and why, in both themes and on a phone, and texts of strangers as texts', () =>
    open(world, 'audit', async (page) => {
      const row = page.getByRole('row', { name: /ana PAUSE billing INC-311/ })
      await row.getByText('DONE').waitFor()
      await page.getByText('<script>alert(1)</script>').waitFor()
      await page.getByTitle('U+202E').waitFor()
      await expectLayout(page, 'audit')
    }))

  test('filters by the address, opens an entry, and saves what matches', () =>
    open(world, 'audit?operation=PAUSE&outcome=DONE', async (page) => {
      await page.getByRole('row', { name: /billing/ }).waitFor()
      await page.getByLabel('Who', { exact: true }).fill('ana')
      await page.keyboard.press('Enter')
      await page.getByRole('row', { name: /mail/ }).waitFor({ state: 'detached' })
      expect(new URL(page.url()).search).toBe('?by=ana&operation=PAUSE&outcome=DONE')
      await page.getByRole('heading', { name: 'Audit log' }).click()
      await page.keyboard.press('j')
      await page.keyboard.press('Enter')
      const dialog = page.getByRole('dialog', { name: 'PAUSE billing' })
      await dialog.getByText('INC-311').waitFor()
      await expectAccessible(page)
      await page.keyboard.press('Escape')
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('button', { name: 'Export' }).click(),
      ])
      const saved = await text(await download.createReadStream())
      const lines = saved.trim().split('\n')
      expect(lines.map((line) => (JSON.parse(line) as { target: string }).target)).toEqual(['billing'])
    }))

  test('says what to do when the log cannot be read', () =>
    open(
      world,
      'audit',
      async (page) => {
        await page.getByText('The database does not answer.').waitFor()
        await page.getByText('Check the database, then try again.').waitFor()
        await screenshot(page, 'audit-failing')
      },
      { before: failing('**/eventbus/audit?*'), allowed: /503/ },
    ))

  test('is not in the navigation of a viewer', () =>
    open(
      world,
      '',
      async (page) => {
        await page.getByRole('link', { name: 'viewer' }).waitFor()
        expect(await page.getByRole('link', { name: 'Audit' }).count()).toBe(0)
      },
      { by: 'viewer' },
    ))
})
