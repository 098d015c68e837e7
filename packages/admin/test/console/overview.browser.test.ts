import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ConsoleWorld, openConsoleWorld } from './support/console-world.ts'
import { describeConsole, expectAccessible, expectLayout, failing, screenshot } from './support/describe-console.ts'

describeConsole('the overview', ({ open }) => {
  let world: ConsoleWorld
  beforeAll(async () => {
    world = await openConsoleWorld()
  })
  afterAll(() => world?.[Symbol.asyncDispose]())

  test('shows bindings with their state, figures and actions, in both themes and on a phone', () =>
    open(world, '', async (page) => {
      const row = page.getByRole('row', { name: /^shipping/ })
      await row.getByText('RUNNING').waitFor()
      await page
        .getByRole('row', { name: /^billing/ })
        .getByText('PAUSED')
        .waitFor()
      await row.getByRole('link', { name: '12' }).waitFor()
      await page.getByRole('button', { name: 'live' }).waitFor()
      await expectLayout(page, 'overview')
    }))

  test('pauses and resumes a binding from its row, with a reason', () =>
    open(world, '', async (page) => {
      await page.getByRole('button', { name: 'Pause mail' }).click()
      await page.getByRole('dialog').getByLabel('Reason').fill('INC-312')
      await expectAccessible(page)
      await page.keyboard.press('Enter')
      const bindings = page.getByRole('region', { name: 'Bindings' })
      await bindings.getByRole('button', { name: 'Resume mail' }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Resume' }).click()
      await page.getByRole('button', { name: 'Pause mail' }).waitFor()
      const answer = await world.admin.handle({
        method: 'GET',
        url: '/eventbus/audit?target=mail',
        headers: { authorization: 'Bearer ana' },
        remoteAddress: '127.0.0.1',
      })
      expect(JSON.parse(answer.body as string)).toMatchObject({
        items: [{ operation: 'RESUME' }, { operation: 'PAUSE', reason: 'INC-312' }],
      })
    }))

  test('disables what a viewer may not do, and says why', () =>
    open(
      world,
      '',
      async (page) => {
        const button = page.getByRole('button', { name: 'Pause shipping' })
        await button.waitFor()
        expect(await button.getAttribute('aria-disabled')).toBe('true')
        expect(await button.getAttribute('title')).toContain('Needs bindings:operate for shipping')
        await button.click({ force: true })
        expect(await page.getByRole('dialog').count()).toBe(0)
      },
      { by: 'viewer' },
    ))

  test('says who is asked to log in when the server does not know the operator', () =>
    open(
      world,
      '',
      async (page) => {
        await page.getByRole('heading', { name: 'The console cannot say who you are' }).waitFor()
        await page.getByText('The request has no identity that this server knows.').waitFor()
        await expectAccessible(page)
        await screenshot(page, 'overview-unidentified')
      },
      { by: '', allowed: /401/ },
    ))

  test('falls back to polling when the stream is refused', () =>
    open(
      world,
      '',
      async (page) => {
        await page.getByRole('button', { name: 'polling every 10 s' }).waitFor()
        await page
          .getByRole('row', { name: /^shipping/ })
          .getByText('RUNNING')
          .waitFor()
      },
      { before: failing('**/eventbus/stream*'), allowed: /503/ },
    ))

  test('keeps its state in the address, walks its rows and opens help by keys', () =>
    open(world, '?q=bill&sort=-lag', async (page) => {
      await page.getByRole('row', { name: /^billing/ }).waitFor()
      expect(await page.getByRole('row', { name: /^shipping/ }).count()).toBe(0)
      await page.getByLabel('Filter bindings').fill('')
      await page.getByRole('row', { name: /^shipping/ }).waitFor()
      await page.getByRole('button', { name: 'Name' }).click()
      expect(new URL(page.url()).search).toBe('?sort=name')
      await page.keyboard.press('j')
      await page.keyboard.press('p')
      await page.getByRole('dialog').waitFor()
      await page.keyboard.press('Escape')
      expect(await page.getByRole('dialog').count()).toBe(0)
      await page.keyboard.press('?')
      await page.getByRole('dialog', { name: 'Help' }).waitFor()
      await expectAccessible(page)
      await screenshot(page, 'help')
    }))
})
