import { createFaultProxy } from '@waybill/testkit'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ConsoleWorld, openConsoleWorld } from './support/console-world.ts'
import { describeConsole } from './support/describe-console.ts'

const status = (page: Page, name: RegExp | string) =>
  page.getByRole('contentinfo').getByRole('button', { name, exact: true })

describeConsole('live values', ({ open }) => {
  let world: ConsoleWorld
  beforeAll(async () => {
    world = await openConsoleWorld({ viewer: 'ALL' })
  })
  afterAll(() => world?.[Symbol.asyncDispose]())

  test('show at once in one browser what another one does, and a command that comes too late says so', () =>
    open(
      world,
      'failures?binding=shipping',
      async (watching) => {
        await watching.getByRole('button', { name: 'Replay 12 matching…' }).click()
        const dialog = watching.getByRole('dialog')
        await dialog.getByText('12 can go').waitFor()
        await dialog.getByLabel('Reason').fill('INC-311')
        await dialog.getByRole('button', { name: 'Replay 5 first' }).click()
        // The first ones fail again: it stops by its rule, and waits for a decision.
        await watching.getByText('Stopped by its rule').waitFor()
        await watching.getByRole('button', { name: 'Cancel…' }).click()
        await dialog.getByLabel('Reason').fill('too late')
        const path = new URL(watching.url()).pathname.slice(1)
        await open(
          world,
          path,
          async (acting) => {
            await acting.getByRole('button', { name: 'Cancel…' }).click()
            const cancel = acting.getByRole('dialog')
            await cancel.getByLabel('Reason').fill('not fixed yet')
            await cancel.getByRole('button', { name: 'Cancel the operation' }).click()
            await acting.getByText('Cancelled', { exact: true }).waitFor()
          },
          { by: 'ben' },
        )
        // The page follows by itself, and keeps what was typed in its dialog.
        await watching.getByText('Cancelled', { exact: true }).waitFor()
        expect(await dialog.getByLabel('Reason').inputValue()).toBe('too late')
        await dialog.getByRole('button', { name: 'Cancel the operation' }).click()
        await dialog
          .getByText(/CANCELLED/)
          .first()
          .waitFor()
        await dialog.getByRole('button', { name: 'Keep it' }).click()
        await watching.getByText('not fixed yet').first().waitFor()
      },
      { allowed: /409/ },
    ))

  test('are shown as disconnected when a proxy cuts the stream, come back by themselves, and miss nothing', async () => {
    const port = Number(new URL(world.url).port)
    const proxy = createFaultProxy({ target: { port } })
    await proxy.start()
    try {
      await open(
        { url: `http://127.0.0.1:${proxy.port}/` },
        '',
        async (page) => {
          const mail = page.getByRole('row', { name: /^mail/ })
          await mail.getByText('RUNNING').waitFor()
          await status(page, /live/).waitFor()
          // Cut, and new connections are refused.
          proxy.refuse()
          proxy.cut()
          await status(page, /reconnecting/).waitFor()
          // The values stay, and another operator changes one of them meanwhile.
          await mail.getByText('RUNNING').waitFor()
          await world.connector.admin.pause('mail', { by: 'ben', reason: 'INC-312' })
          proxy.heal()
          await status(page, /live/).waitFor({ timeout: 20_000 })
          await mail.getByText('PAUSED').waitFor()
          await world.connector.admin.resume('mail', { by: 'ben', reason: 'INC-312' })
          await mail.getByText('RUNNING').waitFor()
        },
        { allowed: /ERR_CONNECTION|ERR_EMPTY_RESPONSE|ERR_NETWORK|ERR_INCOMPLETE_CHUNKED/ },
      )
    } finally {
      await proxy.stop()
    }
  })
})
