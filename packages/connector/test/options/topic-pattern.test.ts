import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { compileTopicPattern, patternProblem } from '../../src/options/topic-pattern.ts'

/** Topic names near the letters of the patterns below, and some that are none. */
const name = fc.stringMatching(/^[abAB.\-_1]{0,12}$/)

/** Expressions of every kind that is supported. */
const { pattern } = fc.letrec<{ atom: string; term: string; pattern: string }>((tie) => ({
  atom: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom('a', 'b', '.', '\\.', '[ab]', '[^a]', '[a-b1]', '\\w', '\\D', '-', '[-.]', '\\x61', '(?:)'),
    tie('pattern').map((inner) => `(${inner})`),
    tie('pattern')
      .map((inner) => `(?<g${inner.length}>${inner})`)
      .filter((each) => (each.match(/\?</g) ?? []).length === 1),
  ),
  term: fc.oneof(
    { depthSize: 'small' },
    tie('atom'),
    fc
      .tuple(tie('atom'), fc.constantFrom('*', '+', '?', '*?', '{2}', '{0,2}', '{1,}', '{0}'))
      .map(([atom, quantifier]) => atom + quantifier),
    fc.constantFrom('^', '$', '\\b', '\\B'),
    fc
      .tuple(fc.constantFrom('(?=', '(?!', '(?<=', '(?<!'), tie('pattern'))
      .map(([opening, inner]) => `${opening}${inner})`),
  ),
  pattern: fc.oneof(
    { depthSize: 'small' },
    fc.array(tie('term'), { maxLength: 4 }).map((terms) => terms.join('')),
    fc.tuple(tie('pattern'), tie('pattern')).map(([one, other]) => `${one}|${other}`),
  ),
}))

describe('a topic pattern', () => {
  test('matches what the regular expression matches', () => {
    fc.assert(
      fc.property(
        pattern,
        fc.constantFrom('', 'i', 'u', 's'),
        fc.array(name, { minLength: 8 }),
        (source, flags, names) => {
          let expression: RegExp
          try {
            expression = new RegExp(source, flags)
          } catch {
            return fc.pre(false)
          }
          if (patternProblem(expression) !== undefined) return
          const compiled = compileTopicPattern(expression)
          for (const each of names)
            expect([source, each, compiled.test(each)]).toEqual([source, each, expression.test(each)])
        },
      ),
      { numRuns: 2_000 },
    )
  })

  test.each([
    [/^orders\./, ['orders.eu'], ['orders', 'xorders.eu', 'ordersxeu']],
    [/^(?!.*\.(test|dev)$)orders\..+$/, ['orders.eu', 'orders.testing'], ['orders.test', 'orders.eu.dev']],
    [/^(orders|payments)\.[a-z]{2}(-\d+)?$/i, ['ORDERS.de', 'payments.us-12'], ['orders.deu', 'payments.us-']],
    [/(?<=^tenant-\d{1,3}\.)events$/, ['tenant-12.events'], ['tenant-1234.events', 'x.events']],
    [/[\w\-.]+\x2Eevents$/u, ['a-b.events'], ['.events']],
    [/^[\b\t\cA-]*-?$|[^\W_-]\{2\}/, ['-', ''], ['a.']],
  ])('%s selects what it says', (expression, matching, others) => {
    const compiled = compileTopicPattern(expression)
    for (const each of [...matching, ...others])
      expect([each, compiled.test(each)]).toEqual([each, expression.test(each)])
    expect(matching.filter((each) => compiled.test(each))).toEqual(matching)
    expect(others.filter((each) => compiled.test(each))).toEqual([])
  })

  // A backtracking matcher would not return from any of these within a lifetime.
  test.each([/^(a|a)*$/, /^(a*)*$/, /^(a+)+$/, /(a*)*(a*)*(a*)*-$/, /^(?=(a|a)*$).*-$/, /^(a?){100}a{100}$/])(
    '%s takes linear time on the longest name',
    (expression) => {
      expect(compileTopicPattern(expression).test(`${'a'.repeat(248)}!`)).toBe(false)
    },
  )

  test.each([
    [/^(a)\1$/, 'has a backreference, \\1'],
    [/^(?<x>a)\k<x>$/, 'has a backreference, \\k<x>'],
    [/\p{L}/u, 'has a Unicode property, \\p{L}'],
    [new RegExp('[a&&b]', 'v'), 'has the flag v'],
    [/(?:a{100}){100}/, 'is too large: use smaller counts in { }'],
    [/((){1000000000}){1000000000}a{3000}/, 'is too large: use smaller counts in { }'],
    [new RegExp('a'.repeat(1_001)), 'is longer than 1000 characters'],
    [/(?:(?:a|b)?){0,3000}/, 'is too large: use smaller counts in { }'],
  ])('%s is refused with the reason', (expression, problem) => {
    expect(patternProblem(expression)).toBe(problem)
  })
})
