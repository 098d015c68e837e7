import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ConsoleWorld, openConsoleWorld } from './support/console-world.ts'
import { describeConsole, expectAccessible, expectLayout, failing, screenshot } from './support/describe-console.ts'

/** Starts a replay of all dead letters, a few first. */
async function startReplay(page: Page): Promise<string> {
  await page.getByRole('button', { name: /^Replay \d+ matching…/ }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText(/can go/).waitFor()
  await dialog.getByLabel('Reason').fill('INC-311 fixed in 1.8.2')
  await dialog.getByRole('button', { name: 'Replay 5 first' }).click()
  await page.getByRole('heading', { name: 'REPLAY shipping' }).waitFor()
  return `operations/${new URL(page.url()).pathname.split('/').at(-1)}`
}

describeConsole('operations', ({ open }) => {
  let world: ConsoleWorld
  let stopped = ''
  beforeAll(async () => {
    world = await openConsoleWorld()
  })
  afterAll(() => world?.[Symbol.asyncDispose]())

  test('stops after the first ones when they fail again, and is cancelled with a reason', () =>
    open(world, 'failures?binding=shipping', async (page) => {
      stopped = await startReplay(page)
      await page.getByText('Stopped by its rule').waitFor()
      await page.getByText('5 of 5 failed again').waitFor()
      await page.getByRole('link', { name: 'Failures since it started' }).waitFor()
      await page.getByText('5 of 12 sent').waitFor()
      await expectAccessible(page)
      await screenshot(page, 'operation-aborted')
      await page.getByRole('button', { name: 'Cancel…' }).click()
      const dialog = page.getByRole('dialog', { name: 'Cancel the operation' })
      await page.keyboard.press('Enter')
      await dialog.waitFor({ state: 'detached' })
      await page.getByRole('button', { name: 'Cancel…' }).click()
      await dialog.getByLabel('Reason').fill('not fixed yet')
      await expectAccessible(page)
      await dialog.getByRole('button', { name: 'Cancel the operation' }).click()
      await page.getByText('Cancelled', { exact: true }).waitFor()
      await page.getByText('asked to cancel').waitFor()
    }))

  test('asks after the first ones, continues at another speed, and shows the outcome of all, in both themes and on a phone', async () => {
    world.heal()
    await open(world, 'failures?binding=shipping', async (page) => {
      await startReplay(page)
      await page.getByText(/5 of 5 succeeded\. Go on with up to \d+\?/).waitFor()
      await page.getByLabel('Records per second').fill('100')
      await page.getByRole('button', { name: 'Set' }).click()
      await page.getByText('speed changed').waitFor()
      await screenshot(page, 'operation-canary')
      await page.keyboard.press('p')
      await page.getByText('Done', { exact: true }).waitFor()
      await page.getByText('12 of 12 sent').waitFor()
      await page.getByRole('listitem').filter({ hasText: '12 succeeded' }).waitFor()
      await expectLayout(page, 'operation')
      await page.keyboard.press('Escape')
      await page
        .getByRole('row', { name: /REPLAY/ })
        .first()
        .getByText('DONE')
        .waitFor()
      // Plans of dialogs that were closed are not shown.
      expect(await page.getByText('PLANNED', { exact: true }).count()).toBe(1)
      await expectLayout(page, 'operations')
    })
  })

  test('keeps its filter in the address', () =>
    open(world, 'operations?state=CANCELLED', async (page) => {
      await page.getByRole('row', { name: /REPLAY/ }).waitFor()
      await page.getByLabel('Type').selectOption('PURGE')
      await page.getByText('No operation matches the filter.').waitFor()
      expect(new URL(page.url()).search).toBe('?state=CANCELLED&type=PURGE')
      await page.goBack()
      await page.getByRole('row', { name: /REPLAY/ }).waitFor()
      await page.keyboard.press('j')
      await page.keyboard.press('Enter')
      await page.waitForURL((url) => url.pathname.endsWith(stopped))
    }))

  test('disables what a viewer may not do to the operation of another, and says why', async () => {
    const { id } = (await world.ask('/eventbus/operations?state=PLANNED')).items[0]
    await open(
      world,
      `operations/${id}`,
      async (page) => {
        const start = page.getByRole('button', { name: 'Start' })
        await start.waitFor()
        expect(await start.getAttribute('title')).toContain('Needs operations:control for shipping')
        await page.getByText('A plan: nothing was sent').waitFor()
      },
      { by: 'viewer' },
    )
  })

  test('shows a failure with its help, and says that an operation is not known', () =>
    open(
      world,
      'operations',
      async (page) => {
        await page.getByText('Check the database, then try again.').waitFor()
        await page.unroute('**/eventbus/operations*')
        await page.goto(`${world.url}operations/op_00000000000000000000000000`)
        await page.getByText('There is no such operation').waitFor()
        await page.getByRole('link', { name: 'All operations' }).waitFor()
        await expectAccessible(page)
      },
      { before: failing('**/eventbus/operations*'), allowed: /503|404/ },
    ))
})
