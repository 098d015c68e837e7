import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { apiPage, exportedNames } from '../scripts/lib/api-page.ts'
import { apiPagePath, readApiPage, readEntries } from '../scripts/lib/read-api-page.ts'

const root = join(import.meta.dirname, '..')
const read = (path: string): string => readFileSync(join(root, path), 'utf8')

/** Reads an entry whose re-export leads to an empty file. */
const entryOnly = (path: string): string => (path.endsWith('index.ts') ? "export { gone } from './gone.ts'\n" : '')

describe('docs/reference/api.md', () => {
  test('lists every exported name as the sources have it: run `npm run api` after a change', () => {
    expect(read(apiPagePath)).toBe(readApiPage(root))
  })

  test('gives every exported name a meaning', () => {
    const names = readEntries(root).flatMap(({ source }) => exportedNames(source, read))
    expect(names.length).toBeGreaterThan(200)
    expect(names.filter(({ meaning }) => meaning === '').map(({ name }) => name)).toEqual([])
  })

  test('keeps the roots of all packages at 450 names or fewer', () => {
    const roots = readEntries(root).filter(({ specifier }) => /^@waybill\/[\w-]+$/.test(specifier))
    const perPackage = roots.map(({ source }) => exportedNames(source, read).length)
    expect(perPackage.reduce((sum, count) => sum + count)).toBeLessThanOrEqual(450)
  })
})

describe('the API page of a package', () => {
  const files: Readonly<Record<string, string>> = {
    'packages/shop/src/index.ts':
      "export { type Order, place } from './order.ts'\nexport type { Clock } from '@waybill/core'\n",
    'packages/shop/src/order.ts':
      '/** An order of a customer: paid or not. It never changes. */\nexport interface Order {}\n\n/**\n * Places an\n * {@link Order}. @throws never\n */\nexport async function place() {}\n',
    'packages/core/src/index.ts': "export type { Clock } from './clock.ts'\n",
    'packages/core/src/clock.ts': '/** Reads the time | the zone */\nexport type Clock = () => number\n',
  }
  const readFile = (path: string): string => files[path] ?? ''

  test('takes the first sentence of each doc comment, also through another package', () => {
    expect(exportedNames('packages/shop/src/index.ts', readFile)).toEqual([
      { name: 'Clock', kind: 'type', meaning: 'Reads the time \\| the zone' },
      { name: 'Order', kind: 'type', meaning: 'An order of a customer.' },
      { name: 'place', kind: 'function', meaning: 'Places an `Order`.' },
    ])
  })

  test('links pages whose code names the export, not those whose prose has the word', () => {
    const pages = [
      { path: 'docs/how-to/prose.md', text: 'You place an Order.' },
      { path: 'docs/how-to/code.md', text: 'Call `place(order)`.' },
    ]
    const page = apiPage([{ specifier: '@waybill/shop', source: 'packages/shop/src/index.ts' }], readFile, pages)
    expect(page).toContain('| `place` | function | Places an `Order`. | [code](../how-to/code.md) |')
    expect(page).toContain('| `Order` | type | An order of a customer. |  |')
  })

  test('refuses an entry that exports a name that no file declares', () => {
    expect(() => exportedNames('packages/none/src/index.ts', entryOnly)).toThrow('neither declares nor re-exports gone')
  })
})
