import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { heldRows } from '../../console/format/held-rows.ts'
import { bytesOf, hexLines } from '../../console/format/hex-lines.ts'
import { inertParts } from '../../console/format/inert-text.ts'
import { indented, jsonTokens } from '../../console/format/json-tokens.ts'
import { lineDiff } from '../../console/format/line-diff.ts'
import { compact, compareDigits, grouped, percent, size } from '../../console/format/number.ts'
import { lookOf } from '../../console/format/state-look.ts'
import { ago, duration, fullTime, shortTime } from '../../console/format/time.ts'

const thin = '\u2009'

describe('numbers', () => {
  test.each([
    ['9007199254740993', `9${thin}007${thin}199${thin}254${thin}740${thin}993`],
    ['999', '999'],
    ['-1000', `-1${thin}000`],
    [1234567, `1${thin}234${thin}567`],
  ])('%s is grouped without rounding', (given, written) => {
    expect(grouped(given)).toBe(written)
  })

  test.each([
    [0, '0'],
    [0.5, '0.5'],
    [3.14, '3.1'],
    [10, '10'],
    [100, '100'],
    [1200, `1${thin}200`],
    [0.0042, '0.004'],
    [2, '2'],
  ])('%d is written with few digits', (given, written) => {
    expect(compact(given)).toBe(written)
  })

  test('shares and sizes have their unit', () => {
    expect([percent(0.094), percent(0.004), percent(1)]).toEqual([`9${thin}%`, `0.4${thin}%`, `100${thin}%`])
    expect([size(412), size(3_250_586)]).toEqual([`412${thin}B`, `3.1${thin}MiB`])
  })

  test('decimal digits compare by their value', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 2n ** 63n }), fc.bigInt({ min: 0n, max: 2n ** 63n }), (one, other) => {
        const expected = one < other ? -1 : one > other ? 1 : 0
        expect(Math.sign(compareDigits(String(one), String(other)))).toBe(expected)
      }),
    )
  })
})

describe('times', () => {
  const at = Date.UTC(2026, 10, 16, 6, 1, 40, 310)

  test('have their day only when it is another one', () => {
    expect(shortTime(at, at + 1, 'utc')).toBe('06:01:40')
    expect(shortTime(at, at + 86_400_000, 'utc')).toBe('2026-11-16 06:01:40')
    expect(fullTime(at, 'utc')).toBe('2026-11-16 06:01:40.310')
  })

  test.each([
    [0, '0 s'],
    [412, '412 ms'],
    [2_100, '2.1 s'],
    [51_000, '51 s'],
    [840_000, '14 min'],
    [190 * 60_000, '3 h 10 min'],
    [3 * 86_400_000, '3 d'],
  ])('%d ms is %s', (ms, written) => {
    expect(duration(ms)).toBe(written)
  })

  test('are told relative to now', () => {
    expect([ago(0, 400), ago(0, 3_400), ago(12_000, 0)]).toEqual(['now', '3 s ago', 'in 12 s'])
  })
})

describe('JSON for reading', () => {
  test('keeps the tokens of every JSON text, and numbers as they were written', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 4 }), (text) => {
        const tokens = jsonTokens(text) ?? []
        expect(
          JSON.parse(
            indented(tokens)
              .map((token) => token.text)
              .join(''),
          ),
        ).toEqual(JSON.parse(text))
      }),
    )
    const text = '{"total":9007199254740993,"total":1.10,"list":[],"none":{}}'
    expect(
      jsonTokens(text)
        ?.map((token) => token.text)
        .join(''),
    ).toBe(text)
    expect(
      indented(jsonTokens(text) ?? [])
        .map((token) => token.text)
        .join(''),
    ).toBe('{\n  "total": 9007199254740993,\n  "total": 1.10,\n  "list": [],\n  "none": {}\n}')
  })

  test('refuses exactly the texts that are no JSON', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom('{', '}', '[', ']', ',', ':', '"', 'a', '1', '-', '.', 'true', ' ') }),
        (text) => {
          let isJson = true
          try {
            JSON.parse(text)
          } catch {
            isJson = false
          }
          // A leading zero and a bad escape are read as they are: only the reading is at stake.
          if (/\d/.test(text) || text.includes('\\')) return
          expect(jsonTokens(text) !== undefined).toBe(isJson)
        },
      ),
      { numRuns: 2_000 },
    )
  })
})

// oxlint-disable-next-line no-control-regex -- they are what is searched
const misleading = /[\p{Bidi_Control}\u0000-\u0008\u001b\u007f\u200b\ufeff]/u

test('a text of a stranger shows what would change how it reads', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      const parts = inertParts(text)
      expect(parts.map((part) => part.text).join('')).toBe(text)
      const drawn = parts.filter(({ code }) => code === undefined).map((part) => part.text)
      expect(drawn.join('')).not.toMatch(misleading)
    }),
  )
  expect(inertParts('\u202e\u200b'.repeat(125_000)).length).toBeLessThan(600)
  expect(inertParts('a\u202eb')).toEqual([{ text: 'a' }, { text: '\u202e', code: 'U+202E' }, { text: 'b' }])
})

test('a difference of lines leads from the one text to the other', () => {
  const lines = fc.array(fc.constantFrom('a', 'b', 'c', ''), { maxLength: 12 }).map((list) => list.join('\n'))
  fc.assert(
    fc.property(lines, lines, (before, after) => {
      const diff = lineDiff(before, after)
      const side = (kind: 'removed' | 'added'): string =>
        diff
          .filter((line) => line.kind === 'same' || line.kind === kind)
          .map((line) => line.text)
          .join('\n')
      expect([side('removed'), side('added')]).toEqual([before, after])
    }),
  )
  expect(lineDiff('a\nb\nc', 'a\nx\nc').map(({ kind, text }) => `${kind} ${text}`)).toEqual([
    'same a',
    'removed b',
    'added x',
    'same c',
  ])
})

test('bytes are shown sixteen in a line, whatever they are', () => {
  const bytes = bytesOf({ encoding: 'base64', text: Buffer.from([0, 65, 255, 10]).toString('base64') })
  expect(hexLines(bytes, 0, 4)).toEqual([{ offset: '00000000', hex: '00 41 ff 0a', text: '·A··' }])
  expect(hexLines(new Uint8Array(40), 16, 1)).toMatchObject([{ offset: '00000010' }])
})

test('held rows stay in their order, with new values; new ones wait', () => {
  const rows = [
    { id: 'c', n: 9 },
    { id: 'a', n: 2 },
  ]
  expect(heldRows(rows, ({ id }) => id, ['a', 'b'])).toEqual({ shown: [{ id: 'a', n: 2 }], waiting: 1 })
  expect(heldRows(rows, ({ id }) => id, undefined)).toEqual({ shown: rows, waiting: 0 })
})

test('a state of a newer server, or a hostile one, is shown by its name', () => {
  expect(lookOf('constructor')).toEqual({ tone: 'off', glyph: '○' })
  expect(lookOf('OPEN', 'BREAKER')).toEqual({ tone: 'bad', glyph: '⊘' })
})
