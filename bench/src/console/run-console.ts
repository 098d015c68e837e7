/**
 * The console in a real browser, beside its budgets: the size of its first chunk, the time until it shows data, the time a
 * long list and a long chart take to draw, and the memory of a page that stays open under a busy stream.
 */

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { type Browser, chromium, type Page } from 'playwright-core'
import type { BenchOptions } from '../bench-options.ts'
import { compare } from '../statistics.ts'
import { letterGroup, letterPage, seriesOf } from './answers.ts'
import { startConsoleServer } from './console-server.ts'
import { busyStream, noteDrawn } from './in-page.ts'

const built = join(import.meta.dirname, '../../../packages/admin/dist/console')
const browsers = [
  '/usr/bin/chromium-headless-shell',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
]
/** A round of the soak. */
const soakMs = 120_000
const eventsPerSecond = 1_000
/** Runs only if `--only soak` asks for it. */
const longSoak = `soak of 10 minutes under ${eventsPerSecond} events/s`

/** Opens a page, measures, and closes it. */
type Measure = (program: (page: Page) => Promise<number>) => Promise<number>

interface Case {
  readonly name: string
  readonly unit: string
  readonly budget: number
  /** Whether it takes minutes: `--only` must name it. */
  readonly isLong?: boolean
  readonly measure: (measure: Measure, url: string, progress: BenchOptions['progress']) => Promise<number>
}

const cases: readonly Case[] = [
  {
    name: 'first chunk with styles',
    unit: 'KB gzip',
    budget: 120,
    measure: async () => firstChunkBytes() / 1_000,
  },
  {
    name: 'cold start to the first binding',
    unit: 'ms',
    budget: 1_000,
    measure: (measure, url) =>
      measure(async (page) => {
        await page.goto(url, { waitUntil: 'commit' })
        return page.evaluate<number>(`whenDrawn('tr[data-row="shipping"]', 1)`)
      }),
  },
  {
    name: 'a page of 100 of 100,000 dead letters',
    unit: 'ms',
    budget: 30,
    measure: (measure, url) => measure((page) => timeNextLetters(page, url)),
  },
  {
    name: 'charts of 10,000 points',
    unit: 'ms',
    budget: 50,
    measure: (measure, url) => measure((page) => timeChart(page, url)),
  },
  {
    name: `growth under ${eventsPerSecond} events/s, ${soakMs / 60_000} minutes a round`,
    unit: 'MB',
    budget: 5,
    measure: (measure, url) => measure((page) => heapGrowth(page, url)),
  },
  {
    name: longSoak,
    unit: 'MB',
    budget: 5,
    isLong: true,
    measure: (measure, url, progress) => measure((page) => soak(page, url, progress)),
  },
]

/** Measures every case. @throws Error without a browser, or before `npm run build` */
export async function runConsoleBench({ rounds, only, progress, report }: BenchOptions): Promise<void> {
  const executablePath = browsers.find((path) => existsSync(path))
  if (executablePath === undefined)
    throw new Error(`No browser at ${browsers.join(', ')}: apt-get install chromium-headless-shell.`)
  if (!existsSync(join(built, 'index.html'))) throw new Error('The console is not built. Run `npm run build` first.')
  await using server = await startConsoleServer()
  const selected = cases.filter(({ name, isLong = false }) => name.includes(only) && (!isLong || only !== ''))
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] })
  try {
    for (const { name, unit, budget, measure } of selected) {
      const values: number[] = []
      for (let round = 1; round <= rounds; round++) {
        progress(`${name}: round ${round} of ${rounds}`)
        values.push(await measure(inFreshPage(browser), server.url, progress))
      }
      const budgets = values.map(() => budget)
      report(compare({ bench: 'console', case: name, unit, reference: 'budget' }, values, budgets, true))
    }
  } finally {
    await browser.close()
  }
}

/** Each measurement has a cache and a storage of its own, so none profits from the one before. */
function inFreshPage(browser: Browser): Measure {
  return async (program) => {
    const context = await browser.newContext({ viewport: { width: 1_280, height: 800 } })
    try {
      const page = await context.newPage()
      await page.addInitScript(noteDrawn)
      return await program(page)
    } finally {
      await context.close()
    }
  }
}

