import { describe, expect, test } from 'vitest'
import { anchorsOf, linksOf, proseOf, tableRowsOf } from './markdown.ts'

describe('links are found in prose', () => {
  test.each([
    ['see [a](a.md)', ['a.md']],
    ['see [`a`](a.md#b "title") and ![c](c.png)', ['a.md#b', 'c.png']],
    ['[![badge](b.svg)](a.md)', ['b.svg', 'a.md']],
    ['see [a][one]\n\n[one]: a.md', ['a.md']],
    ['see [a][two]', ['[two]']],
    ['`[a](a.md)` and ``[`b`](b.md)``', []],
    ['```md\n[a](a.md)\n```\n[b](b.md)', ['b.md']],
    ['- item\n  ~~~\n  [a](a.md)\n  ~~~', []],
    ['<!-- [a](a.md) -->', []],
  ])('%j', (text, targets) => {
    expect(linksOf(text).map(({ target }) => target)).toEqual(targets)
  })

  test('blanking code moves nothing', () => {
    expect(proseOf('a `b`\n```\nc\n```\nd')).toBe('a    \n   \n \n   \nd')
  })
})

describe('a heading makes the anchor GitHub makes', () => {
  test.each([
    ['# One two', 'one-two'],
    ['## `code`: and, (more)!', 'code-and-more'],
    ['### [linked](x.md) text ###', 'linked-text'],
    ['## WAYBILL_STATE_INVALID', 'waybill_state_invalid'],
    ['# Über 3 – x', 'über-3--x'],
    ['<a id="by-hand"></a>', 'by-hand'],
  ])('%j', (text, anchor) => {
    expect([...anchorsOf(text)]).toEqual([anchor])
  })

  test('repeated headings are numbered, and code has none', () => {
    expect([...anchorsOf('# A\n# A\n```sh\n# B\n```\n')]).toEqual(['a', 'a-1'])
  })
})

test('table rows are read without heading and underline, with escaped bars inside a cell', () => {
  const text = '| id | title |\n|---|:-:|\n| 1 | a \\| b |\n\n```\n| no | row |\n```\n'
  expect(tableRowsOf(text)).toEqual([{ cells: ['1', 'a | b'], line: 3 }])
})
