import { ArgumentError, JsonCodecError } from '@waybill/core'
import { defaultJsonCodec } from '@waybill/core/internal'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'

const wellFormed = fc.string({ unit: 'binary' }).filter((text) => text.isWellFormed())

/** Creates a map that only JavaScript callers can pass. */
function mapOf(...entries: [unknown, unknown][]): Map<string, string | null> {
  return new Map(entries) as Map<string, string | null>
}

function readOrThrown(json: string): Map<string, string> | JsonCodecError {
  try {
    return defaultJsonCodec.parseObject(json)
  } catch (error) {
    if (error instanceof JsonCodecError) return error
    throw error
  }
}

describe('the default JSON codec writes', () => {
  test.each([
    ['null', null],
    ['undefined', undefined],
    ['an empty map', new Map<string, string>()],
  ])('null for %s', (_, entries) => {
    expect(defaultJsonCodec.toJson(entries)).toBeNull()
  })

  test('a flat object, in the order of the map', () => {
    expect(
      defaultJsonCodec.toJson(
        new Map([
          ['b', '1'],
          ['2', 'x'],
          ['a', ''],
        ]),
      ),
    ).toBe('{"b":"1","2":"x","a":""}')
  })

  test('a null value as null', () => {
    expect(defaultJsonCodec.toJson(mapOf(['a', null]))).toBe('{"a":null}')
  })

  test('quotes, backslashes and control characters as escapes', () => {
    expect(defaultJsonCodec.toJson(mapOf(['a"\\', '\n\u0000\u2028']))).toBe('{"a\\"\\\\":"\\n\\u0000\u2028"}')
  })

  test.each<[string, unknown, unknown]>([
    ['a null key', null, 'x'],
    ['an undefined key', undefined, 'x'],
    ['an undefined value', 'a', undefined],
    ['a number', 'a', 1],
    ['an object', 'a', {}],
    ['half a surrogate pair in a key', '\ud800', 'x'],
    ['half a surrogate pair in a value', 'a', 'x\udc00'],
  ])('nothing for %s, but throws', (_, key, value) => {
    expect(() => defaultJsonCodec.toJson(mapOf([key, value]))).toThrow(ArgumentError)
  })
})

describe('the default JSON codec reads', () => {
  test.each([null, undefined, '', 'null', ' ', '\t\r\n ', ' null\n', '{}', ' { } '])('an empty map from %j', (json) => {
    expect(defaultJsonCodec.parseObject(json)).toEqual(new Map())
  })

  test('every escape JSON knows', () => {
    const json = '{ "a" : "\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\uD83C\\uDF89" }'
    expect(defaultJsonCodec.parseObject(json).get('a')).toBe('"\\/\b\f\n\r\té🎉')
  })

  test('an object without the entries whose value is null', () => {
    expect(defaultJsonCodec.parseObject('{"a":null,"b":"1"}')).toEqual(new Map([['b', '1']]))
  })

  test('names that objects have a meaning for like any other', () => {
    const names = ['__proto__', 'constructor', 'toString', '']
    const json = defaultJsonCodec.toJson(new Map(names.map((name) => [name, 'x'])))
    expect([...defaultJsonCodec.parseObject(json).keys()]).toEqual(names)
    expect(({} as Record<string, unknown>)['x']).toBeUndefined()
  })

  test.each([
    ['a list', '["a"]'],
    ['a text', '"a"'],
    ['a number', '1'],
    ['a boolean', 'true'],
    ['a number inside', '{"a":1}'],
    ['a boolean inside', '{"a":false}'],
    ['an object inside', '{"a":{}}'],
    ['a list inside', '{"a":["x"]}'],
    ['no value', '{"a"}'],
    ['a name without quotes', '{a:"1"}'],
    ['an unterminated object', '{"a":"1"'],
    ['an unterminated text', '{"a":"1}'],
    ['an unknown escape', '{"a":"\\x"}'],
    ['a \\u escape that is too short', '{"a":"\\u12"}'],
    ['a \\u escape that is not hexadecimal', '{"a":"\\u12g4"}'],
    ['half a surrogate pair as an escape', '{"a":"\\ud800"}'],
    ['half a surrogate pair as it is', '{"a":"\udc00"}'],
    ['half a surrogate pair in a name', '{"\\ud800":"a"}'],
    ['half a surrogate pair in a name without a value', '{"\\ud800":null}'],
    ['a comma too many', '{"a":"1",}'],
    ['something behind the object', '{"a":"1"} x'],
    ['a line end inside a text', '{"a":"\n"}'],
    ['single quotes', "{'a':'1'}"],
  ])('nothing from %s, but throws', (_, json) => {
    expect(() => defaultJsonCodec.parseObject(json)).toThrow(JsonCodecError)
  })

  test('what it wrote, for any text', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(wellFormed, wellFormed)), (pairs) => {
        const entries = new Map(pairs)
        expect(defaultJsonCodec.parseObject(defaultJsonCodec.toJson(entries))).toEqual(entries)
      }),
    )
  })

  test('texts or throws its own error, for any input', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), (json) => {
        const outcome = readOrThrown(json)
        expect(
          outcome instanceof JsonCodecError || [...outcome.values()].every((text) => typeof text === 'string'),
        ).toBe(true)
      }),
    )
  })

  test('and says in its error what is wrong, what is kept and what to do', () => {
    expect(() => defaultJsonCodec.parseObject('{"retries":3}')).toThrow(
      'Cannot read headers from JSON: the value of "retries" is no text. The text stays as it is stored. ' +
        'Correct the stored text, or hand in a codec that reads it.',
    )
  })
})
