/** Tests of the console in a real browser. */

import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, inject } from 'vitest'
import type { ConsoleWorld } from './console-world.ts'

/** How a page is opened. */
export interface OpenOptions {
  /** The operator's name. @defaultValue ana, who may do everything */
  readonly by?: string
  /** @defaultValue light */
  readonly theme?: 'light' | 'dark'
  readonly width?: number
  /**
   * Runs before the page is loaded: `page.route` replaces answers of the API.
   */
  readonly before?: (page: Page) => Promise<void>
  /** Messages of the console that a failing answer causes. Anything else fails the test. */
  readonly allowed?: RegExp
}

/** Opens pages of a server. */
export interface ConsoleBrowser {
  /**
   * Opens a page, runs a test, and fails it for an error on the page, a violation of the policy, or a request to anywhere else.
   * @param path - below the mount path, without a leading slash
   */
  readonly open: (
    world: Pick<ConsoleWorld, 'url'>,
    path: string,
    program: (page: Page) => Promise<void>,
    options?: OpenOptions,
  ) => Promise<void>
}

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** Declares tests that need a browser. Without one they are skipped, and the run says why. */
export function describeConsole(title: string, define: (browser: ConsoleBrowser) => void): void {
  const found = inject('chromium')
  if ('absent' in found) {
    // Why is printed at the beginning of the run.
    // oxlint-disable-next-line vitest/no-disabled-tests -- there is no browser here
    describe.skip(title, () => define({ open: async () => {} }))
    return
  }
  describe(title, () => {
    let browser: Browser | undefined
    beforeAll(async () => {
      browser = await chromium.connect(found.endpoint)
    })
    afterAll(() => browser?.close())
    define({
      async open(world, path, program, options = {}) {
        if (browser === undefined) throw new Error('The browser is connected while tests run.')
        const context = await contextOf(browser, options)
        try {
          await tryPage(context, world.url, path, program, options)
        } finally {
          await context.close()
        }
      },
    })
  })
}

function contextOf(
  browser: Browser,
  { by = 'ana', theme = 'light', width = 1_280 }: OpenOptions,
): Promise<BrowserContext> {
  return browser.newContext({
    viewport: { width, height: 800 },
    colorScheme: theme,
    reducedMotion: 'reduce',
    extraHTTPHeaders: by === '' ? {} : { authorization: `Bearer ${by}` },
  })
}

async function tryPage(
  context: BrowserContext,
  url: string,
  path: string,
  program: (page: Page) => Promise<void>,
  { before, allowed }: OpenOptions,
): Promise<void> {
  const page = await context.newPage()
  page.setDefaultTimeout(10_000)
  const problems: string[] = []
  page.on('console', (message) => {
    if (message.type() === 'error' && allowed?.test(message.text()) !== true)
      problems.push(`${message.text()} ${message.location().url}`)
  })
  page.on('pageerror', (error) => problems.push(String(error)))
  page.on('request', (request) => {
    if (!request.url().startsWith(url)) problems.push(`a request to ${request.url()}`)
  })
  await before?.(page)
  await page.goto(`${url}${path}`)
  try {
    await program(page)
  } catch (error) {
    await screenshot(page, `failed-${path.replaceAll(/\W+/g, '-')}`)
    if (problems.length > 0) throw new Error(`The page had problems: ${problems.join('\n')}`, { cause: error })
    throw error
  }
  expect(problems).toEqual([])
}

/**
 * Shows a layout in light, in dark and on a phone. Fails for a violation of WCAG in any of them, and for a phone that must
 * be scrolled sideways. The elements are the same in all three: after the first one, only rules that depend on colors or
 * sizes are tried again.
 */
export async function expectLayout(page: Page, name: string): Promise<void> {
  await expectAccessible(page)
  await screenshot(page, `${name}-light`)
  await page.emulateMedia({ colorScheme: 'dark' })
  await expectNoViolation(page, ['color-contrast', 'link-in-text-block'], 'rule')
  await screenshot(page, `${name}-dark`)
  await page.emulateMedia({ colorScheme: 'light' })
  await page.setViewportSize({ width: 390, height: 800 })
  expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
  await expectNoViolation(page, ['target-size', 'scrollable-region-focusable'], 'rule')
  await screenshot(page, `${name}-narrow`)
  await page.setViewportSize({ width: 1_280, height: 800 })
}

/** Fails for every violation of WCAG that axe finds: in the dialog if one is open, which makes the page behind it inert. */
export async function expectAccessible(page: Page): Promise<void> {
  await expectNoViolation(page, ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'], 'tag')
}

async function expectNoViolation(page: Page, values: readonly string[], type: 'tag' | 'rule'): Promise<void> {
  // The bars at the edges stay in place and would cover a part of what is behind them.
  const { width, height, isLoaded } = await page.evaluate<Readonly<Record<'width' | 'height' | 'isLoaded', number>>>(
    '({ width: innerWidth, height: document.documentElement.scrollHeight, isLoaded: window.axe ? 1 : 0 })',
  )
  await page.setViewportSize({ width, height: Math.max(800, height) })
  if (isLoaded === 0) await page.evaluate(axe)
  const violations = await page.evaluate<
    readonly { id: string; nodes: readonly { html: string; failureSummary: string }[] }[]
  >(
    `axe.run(document.querySelector('dialog[open]') ?? document, { runOnly: ${JSON.stringify({ type, values })}, resultTypes: ['violations'] }).then(({ violations }) => violations)`,
  )
  expect(
    violations.map(({ id, nodes }) => ({
      id,
      nodes: nodes.slice(0, 3).map(({ html, failureSummary }) => [html, failureSummary]),
    })),
  ).toEqual([])
}

/** Answers a part of the API with a problem. */
export function failing(pattern: string): (page: Page) => Promise<void> {
  return async (page) => {
    await page.route(pattern, (route) =>
      route.fulfill({
        status: 503,
        contentType: 'application/problem+json',
        body: JSON.stringify({
          type: 'about:blank',
          title: 'Temporarily unavailable',
          status: 503,
          code: 'WAYBILL_DATABASE_UNREACHABLE',
          detail: 'The database does not answer.',
          impact: 'Nothing was changed.',
          hint: 'Check the database, then try again.',
          instance: '/eventbus',
          requestId: '01KD0ZTEST',
        }),
      }),
    )
  }
}

/** Saves a picture to look at, if WAYBILL_SCREENSHOTS names a folder. */
export async function screenshot(page: Page, name: string): Promise<void> {
  const folder = process.env['WAYBILL_SCREENSHOTS']
  if (folder !== undefined) await page.screenshot({ path: `${folder}/${name}.png`, fullPage: false })
}
