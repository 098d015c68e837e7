import { Buffer } from 'node:buffer'
import { Readable } from 'node:stream'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ConsoleWorld, openConsoleWorld } from './support/console-world.ts'
import { describeConsole, expectAccessible, screenshot } from './support/describe-console.ts'

const markup = '<img src=x onerror="window.hurt=1"><script>window.hurt=1</script>'
// Overrides the direction of what follows, and hides characters.
const bidi = 'invoice\u202egpj.exe \u2066\u200b\u0007\u001b[31m'
const hostile = `${markup}${bidi}{{constructor}}`
// The API takes no control characters in a note.
const noteText = `${markup}invoice\u202egpj.exe`

/** Fails if a text of a record became an element, or ran. */
async function expectInert(page: Page): Promise<void> {
  expect(await page.evaluate('window.hurt')).toBeUndefined()
  expect(await page.locator('main img, main script, main iframe').count()).toBe(0)
  // Characters that turn the direction are named, never drawn.
  expect(await page.evaluate('/[\\u202a-\\u202e\\u2066-\\u2069\\u0007\\u001b]/.test(document.body.innerText)')).toBe(
    false,
  )
}

describeConsole('hostile content', ({ open }) => {
  let world: ConsoleWorld
  const ids = new Map<string, string>()
  beforeAll(async () => {
    world = await openConsoleWorld()
    await world.bury([
      {
        key: `${hostile} first`,
        value: JSON.stringify({ note: hostile }),
        headers: { [`x-${hostile}`]: hostile, eventType: hostile, __proto__x: 'y' },
        error: hostile,
      },
      { key: 'large', value: Buffer.alloc(1_000_000, 'a'), error: 'large' },
      { key: 'controls', value: '\u202e'.repeat(80_000), error: 'controls' },
      { key: 'deep', value: `${'['.repeat(20_000)}${']'.repeat(20_000)}`, error: 'deep' },
      {
        key: 'headers',
        value: 'x',
        headers: Object.fromEntries(Array.from({ length: 10_000 }, (_, at) => [`h-${at}`, 'v'])),
        error: 'many headers',
      },
    ])
    const { items } = await world.ask('/eventbus/dead-letters?limit=100')
    for (const { id, key } of items as { id: string; key: { text: string } }[]) ids.set(key.text.slice(-8), id)
    const group = items.find(({ key }: { key: { text: string } }) => key.text.includes('onerror')).group
    const note = Buffer.from(JSON.stringify({ note: noteText }))
    const answer = await world.admin.handle(
      {
        method: 'PATCH',
        url: `/eventbus/dead-letters/groups/${group}`,
        headers: {
          authorization: 'Bearer ana',
          'content-type': 'application/json',
          'content-length': String(note.length),
          'waybill-csrf': '1',
        },
        remoteAddress: '127.0.0.1',
      },
      Readable.from([note]),
    )
    if (answer.status !== 200) throw new Error(`The note is refused with ${answer.status}.`)
  })
  afterAll(() => world?.[Symbol.asyncDispose]())

  const letter = (key: string): string => `dead-letters/${encodeURIComponent(ids.get(key.slice(-8)) ?? key)}`

  test('in keys, messages, notes and events is a text in the lists', () =>
    open(world, 'failures', async (page) => {
      const row = page.getByRole('row').filter({ hasText: 'onerror' })
      await row.first().waitFor()
      await row.getByText('note by ana').waitFor()
      await expectInert(page)
      await expectAccessible(page)
      await screenshot(page, 'hostile-groups')
      await row.getByRole('link').first().click()
      await page.getByRole('row', { name: /orders\.DLT/ }).waitFor()
      await expectInert(page)
      await page.getByRole('button', { name: /^Replay 1/ }).click()
      await page.getByRole('dialog').getByText('1 can go').waitFor()
      await expectInert(page)
    }))

  test('in values, headers and errors is a text in a dead letter, and is named where it would deceive', () =>
    open(world, letter(`${hostile} first`), async (page) => {
      await page.getByText('onerror').first().waitFor()
      await page.getByText('U+202E').first().waitFor()
      await expectInert(page)
      await expectAccessible(page)
      await screenshot(page, 'hostile-letter')
      await page.getByRole('button', { name: 'Raw' }).click()
      await expectInert(page)
    }))

  test.each([
    ['large', 'the beginning only'],
    ['controls', 'U+202E'],
    ['deep', 'Decoded'],
    ['headers', '1–50 of 10'],
  ])('of a great size is shown as far as a page can take it: %s', (key, shown) =>
    open(world, letter(key), async (page) => {
      await page.getByText(shown).first().waitFor()
      await expectInert(page)
      expect(await page.evaluate('document.querySelectorAll("*").length')).toBeLessThan(8_000)
      await screenshot(page, `hostile-${key}`)
    }),
  )
})