/** Returns the bytes that a cold browser loads before it can draw: the page, its script and its styles. */
function firstChunkBytes(): number {
  const page = readFileSync(join(built, 'index.html'), 'utf8')
  const files = readdirSync(join(built, 'assets')).filter((name) => page.includes(name))
  const texts = [Buffer.from(page), ...files.map((name) => readFileSync(join(built, 'assets', name)))]
  return texts.reduce((sum, text) => sum + gzipSync(text).length, 0)
}

/** Returns the time from the last byte of the answer to the frame that shows it, for the second page of a group. */
async function timeNextLetters(page: Page, url: string): Promise<number> {
  await page.route('**/eventbus/dead-letters/groups/a1', (route) => route.fulfill({ json: letterGroup }))
  await page.route('**/eventbus/dead-letters?*', (route) => {
    const cursor = new URL(route.request().url()).searchParams.get('cursor')
    return route.fulfill({ json: letterPage(Number(cursor?.split('-')[1] ?? 0)) })
  })
  await page.goto(`${url}failures/a1`)
  await page.locator('tr[data-row="orders.DLT:0:0"]').waitFor()
  await page.evaluate(`void (window.drawn.next = whenDrawn('tr[data-row="orders.DLT:4:100"]', 1))`)
  await page.keyboard.press(']')
  return page.evaluate<number>(`drawn.next.then((at) => at - lastAnswerAt('dead-letters?'))${lastAnswerAt}`)
}

/** Returns the time from the last byte of the last series to the frame that shows its chart. */
async function timeChart(page: Page, url: string): Promise<number> {
  await page.route('**/eventbus/bindings/*/series*', (route) => {
    const metric = new URL(route.request().url()).searchParams.get('metric') ?? ''
    return route.fulfill({ json: seriesOf(metric, 10_000) })
  })
  await page.goto(`${url}bindings/shipping`, { waitUntil: 'commit' })
  return page.evaluate<number>(`whenDrawn('.chart canvas', 2).then((at) => at - lastAnswerAt('series'))${lastAnswerAt}`)
}

const lastAnswerAt = `; function lastAnswerAt(part) {
  return Math.max(...performance.getEntriesByType('resource').filter(({ name }) => name.includes(part)).map(({ responseEnd }) => responseEnd))
}`

/** Returns how many megabytes the page holds more at the end of a round than after its first quarter. */
async function heapGrowth(page: Page, url: string): Promise<number> {
  await openBusy(page, url)
  await sleep(soakMs / 4)
  const before = await heldMb(page)
  await sleep((soakMs * 3) / 4)
  const after = await heldMb(page)
  await requireEvents(page, soakMs)
  return Math.max(0.1, after - before)
}

const minuteMs = 60_000
const soakMinutes = 10

/** Returns how many megabytes the page holds more after ten minutes than after one, and prints the heap of each minute. */
async function soak(page: Page, url: string, progress: BenchOptions['progress']): Promise<number> {
  await openBusy(page, url)
  const held: number[] = []
  for (let minute = 1; minute <= soakMinutes; minute++) {
    await sleep(minuteMs)
    const megabytes = await heldMb(page)
    held.push(megabytes)
    progress(`${longSoak}: minute ${minute}, heap ${megabytes.toFixed(1)} MB`)
  }
  await requireEvents(page, soakMinutes * minuteMs)
  return Math.max(0.1, (held.at(-1) ?? 0) - (held[0] ?? 0))
}

async function openBusy(page: Page, url: string): Promise<void> {
  await page.addInitScript(busyStream(eventsPerSecond))
  await page.goto(url)
  await page.locator('tr[data-row="b-0"]').waitFor()
}

/** @throws Error if the page got less than half of the events */
async function requireEvents(page: Page, forMs: number): Promise<void> {
  const sent = await page.evaluate<number>('sentEvents')
  if (sent < (eventsPerSecond * forMs) / 2_000)
    throw new Error(`Only ${sent} events were sent: the machine is too busy.`)
}

async function heldMb(page: Page): Promise<number> {
  const session = await page.context().newCDPSession(page)
  await session.send('HeapProfiler.collectGarbage')
  const { usedSize } = await session.send('Runtime.getHeapUsage')
  await session.detach()
  return usedSize / 1e6
}
