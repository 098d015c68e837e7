import { afterAll, beforeAll, test } from 'vitest'
import { type ConsoleWorld, openConsoleWorld } from './support/console-world.ts'
import { describeConsole, expectAccessible, expectLayout, failing, screenshot } from './support/describe-console.ts'

describeConsole('topics and groups', ({ open }) => {
  let world: ConsoleWorld
  beforeAll(async () => {
    world = await openConsoleWorld()
  })
  afterAll(() => world?.[Symbol.asyncDispose]())

  test('shows the topics of bindings, and the members and positions of a group, in both themes and on a phone', () =>
    open(world, 'topics', async (page) => {
      const topics = page.getByRole('region', { name: 'Topics' })
      await topics.getByRole('row', { name: /^orders.DLT shipping dead letters/ }).waitFor()
      await topics.getByRole('row', { name: /^orders shipping source 3 54/ }).waitFor()
      const groups = page.getByRole('region', { name: 'Consumer groups' })
      await groups.getByRole('link', { name: 'mail' }).first().waitFor()
      await expectLayout(page, 'topics')
      await groups.getByRole('link', { name: 'shipping' }).first().click()
      await page.getByText('0 records behind').waitFor()
      await page.getByRole('row', { name: /orders:0, orders:1, orders:2/ }).waitFor()
      await expectAccessible(page)
      await screenshot(page, 'consumer-group')
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
})
