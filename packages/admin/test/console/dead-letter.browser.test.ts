import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ConsoleWorld, openConsoleWorld } from './support/console-world.ts'
import { describeConsole, expectAccessible, expectLayout, failing, screenshot } from './support/describe-console.ts'

describeConsole('dead letters', ({ open }) => {
  let world: ConsoleWorld
  let ids: ReadonlyMap<string, string>
  let group = ''
  beforeAll(async () => {
    world = await openConsoleWorld({ admin: { editing: { headers: 'CUSTOM' } } })
    await world.bury([
      { value: '{"orderId":"o-17","total":19.99,"big":9007199254740993}', headers: { tenant: 'acme', note: 'x' } },
    ])
    const { items } = await world.ask('/eventbus/dead-letters?limit=100')
    ids = new Map(items.map((one: { key: { text: string }; id: string }) => [one.key.text, one.id]))
    group = items.find((one: { key: { text: string } }) => one.key.text === 'bad-3').group
  })
  afterAll(() => world?.[Symbol.asyncDispose]())

  const letterOf = (key: string): string => {
    const id = ids.get(key)
    if (id === undefined) throw new Error(`${key} is no dead letter`)
    return `dead-letters/${encodeURIComponent(id)}`
  }

  test('show how they died and what they hold, in both themes and on a phone, and their bytes raw and in hex', () =>
    open(world, letterOf('planted-0'), async (page) => {
      await page.getByText('9007199254740993').waitFor()
      await page.getByText('19.99').waitFor()
      await page.getByRole('listitem').filter({ hasText: 'in memory' }).getByText('1 call').waitFor()
      await page.getByText('own code').first().waitFor()
      const tenant = page.getByRole('row', { name: /^tenant/ })
      await tenant.getByText('acme').waitFor()
      await page.getByText('locked', { exact: true }).first().waitFor()
      await expectLayout(page, 'dead-letter')
      await page.getByRole('button', { name: 'Raw' }).click()
      await page.getByText('{"orderId":"o-17","total":19.99,"big":9007199254740993}').waitFor()
      await page.getByRole('button', { name: 'Hex' }).click()
      await page.getByText('7b 22 6f 72').waitFor()
      expect(new URL(page.url()).search).toBe('?view=hex')
      const link = await page.getByRole('link', { name: /^Download/ }).getAttribute('href')
      const answer = await page.request.get(link ?? '')
      expect(answer.headers()['content-disposition']).toContain('attachment')
      expect(String(await answer.body())).toBe('{"orderId":"o-17","total":19.99,"big":9007199254740993}')
    }))

  test('are listed by group, selected by keys, and opened', () =>
    open(world, `failures/${group}`, async (page) => {
      await page.getByRole('button', { name: 'Replay 12 matching…' }).waitFor()
      await expectLayout(page, 'group')
      await page.keyboard.press('j')
      await page.keyboard.press('x')
      await page.keyboard.press('j')
      await page.keyboard.press('x')
      await page.getByRole('button', { name: 'Replay 2 selected…' }).waitFor()
      await page.keyboard.press('r')
      await page.getByRole('dialog').getByText('2 can go').waitFor()
      await page.keyboard.press('Escape')
      await page.getByRole('dialog').waitFor({ state: 'detached' })
      await page.keyboard.press('Enter')
      await page.getByRole('heading', { name: 'Payload' }).waitFor()
      const first = page.url()
      await page.keyboard.press('j')
      await page.waitForURL((url) => url.href !== first)
      await page.getByRole('heading', { name: 'Payload' }).waitFor()
      await page.keyboard.press('k')
      await page.waitForURL(first)
      await page.getByRole('heading', { name: 'Payload' }).waitFor()
      await page.keyboard.press('Escape')
      await page.waitForURL((url) => url.pathname.endsWith(`/failures/${group}`))
    }))

  test('are edited with a difference and a verdict, and sent only with a reason', () =>
    open(
      world,
      letterOf('planted-0'),
      async (page) => {
        await page.getByRole('heading', { name: 'Payload' }).waitFor()
        await page.keyboard.press('e')
        const dialog = page.getByRole('dialog', { name: 'Edit & replay' })
        const send = dialog.getByRole('button', { name: 'Replay the edited copy' })
        expect(await send.getAttribute('title')).toBe('Nothing is changed.')
        const value = dialog.getByRole('textbox', { name: 'New value' })
        await value.fill('{"orderId":"o-17","total":1999,"big":9007199254740993}')
        await dialog.getByText('NOT_CHECKED').waitFor()
        await dialog.getByText('$.total').waitFor()
        const removed = dialog.locator('.diff-removed')
        expect(await removed.count()).toBe(1)
        await expectAccessible(page)
        await screenshot(page, 'edit')
        expect(await send.getAttribute('title')).toBe('Say why.')
        await dialog.getByLabel('Reason').fill('INC-311')
        // Another operator is faster: the typed text stays.
        await page.route('**/edit', (route) =>
          route.fulfill({
            status: 409,
            contentType: 'application/problem+json',
            body: JSON.stringify({ title: 'Changed', status: 409, code: 'X', detail: 'ben replayed it.' }),
          }),
        )
        await send.click()
        await dialog.getByText('ben replayed it.').waitFor()
        expect(await value.inputValue()).toContain('1999')
      },
      { allowed: /409/ },
    ))

  test('hide payloads from a viewer, and say what it takes to see them', () =>
    open(
      world,
      letterOf('bad-3'),
      async (page) => {
        await page.getByText('Needs payloads:read.').first().waitFor()
        expect(await page.getByText('bad-3').count()).toBe(0)
        expect(await page.getByRole('button', { name: 'Replay…', exact: true }).getAttribute('title')).toBe(
          'You lack dlt:replay.',
        )
        await expectAccessible(page)
        await screenshot(page, 'dead-letter-viewer')
      },
      { by: 'viewer' },
    ))

  test('say that they are gone, and where to look', () =>
    open(
      world,
      letterOf('bad-3'),
      async (page) => {
        await page.getByText('This dead letter is gone').waitFor()
        await page.getByRole('link', { name: 'Purges in the audit log' }).waitFor()
      },
      {
        allowed: /410/,
        async before(page) {
          await page.route('**/eventbus/dead-letters/*', (route) =>
            route.fulfill({
              status: 410,
              contentType: 'application/problem+json',
              body: JSON.stringify({ title: 'Gone', status: 410, code: 'X', detail: 'The log begins behind it.' }),
            }),
          )
        },
      },
    ))

  test('show a failure with its help, and say that their group has no letters any more', () =>
    open(
      world,
      letterOf('bad-3'),
      async (page) => {
        await page.getByText('Check the database, then try again.').first().waitFor()
        await page.goto(`${world.url}failures/000000000000`)
        await page.getByText('There is no such group any more').waitFor()
        await expectAccessible(page)
      },
      { before: failing('**/eventbus/dead-letters/*'), allowed: /503|404/ },
    ))
})
