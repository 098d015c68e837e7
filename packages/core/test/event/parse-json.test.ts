import { ParseError } from '@waybill/core'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseJson, parseJsonBytes } from '../../src/event/parse-json.ts'

function messageOf(parse: () => unknown): string {
  try {
    parse()
  } catch (thrown) {
    expect(thrown).toBeInstanceOf(ParseError)
    return (thrown as Error).message
  }
  throw new Error('It was parsed.')
}

describe('parseJson', () => {
  test('parses what JSON.parse parses', () => {
    fc.assert(
      fc.property(
        fc.json().filter((json) => !json.includes('__proto__')),
        (json) => {
          expect(parseJson(json, 'It')).toEqual(JSON.parse(json))
          expect(parseJsonBytes(Buffer.from(json), 'It')).toEqual(JSON.parse(json))
        },
      ),
    )
  })

  test('reports the position of the error, and nothing of the text', () => {
    expect(messageOf(() => parseJson('{"password":secret}', 'The payload'))).not.toContain('secret')
    expect(messageOf(() => parseJson('{"a":1 "b":2}', 'The payload'))).toMatch(
      /^The payload is not JSON: it breaks off at position 7\. /,
    )
  })

  test.each([
    '{"__proto__":1}',
    '[[{"a":{"__proto__":{"admin":true}}}]]',
    '{"\\u005f\\u005fproto\\u005F\\u005f":1}',
    '{"__pr\\u006fto__":1}',
    '{"\\u005f\\u005f\\u0070\\u0072\\u006f\\u0074\\u006f\\u005f\\u005f":1}',
  ])('refuses %s for its key', (json) => {
    expect(messageOf(() => parseJson(json, 'The payload'))).toContain('"__proto__"')
    expect(({} as Record<string, unknown>)['admin']).toBeUndefined()
  })

  test('takes the same word as a value', () => {
    expect(parseJson('{"a":"__proto__","b":"\\u005f"}', 'It')).toEqual({ a: '__proto__', b: '_' })
  })

  test('looks for the key in any depth without running out of stack', () => {
    const depth = 200_000
    const json = `${'['.repeat(depth)}{"__proto__":1}${']'.repeat(depth)}`
    expect(messageOf(() => parseJson(json, 'It'))).toContain('"__proto__"')
  })
})

describe('parseJsonBytes', () => {
  test.each([[[0xff]], [[0x22, 0xc3, 0x22]], [[0x22, 0xed, 0xa0, 0x80, 0x22]]])(
    'refuses the bytes %j as no UTF-8',
    (bytes) => {
      expect(messageOf(() => parseJsonBytes(Buffer.from(bytes), 'The payload'))).toMatch(/^The payload is not UTF-8\./)
    },
  )

  test('passes over a byte order mark', () => {
    expect(parseJsonBytes(Buffer.from('\uFEFF{"a":1}'), 'It')).toEqual({ a: 1 })
  })

  test('answers any bytes with a value or a ParseError', () => {
    fc.assert(
      fc.property(fc.uint8Array(), (bytes) => {
        try {
          parseJsonBytes(bytes, 'It')
        } catch (thrown) {
          expect(thrown).toBeInstanceOf(ParseError)
        }
      }),
    )
  })
})
