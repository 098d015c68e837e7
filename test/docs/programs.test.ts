/**
 * Code in the documentation is code that runs. Every `ts` block of README.md and docs/ is a whole program: the tests
 * type-check it as strictly as our own code, and run it on the sources with the command of the tutorial. A `text` block
 * that follows it, with at most one line between, is exactly its output.
 */

import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

const run = promisify(execFile)
const root = join(import.meta.dirname, '../..')
const onSources = '--conditions=@waybill/source'

interface Snippet {
  readonly title: string
  readonly code: string
  readonly prints: string | undefined
}

function snippetsOf(path: string, markdown: string): Snippet[] {
  const block = /^```ts\n(.*?)^```\n(?:\n?[^\n`]*\n?\n?^```text\n(.*?)^```)?/gms
  return [...markdown.matchAll(block)].map((match) => ({
    title: `${path}:${markdown.slice(0, match.index).split('\n').length}`,
    code: match[1] ?? '',
    prints: match[2],
  }))
}

const pages = [
  'README.md',
  ...(await readdir(join(root, 'docs'), { recursive: true })).map((page) => join('docs', page)),
]
const snippets: Snippet[] = []
for (const page of pages.filter((path) => path.endsWith('.md')).toSorted()) {
  snippets.push(...snippetsOf(page, await readFile(join(root, page), 'utf8')))
}

// Inside the repository, so that the snippets resolve packages as a user's project would.
await mkdir(join(root, '.waybill'), { recursive: true })
const folder = await mkdtemp(join(root, '.waybill', 'snippets-'))
const fileOf = (index: number): string => join(folder, `snippet-${index}.ts`)

beforeAll(async () => {
  await Promise.all(snippets.map(({ code }, index) => writeFile(fileOf(index), code)))
  const base = relative(folder, join(root, 'tsconfig.dev.json'))
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ extends: base, include: ['*.ts'] }))
})

afterAll(() => rm(folder, { recursive: true, force: true }))

test('the tutorial tells the command that runs its programs here', async () => {
  const tutorial = await readFile(join(root, 'docs', 'tutorial', 'first-event.md'), 'utf8')
  expect(tutorial).toContain(`\nnpx node ${onSources} first-event.ts\n`)
})

test('the documentation has programs in it', () => {
  expect(snippets.length).toBeGreaterThan(3)
})

test('every program in the documentation type-checks', async () => {
  const checked = run(join(root, 'node_modules', '.bin', 'tsc'), ['-p', folder]).catch(
    (error: { stdout: string }) => error,
  )
  const { stdout } = await checked
  const named = stdout.replaceAll(
    /\S*snippet-(\d+)\.ts/g,
    (_, index: string) => snippets[Number(index)]?.title ?? index,
  )
  expect(named).toBe('')
})

// A program mostly loads and waits: some at a time.
describe.concurrent('a program in the documentation runs and prints what the page says', () => {
  test.each(snippets.map((snippet, index) => ({ ...snippet, index })))('$title', async ({ index, prints }) => {
    const { stdout } = await run(process.execPath, [onSources, fileOf(index)], { timeout: 20_000 })
    if (prints !== undefined) expect(stdout).toBe(prints)
  })
})
