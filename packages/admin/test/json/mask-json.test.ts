import fc from 'fast-check'
import { expect, test } from 'vitest'
import { maskJson } from '../../src/json/mask-json.ts'

test.each([
  ['{"card":{"number":"4111","name":"A"}}', ['$.card.number'], '{"card":{"number":"***","name":"A"}}'],
  ['{"items":[{"iban":1},{"iban":[2]}]}', ['$.items[*].iban'], '{"items":[{"iban":"***"},{"iban":"***"}]}'],
  [
    '{"a":{"email":"x","b":[{"email":"y"}]},"email":null}',
    ['$..email'],
    '{"a":{"email":"***","b":[{"email":"***"}]},"email":"***"}',
  ],
  ['{"a":{"b":{"c":1}},"c":2}', ['$.a..c'], '{"a":{"b":{"c":"***"}},"c":2}'],
  ['[[1,2],[3]]', ['$[*][*]'], '[["***","***"],["***"]]'],
  ['{ "a" : 9007199254740993 , "b" : -1.50e+3 }', ['$.b'], '{ "a" : 9007199254740993 , "b" : "***" }'],
  ['{"\\u0061":"x"}', ['$.a'], '{"\\u0061":"***"}'],
  ['{"a":"\\"}","b":1}', ['$.b'], '{"a":"\\"}","b":"***"}'],
  ['{"__proto__":1}', ['$.__proto__'], '{"__proto__":"***"}'],
  [`${'{"a":'.repeat(400)}1${'}'.repeat(400)}`, ['$..a..a..a..b'], `${'{"a":'.repeat(400)}1${'}'.repeat(400)}`],
  ['{}', ['$.a'], '{}'],
  ['[ ]', ['$[*]'], '[ ]'],
  ['1', ['$.a'], '1'],
])('of %s hides %j', (text, paths, expected) => {
  expect(maskJson(text, paths)).toBe(expected)
})

test('is undefined for a text that is not JSON, or nested too deep', () => {
  for (const text of ['', '{', 'x', '{"a":1}}', '['.repeat(100_000), '['.repeat(5_000) + ']'.repeat(5_000)])
    expect(maskJson(text, ['$..a'])).toBeUndefined()
})

test('changes nothing but the values of the paths, whatever the text', () => {
  fc.assert(
    fc.property(fc.json(), fc.integer({ min: 0, max: 3 }), (text, indent) => {
      const written = JSON.stringify(JSON.parse(text), undefined, indent)
      expect(maskJson(written, ['$..no-such-member'])).toBe(written)
      const masked = JSON.parse(maskJson(written, ['$..a']) ?? '')
      const expected = JSON.parse(written, (key, value: unknown) => (key === 'a' ? '***' : value))
      expect(masked).toEqual(expected)
    }),
  )
})
