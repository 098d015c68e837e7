import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ConsoleWorld, openConsoleWorld } from './support/console-world.ts'
import { describeConsole, expectAccessible, failing, screenshot } from './support/describe-console.ts'

describeConsole('topics and groups', ({ open }) => {
  let world: ConsoleWorld
  beforeAll(async () => {
    world = await openConsoleWorld()
  })
  afterAll(() => world?.[Symbol.asyncDispose]())

  for (const theme of ['light', 'dark'] as const)
    test(`shows the topics of bindings with their offsets and settings, in ${theme}`, () =>
      open(
        world,
        'topics',
        async (page) => {
          const topics = page.getByRole('region', { name: 'Topics' })
          await topics.getByRole('row', { name: /^orders.DLT shipping dead letters/ }).waitFor()
          await topics.getByRole('row', { name: /^orders shipping source 3 54/ }).waitFor()
          await page
            .getByRole('region', { name: 'Consumer groups' })
            .getByRole('link', { name: 'mail' })
            .first()
            .waitFor()
          await expectAccessible(page)
          await screenshot(page, `topics-${theme}`)
        },
        { theme },
      ))

  test('shows the members and positions of a group', () =>
    open(world, 'groups/shipping', async (page) => {
      await page.getByText('0 records behind').waitFor()
      await page.getByRole('row', { name: /orders:0, orders:1, orders:2/ }).waitFor()
      await expectAccessible(page)
      await screenshot(page, 'group')
    }))

  test('keeps the groups when the topics cannot be read', () =>
    open(
      world,
      'topics',
      async (page) => {
        await page.getByText('The database does not answer.').waitFor()
        await page
          .getByRole('row', { name: /^shipping/ })
          .first()
          .waitFor()
      },
      { before: failing('**/eventbus/topics*'), allowed: /503/ },
    ))

  test('fits a narrow screen', () =>
    open(
      world,
      'topics',
      async (page) => {
        await page.getByRole('row', { name: /^orders.DLT/ }).waitFor()
        expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
        await screenshot(page, 'topics-narrow')
      },
      { width: 390 },
    ))
})
