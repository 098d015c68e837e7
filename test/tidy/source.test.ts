import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { sourceOf } from './source.ts'

function breaksIn(text: string): number[] {
  return [...text.matchAll(/\n/g)].map(({ index }) => index)
}

function valuesIn(text: string): string[] {
  return [...sourceOf(text).literals.values()].map(({ value }) => value)
}

describe('code excludes comments and the insides of literals', () => {
  test.each([
    ['a // b', 'a     '],
    ['a /* b */ c', 'a         c'],
    ['a /* b', 'a     '],
    ["say('// no comment')", "say('             ')"],
    ["a('it\\'s') + b", "a('     ') + b"],
    ['"/*" + b + "*/"', '"  " + b + "  "'],
    ["'unclosed\nnext", "'        \nnext"],
    ['`text ${code} text` + b', '`     ${code}     ` + b'],
    ['`${`${inner}`}` // end', '`${`${inner}`}`       '],
    ['`${{ a: 1 }}` + b', '`${{ a: 1 }}` + b'],
    ['`\\`${code}`', '`  ${code}`'],
    ['`$5 and {braces}`', '`               `'],
    ['x = /[\'"`]/.test(y)', 'x =        .test(y)'],
    ['return /\\/[/]"/g', 'return          '],
    ["a / b / c // 'd'", 'a / b / c       '],
    ["(a) / 2 + '/'", "(a) / 2 + ' '"],
    ['#!/usr/bin/env node\na', '                   \na'],
  ])('%j becomes %j', (text, code) => {
    expect(sourceOf(text).code).toBe(code)
  })

  test('comments are kept apart, at their offsets', () => {
    expect(sourceOf("a('//') // why\nb").comments).toBe('        // why\n ')
  })
})

describe('literals have the value that the program would read', () => {
  test.each([
    [`'a' + "b"`, ['a', 'b']],
    [`'it\\'s' + "a\\tb"`, ["it's", 'a\tb']],
    ['`plain`', ['plain']],
    ['`a ${b} c`', ['a ${b} c']],
    ["`${f('inner')}`", ['inner', "${f('inner')}"]],
    [`// 'not me'\n/* "nor me" */`, []],
  ])('%j holds %j', (text, values) => {
    expect(valuesIn(text)).toEqual(values)
  })
})

test('whatever the text, nothing moves: code and comments have its length and its line breaks', () => {
  const scrap = fc.constantFrom('/', '*', '`', '${', '}', '{', "'", '"', '\\', '\n', 'a', ' ', '[', ']', '(', ')', '🎉')
  fc.assert(
    fc.property(fc.array(scrap, { maxLength: 40 }), (scraps) => {
      const text = scraps.join('')
      const { code, comments } = sourceOf(text)
      expect([code.length, comments.length]).toEqual([text.length, text.length])
      expect([breaksIn(code), breaksIn(comments)]).toEqual([breaksIn(text), breaksIn(text)])
    }),
    { numRuns: 2_000 },
  )
})
