import { afterAll, beforeAll, test } from 'vitest'
import { type ConsoleWorld, openConsoleWorld } from './support/console-world.ts'
import { describeConsole, expectAccessible, screenshot } from './support/describe-console.ts'

describeConsole('a page without data', ({ open }) => {
  let world: ConsoleWorld
  beforeAll(async () => {
    world = await openConsoleWorld({ hasData: false })
  })
  afterAll(() => world?.[Symbol.asyncDispose]())

  test('says why it is empty, and what comes next', () =>
    open(world, '', async (page) => {
      const copy = page.getByRole('button', { name: 'Copy the code' })
      for (const [link, title, next] of [
        ['Overview', 'No bindings', copy],
        ['Failures', 'No dead letters', page.getByText('NonRetryableError')],
        ['Operations', 'Nothing yet', page.getByRole('link', { name: 'Choose dead letters to replay' })],
        ['Outbox', 'No outbox is connected', copy],
      ] as const) {
        await page.getByRole('navigation').getByRole('link', { name: link }).click()
        await page.getByText(title).first().waitFor()
        await next.waitFor()
        await expectAccessible(page)
        await screenshot(page, `empty-${link.toLowerCase()}`)
      }
      // It is not in the navigation without one.
      await page.goto(`${world.url}projections`)
      await page.getByText('No projection is connected').waitFor()
      await copy.waitFor()
    }))
})
