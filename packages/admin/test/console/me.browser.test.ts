import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ConsoleWorld, openConsoleWorld } from './support/console-world.ts'
import { describeConsole, expectAccessible, expectLayout, screenshot } from './support/describe-console.ts'

describeConsole('the page about the operator', ({ open }) => {
  let world: ConsoleWorld
  beforeAll(async () => {
    world = await openConsoleWorld({
      hasData: false,
      viewer: { 'bindings:read': true, 'bindings:operate': ['shipping', 'mail'] },
    })
  })
  afterAll(() => world?.[Symbol.asyncDispose]())

  test('shows each permission and the bindings that it holds for', () =>
    open(
      world,
      'me',
      async (page) => {
        await page.getByRole('heading', { name: 'viewer', level: 1 }).waitFor()
        await page.getByRole('row', { name: /^bindings:read yes/ }).waitFor()
        await page.getByRole('row', { name: /for shipping, mail/ }).waitFor()
        await page.getByRole('row', { name: /^dlt:purge no/ }).waitFor()
        await expectLayout(page, 'me')
      },
      { by: 'viewer' },
    ))

  test('changes the theme, the density and the clock, remembers them, and switches all keys off', () =>
    open(world, 'me', async (page) => {
      await page.getByLabel('High contrast').check()
      await page.getByLabel('Comfortable').check()
      await page.getByLabel('Local').check()
      await expectAccessible(page)
      await screenshot(page, 'me-contrast')
      await page.reload()
      await page.getByRole('heading', { name: 'ana', level: 1 }).waitFor()
      expect(await page.getByLabel('High contrast').isChecked()).toBe(true)
      expect(await page.evaluate('({ ...document.documentElement.dataset })')).toMatchObject({
        theme: 'contrast',
        density: 'comfortable',
        zone: 'local',
      })
      await page.getByRole('group', { name: 'Keys' }).getByLabel('Off').check()
      await page.getByRole('heading', { name: 'ana', level: 1 }).click()
      await page.keyboard.press('?')
      await page.getByRole('group', { name: 'Keys' }).getByLabel('On').check()
      expect(await page.getByRole('dialog').count()).toBe(0)
      await page.getByRole('heading', { name: 'ana', level: 1 }).click()
      await page.keyboard.press('?')
      await page.getByRole('dialog', { name: 'Help' }).waitFor()
    }))
})
