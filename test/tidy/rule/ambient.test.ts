import { describe, expect, test } from 'vitest'
import { treeOf } from '../tree.ts'
import { type AmbientOwner, findAmbient } from './ambient.ts'

const path = 'packages/core/src/a.ts'

function messagesFor(text: string, owners: readonly AmbientOwner[] = []): string[] {
  return findAmbient(treeOf({ [path]: text }), owners).map(({ message }) => message)
}

describe('a global of the process is found', () => {
  test.each([
    ['const now = Date.now()', 'Date.now'],
    ['const clock = Date.now', 'Date.now'],
    ['const now = new Date()', 'new Date()'],
    ['const now = new Date', 'new Date()'],
    ['performance.now()', 'performance'],
    ['process.hrtime.bigint()', 'process.hrtime'],
    ['setTimeout(run, 5)', 'setTimeout'],
    ['globalThis.setTimeout(run, 5)', 'setTimeout'],
    ['const later = setInterval', 'setInterval'],
    ['setImmediate(run)', 'setImmediate'],
    ['AbortSignal.timeout(5)', 'AbortSignal.timeout'],
    ['Math.random()', 'Math.random'],
    ['crypto.randomUUID()', 'crypto randomness'],
    ["import { randomBytes } from 'node:crypto'", 'crypto randomness'],
    ['process.env.HOME', 'process.env'],
    ["process.env['HOME']", 'process.env'],
    ['const { env } = process', 'process.env'],
    ['`${Date.now()}`', 'Date.now'],
    ["import { setTimeout as sleep } from 'node:timers/promises'", 'imports node:timers/promises'],
    ["import { env } from 'node:process'", 'imports node:process'],
  ])('in %j', (text, name) => {
    expect(messagesFor(text)).toContainEqual(expect.stringContaining(name))
  })
})

describe('text that only looks like one is ignored', () => {
  test.each([
    'const at = new Date(record.timestamp)',
    'const at = Date.UTC(2026, 0, 1)',
    'const text = "Date.now()"',
    '// Date.now() would jump',
    'socket.setTimeout(0)',
    'this.setTimeout(0)',
    'clearTimeout(handle)',
    'const environment = process.envelope',
    'runtime.random()',
    'process.on("SIGTERM", stop)',
  ])('in %j', (text) => {
    expect(messagesFor(text)).toEqual([])
  })

  test('outside the sources of a package', () => {
    const tree = treeOf({ 'packages/core/test/a.test.ts': 'Date.now()', 'scripts/a.ts': 'process.env' })
    expect(findAmbient(tree, [])).toEqual([])
  })
})

describe('a file that owns what it takes', () => {
  const owner = { path, names: ['Date.now'], why: 'it is the clock' }

  test('may take that', () => {
    expect(messagesFor('Date.now()', [owner])).toEqual([])
  })

  test('may take nothing else', () => {
    expect(messagesFor('Date.now() + Math.random()', [owner])).toEqual([expect.stringContaining('Math.random')])
  })

  test('loses its row when it no longer needs it', () => {
    expect(messagesFor('', [owner])).toEqual([expect.stringContaining('does not use it: remove the row')])
  })
})
