import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { eventually } from '@waybill/testkit'
import { expect, test } from 'vitest'

const repository = join(import.meta.dirname, '..', '..')
const flags = ['--disable-warning=ExperimentalWarning', '--conditions=@waybill/source']

/** The routes that the pages of the console read, and whether there is something to look at. */
const filled: Readonly<Record<string, (answer: Answer) => boolean>> = {
  bindings: ({ items }) =>
    items.some(({ state }) => state === 'PAUSED') && items.some(({ retrying }) => retrying !== '0'),
  'dead-letters/groups': ({ items }) => items.length >= 2,
  operations: ({ items }) => items.some(({ state }) => state === 'PLANNED') && items.length >= 3,
  outboxes: ({ items }) => items[0]?.['dead'] !== '0',
  projections: ({ items }) => items.length > 0,
  topics: ({ items }) => items.length > 5,
  audit: ({ items }) => items.some(({ by }) => by === 'ana'),
}

interface Answer {
  readonly items: readonly Readonly<Record<string, unknown>>[]
}

test('the demo serves the console with something on every page, and ends with Ctrl-C', {
  timeout: 120_000,
}, async () => {
  const program = join(repository, 'examples', 'demo', 'src', 'main.ts')
  const demo = spawn(process.execPath, [...flags, program, '--console', '--port', '0'], { cwd: repository })
  const exited = once(demo, 'exit')
  try {
    let url: string | undefined
    for await (const line of createInterface({ input: demo.stdout })) {
      url = /http:\/\/127\.0\.0\.1:\d+/.exec(line)?.[0]
      if (url !== undefined) break
    }
    const page = await fetch(`${url}/`, { headers: { accept: 'text/html' } })
    expect(await page.text()).toContain('<div id="app">')
    for (const [path, isFilled] of Object.entries(filled)) {
      await eventually(
        async () => {
          const answer = (await (await fetch(`${url}/eventbus/${path}`)).json()) as Answer
          expect({ path, isFilled: isFilled(answer) }).toEqual({ path, isFilled: true })
        },
        { deadlineMs: 60_000 },
      )
    }
    demo.kill('SIGINT')
    expect(await exited).toEqual([0, null])
  } finally {
    demo.kill('SIGKILL')
  }
})
