import { describe, expect, test } from 'vitest'
import { findTexts } from '../../src/pattern/find-text.ts'
import { textsMatching } from '../../src/pattern/pattern-texts.ts'
import { TextSets } from '../../src/pattern/text-set.ts'

/** Returns a text that the first pattern matches and the second does not; null if there is none. */
function difference(one: string, other: string): string | null | undefined {
  const sets = new TextSets()
  const [first, second] = [textsMatching(sets, one), textsMatching(sets, other)]
  if (first === undefined || second === undefined) return undefined
  const texts = findTexts(sets, sets.and([first, sets.not(second)]))
  return texts === undefined ? undefined : (texts[0] ?? null)
}

describe('containment of patterns', () => {
  test.each<[string, string]>([
    ['^a+$', '^a*$'],
    ['[a-z]*', 'x?'],
    ['^foo', 'foo'],
    ['^(?!\\.)[a-z.]+$', '^[a-z]'],
    ['^(?:a|b)*$', '^[ab]*$'],
    ['^\\d{4}-\\d{2}$', '^[0-9-]{7}$'],
    ['^\\u0061\\x62$', '^ab$'],
    ['^.{0,40}$', '^[^\\n]*$'],
    ['^(?=.*b)a', 'b'],
  ])('%s lies within %s', (one, other) => {
    expect(difference(one, other)).toBeNull()
  })

  test.each<[string, string, string]>([
    ['^a*$', '^a+$', ''],
    ['foo', '^foo', 'ffoo'],
    ['^[a-c]$', '^[ab]$', 'c'],
    ['^.{0,9}$', '^.{0,8}$', 'aaaaaaaaa'],
    ['^😀?$', '^$', '😀'],
  ])('%s does not lie within %s: %j', (one, other, text) => {
    const found = difference(one, other)
    expect(found).toBe(text)
    expect([new RegExp(one, 'u').test(text), new RegExp(other, 'u').test(text)]).toEqual([true, false])
  })

  test.each(['(a)\\1', '\\bword', '(?<=a)b', '[', '(?:^a)*'])('is not told of %s', (pattern) => {
    expect(difference(pattern, '^x$')).toBeUndefined()
  })
})
