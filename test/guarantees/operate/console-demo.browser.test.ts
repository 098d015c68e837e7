import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { scale } from '../support/scale.ts'
import { describeInBrowser } from './support/console-page.ts'

const root = join(import.meta.dirname, '..', '..', '..')
const program = join(root, 'examples', 'demo', 'src', 'main.ts')
/** The folder of pictures to look at, if there is one; those of the docs with WAYBILL_PICTURES. */
const folder = process.env['WAYBILL_SCREENSHOTS']
const ofDocs = process.env['WAYBILL_PICTURES'] === undefined ? undefined : join(root, 'docs', 'images')
const slow = { timeout: 60_000 }

async function startDemo(): Promise<{ readonly child: ChildProcess; readonly url: string }> {
  const child = spawn(process.execPath, ['--conditions=@waybill/source', program, '--console', '--port', '0'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  for await (const line of createInterface({ input: child.stdout })) {
    const url = /http:\S+/.exec(line)?.[0]
    if (url !== undefined) return { child, url }
  }
  throw new Error('The demo has ended.')
}

/** Takes a picture in both themes, and one of a phone. */
async function picture(page: Page, name: string, isInDocs = false): Promise<void> {
  const places = [...(folder === undefined ? [] : [folder]), ...(isInDocs && ofDocs !== undefined ? [ofDocs] : [])]
  if (places.length === 0) return
  for (const theme of ['dark', 'light'] as const) {
    await page.emulateMedia({ colorScheme: theme })
    for (const place of places) await page.screenshot({ path: join(place, `console-${name}-${theme}.png`) })
  }
  if (folder === undefined || (await page.getByRole('dialog').count()) > 0) return
  await page.setViewportSize({ width: 390, height: 800 })
  await page.screenshot({ path: join(folder, `console-${name}-narrow.png`), fullPage: true })
  await page.setViewportSize({ width: 1_280, height: 800 })
}

// It takes a minute: npm run guarantees:console, or with a folder for its pictures.
describe.runIf(scale === 'WHOLE' || ofDocs !== undefined || folder !== undefined)('the demo of the console', () => {
  describeInBrowser('in a browser', (open) => {
    test('has data on every page, and a story to follow', async () => {
      const { child, url } = await startDemo()
      try {
        await open({ url }, '', async (page) => {
          const nav = page.getByRole('navigation', { name: 'Pages' })
          const to = (name: string): Promise<void> => nav.getByRole('link', { name }).click()
          const shipping = page.getByRole('row', { name: /^shipping/ })
          await shipping.getByText('RUNNING').waitFor(slow)
          await page
            .getByRole('row', { name: /^billing/ })
            .getByText('PAUSED')
            .waitFor(slow)
          await page.getByRole('row', { name: /^fraud-check/ }).waitFor(slow)
          await page
            .getByRole('row', { name: /REPLAY/ })
            .first()
            .waitFor(slow)
          // The first rate is known after ten seconds.
          await expect.poll(() => page.locator('.tile-value').first().innerText(), slow).toMatch(/^[1-9]/)
          await picture(page, 'overview', true)
          await shipping.getByRole('link', { name: 'shipping' }).click()
          await page.getByRole('figure').first().locator('canvas').waitFor(slow)
          await picture(page, 'binding')
          await page.getByRole('link', { name: 'Partitions' }).click()
          await page
            .getByRole('row', { name: /shop\.orders/ })
            .first()
            .waitFor(slow)
          await picture(page, 'partitions')
          await page.getByRole('link', { name: 'Configuration' }).click()
          await page.getByRole('row', { name: /^groupId/ }).waitFor(slow)
          await picture(page, 'configuration')
          await page.getByRole('link', { name: 'Audit' }).last().click()
          await page.getByText(/0 unaccounted/).waitFor(slow)
          await picture(page, 'loss-audit')
          await to('Failures')
          const carrier = page.getByRole('row', { name: /There is no carrier/ })
          await carrier.waitFor(slow)
          await picture(page, 'failures', true)
          await carrier.getByRole('link').first().click()
          await page
            .getByRole('row', { name: /shop\.orders/ })
            .first()
            .waitFor(slow)
          await picture(page, 'group')
          await page.getByRole('button', { name: /^Replay \d+ matching/ }).click()
          await page
            .getByRole('dialog')
            .getByText(/can go/)
            .waitFor(slow)
          await picture(page, 'replay', true)
          await page.keyboard.press('Escape')
          await page
            .getByRole('row', { name: /shop\.orders/ })
            .first()
            .getByRole('link')
            .click()
          await page.getByRole('heading', { name: 'Payload' }).waitFor(slow)
          await picture(page, 'dead-letter')
          await page.getByRole('button', { name: 'Edit & replay…' }).click()
          await page.getByRole('dialog').getByRole('textbox', { name: 'New value' }).fill('{"orderId":"o-1"}')
          await page.getByRole('dialog').getByText('INVALID').waitFor(slow)
          await picture(page, 'edit')
          await page.keyboard.press('Escape')
          await to('Operations')
          await page
            .getByRole('row', { name: /REPLAY/ })
            .first()
            .waitFor(slow)
          await picture(page, 'operations')
          await page
            .getByRole('row', { name: /PAUSED/ })
            .first()
            .getByRole('link')
            .first()
            .click()
          await page.getByRole('heading', { name: 'REPLAY shipping' }).waitFor(slow)
          await picture(page, 'operation')
          await to('Outbox')
          await page.getByRole('link', { name: 'orders', exact: true }).click()
          await page
            .getByRole('row', { name: /stock\.counted/ })
            .first()
            .waitFor(slow)
          await picture(page, 'outbox')
          await to('Projections')
          await page.getByRole('link', { name: 'open_orders' }).click()
          await page.getByRole('row', { name: /LIVE/ }).waitFor(slow)
          await picture(page, 'projection')
          await to('Topics')
          await page
            .getByRole('row', { name: /^shop\.orders/ })
            .first()
            .waitFor(slow)
          await picture(page, 'topics')
          await to('Audit')
          await page.getByRole('row', { name: /PAUSE billing/ }).waitFor(slow)
          await picture(page, 'audit')
          await page.getByRole('link', { name: /^local operator/ }).click()
          await page.getByRole('group', { name: 'Keys' }).waitFor(slow)
          await picture(page, 'me')
        })
      } finally {
        child.kill('SIGINT')
        if (child.exitCode === null) await once(child, 'exit')
      }
    }, 300_000)
  })
})
