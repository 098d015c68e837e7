import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { memberText } from '../../../src/event/wire/member-text.ts'
import { jsonText } from './event-arbitrary.ts'

describe('the text of a member', () => {
  test('is found wherever it stands, letter by letter', () => {
    const others = fc.dictionary(fc.string(), jsonText, { noNullPrototype: true })
    const blanks = fc.constantFrom('', ' ', '\n', ' \t\r\n')
    fc.assert(
      fc.property(others, others, jsonText, blanks, (before, after, json, blank) => {
        const members = [...Object.entries(before), ['payload', json] as const, ...Object.entries(after)]
        const written = members.map(([name, value]) => `${JSON.stringify(name)}${blank}:${blank}${value}${blank}`)
        const text = `${blank}{${blank}${written.join(`,${blank}`)}}${blank}`
        const expected = Object.hasOwn(after, 'payload') ? after['payload'] : json
        expect(memberText(text, 'payload')).toBe(expected?.trim())
      }),
    )
  })

  test.each(['{"a', '{"a":"\\', '{"a":[', '{"payload":{"', ''])('of the broken %s is not searched for ever', (json) => {
    expect(() => memberText(json, 'payload')).not.toThrow(TypeError)
  })

  test.each([
    ['{}', undefined],
    ['{"a":{"payload":1}}', undefined],
    ['{"payload":1,"payload":2}', '2'],
    ['{"p\\u0061yload":"}"}', '"}"'],
    ['{"a":"\\\\","payload":"\\"{"}', '"\\"{"'],
    ['{"a":[{"b":"]"}],"payload":[[],{}]}', '[[],{}]'],
  ])('of %s is %s', (json, text) => {
    expect(memberText(json, 'payload')).toBe(text)
  })
})
