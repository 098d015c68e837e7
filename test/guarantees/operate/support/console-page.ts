import { type Browser, chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, inject } from 'vitest'

/** Opens a page of a console as ana, and fails for an error on the page or a request to anywhere else. */
export type OpenConsole = (
  console: { readonly url: string },
  path: string,
  program: (page: Page) => Promise<void>,
) => Promise<void>

/** Declares tests in the browser of the run. Without one they are skipped, and the run says why. */
export function describeInBrowser(title: string, define: (open: OpenConsole) => void): void {
  const found = inject('chromium')
  const endpoint = 'endpoint' in found ? found.endpoint : ''
  describe.skipIf(endpoint === '')(title, () => {
    let browser: Browser | undefined
    beforeAll(async () => {
      browser = await chromium.connect(endpoint)
    })
    afterAll(() => browser?.close())
    define(async ({ url }, path, program) => {
      const context = await browser?.newContext({
        viewport: { width: 1_280, height: 800 },
        reducedMotion: 'reduce',
        extraHTTPHeaders: { authorization: 'Bearer ana' },
      })
      if (context === undefined) throw new Error('The browser is connected while tests run.')
      try {
        const page = await context.newPage()
        page.setDefaultTimeout(30_000)
        const problems: string[] = []
        page.on('console', (message) => {
          if (message.type() === 'error') problems.push(`${message.text()} ${message.location().url}`)
        })
        page.on('pageerror', (error) => problems.push(String(error)))
        page.on('request', (request) => {
          if (!request.url().startsWith(url)) problems.push(`a request to ${request.url()}`)
        })
        await page.goto(`${url}${path}`)
        await program(page).catch(async (error: unknown) => {
          const folder = process.env['WAYBILL_SCREENSHOTS']
          if (folder !== undefined)
            await page.screenshot({ path: `${folder}/failed-${title.replaceAll(/\W+/g, '-')}.png` })
          throw error
        })
        expect(problems).toEqual([])
      } finally {
        await context.close()
      }
    })
  })
}
