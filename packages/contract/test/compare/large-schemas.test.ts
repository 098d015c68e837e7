import { compareSchemas } from '@waybill/contract'
import { expect, test } from 'vitest'
import { Blame } from '../../src/compare/blame.ts'
import { accepts, refuses } from '../../src/contain/literal.ts'
import { Search } from '../../src/contain/search.ts'
import { findTexts } from '../../src/pattern/find-text.ts'
import { matchesText } from '../../src/pattern/matches-text.ts'
import { textsMatching } from '../../src/pattern/pattern-texts.ts'
import { TextSets } from '../../src/pattern/text-set.ts'
import { sampleEvents } from '../../src/sample/sample-events.ts'
import type { JsonObject, JsonValue } from '../../src/schema/json.ts'
import { readSchema } from '../../src/schema/read-schema.ts'
import { createEvaluator } from '../../src/validate/evaluate.ts'

const codesOf = (older: object, newer: object): string[] => [
  ...new Set(compareSchemas(older, newer).map(({ code }) => code)),
]

const withPattern = (pattern: string): object => ({
  type: 'object',
  properties: { a: { type: 'string', pattern } },
  required: ['a'],
})

test('a pattern whose comparison takes too many steps is one that cannot be compared', () => {
  const sets = new TextSets()
  const search = (): readonly string[] | undefined => {
    const [one, other] = [300, 301].map((count) => textsMatching(sets, `^${'a?'.repeat(count)}$`))
    return findTexts(sets, sets.and([other ?? sets.nothing, sets.not(one ?? sets.nothing)]))
  }
  expect(sets.within(100_000, search)).toBeUndefined()
  expect(sets.work).toBeLessThan(101_000)
  // The bound ends with the computation that it was given for.
  expect(sets.within(100, () => 'done')).toBe('done')
  expect(sets.char().kind).toBe('CHARS')
})

test.each([
  ['3,000 optional characters', 'a?'.repeat(3_000), 'a?'.repeat(3_001)],
  ['300 optional characters', `^${'a?'.repeat(300)}$`, `^${'a?'.repeat(301)}$`],
  ['3,000 groups in each other', `^${'('.repeat(3_000)}a${')'.repeat(3_000)}`, 'b'],
  ['groups of 20,000 characters', `^(?:${'a'.repeat(20_000)})*$`, `^(?:${'b'.repeat(20_000)})*$`],
  ['a choice that doubles its states with each character', '^(a|b)*a(a|b){20}$', '^(a|b)*b(a|b){20}$'],
])('a pattern of %s cannot be told from another', (_, older, newer) => {
  expect(codesOf(withPattern(older), withPattern(newer))).toEqual(['WB-C401'])
  expect(codesOf(withPattern(older), withPattern(older))).toEqual([])
})

const password = (most: number): object => withPattern(`^(?=.*[a-z])(?=.*[A-Z])(?=.*\\d)(?=.*[^\\w]).{8,${most}}$`)
const listed = (names: readonly string[]): object => withPattern(`^(?:${names.join('|')})$`)

test('patterns of realistic size are compared to their end', () => {
  expect(codesOf(password(40), password(30))).toEqual(['WB-C209'])
  const countries = Array.from({ length: 250 }, (__, n) => String.fromCodePoint(65 + Math.floor(n / 26), 65 + (n % 26)))
  expect(codesOf(listed(countries), listed(countries.slice(1)))).toEqual(['WB-C209'])
})

/** A schema with others inside it, made without recursion. */
function nested(levels: number, innermost: JsonObject): JsonObject {
  let schema = innermost
  for (let level = 0; level < levels; level += 1)
    schema = { type: 'object', properties: { a: schema }, required: ['a'] }
  return schema
}

/** A schema whose references lead from one definition to the next. */
function chained(levels: number, innermost: JsonObject): JsonObject {
  const names = Array.from({ length: levels }, (_, n) => `d${n}`)
  const definitions = names.map((name, n): [string, JsonObject] => {
    const next = names[n + 1]
    return [name, next === undefined ? innermost : { type: 'object', properties: { a: { $ref: `#/$defs/${next}` } } }]
  })
  return { $ref: '#/$defs/d0', $defs: Object.fromEntries(definitions) }
}

test.each([
  ['3,000 schemas in each other', nested(3_000, { type: 'string' }), nested(3_000, { type: 'integer' })],
  ['100,000 schemas in each other', nested(100_000, { type: 'string' }), nested(100_000, { type: 'integer' })],
  ['3,000 references behind each other', chained(3_000, { type: 'string' }), chained(3_000, { type: 'integer' })],
])('%s cannot be compared, and crash nothing', (_, older, newer) => {
  expect(codesOf(older, newer)).toEqual(['WB-C401'])
  expect(codesOf({ type: 'object' }, newer)).not.toEqual([])
})

const withValues = (values: readonly string[]): JsonObject => nested(150, { type: 'string', enum: [...values] })

test('a list of ten megabytes inside 150 schemas is compared, since its text is kept once', () => {
  const values = Array.from({ length: 400_000 }, (_, n) => `value number ${n} of many`)
  expect(codesOf(withValues(values), withValues(values))).toEqual([])
  expect(codesOf(withValues(values), withValues(values.slice(1)))).not.toEqual([])
})

test.each([
  ['repeats inside repeats', '^(a+)+$', `${'a'.repeat(60)}b`, false],
  ['overlapping choices', '^(?:a|aa)+$', `${'a'.repeat(60)}b`, false],
  ['repeats inside repeats, with a match', '^(a+)+$', 'a'.repeat(60), true],
  ['repeats that cannot be compared', String.raw`^(\w+\b\s?)+$`, `${'a'.repeat(60)}!`, undefined],
  ['a text that is not well-formed', '^(a+)+$', `${'a'.repeat(60)}\ud800`, undefined],
])('a pattern that backtracks without end is matched: %s', (_, pattern, value, answer) => {
  expect(matchesText(pattern, value)).toBe(answer)
})

const withText = (pattern: string): object => ({
  type: 'object',
  properties: { a: { type: 'string', pattern, minLength: 60 } },
  required: ['a'],
})

test('patterns that backtrack without end hang no comparison', () => {
  expect(codesOf(withText('^a{60}b$'), withText('^(a+)+$'))).toEqual(['WB-C209'])
  expect(sampleEvents(withText('^(a|aa)+b$') as JsonObject, { count: 5 })).not.toEqual([])
})

const loop: JsonObject = {
  $ref: '#/$defs/n',
  $defs: {
    n: {
      anyOf: [{ $ref: '#/$defs/n' }, { allOf: [{ $ref: '#/$defs/n' }] }, { properties: { a: { type: 'string' } } }],
    },
  },
}

/** Schemas that lead to the next one in two ways each. */
const doubled = (levels: number, innermost: JsonObject): JsonObject => ({
  $ref: '#/$defs/d0',
  $defs: Object.fromEntries(
    Array.from({ length: levels + 1 }, (_, n): [string, JsonObject] => {
      const next = { $ref: `#/$defs/d${n + 1}` }
      const same = { type: 'object', properties: { a: next } }
      return [`d${n}`, n === levels ? innermost : { anyOf: [same, { ...same, minProperties: 0 }, { type: 'null' }] }]
    }),
  ),
})

test('references that lead back to their own value, and values that are reached in many ways, are judged', () => {
  const integer = { type: 'object', properties: { a: { type: 'integer' } }, required: ['a'] }
  expect(codesOf(integer, loop)).toContain('WB-C401')
  expect(codesOf(loop, loop)).toEqual([])
  expect(codesOf(doubled(60, { type: 'string' }), doubled(60, { type: 'string' }))).toEqual([])
  expect(sampleEvents(doubled(40, { type: 'string' }), { count: 5 })).not.toEqual([])
  // Without what is known of a member, each level would be judged twice as often as the one around it.
  let value: JsonValue = 7
  for (let level = 0; level < 60; level += 1) value = { a: value }
  const { root } = readSchema(doubled(60, { type: 'string' }))
  expect(createEvaluator({ assertsFormat: false })(root, value)).toBe('NO')
})

test('schemas of a depth that people write are compared to their end', () => {
  expect(codesOf(nested(30, { type: 'string' }), nested(30, { type: 'string' }))).toEqual([])
  expect(codesOf(nested(30, { type: 'string' }), nested(30, { type: 'integer' }))).toEqual(['WB-C103'])
  expect(codesOf(chained(30, { type: 'string' }), chained(30, { type: 'integer' }))).toEqual(['WB-C103'])
})

const wide = (count: number, property: (n: number) => JsonObject): JsonObject => ({
  type: 'object',
  properties: Object.fromEntries(Array.from({ length: count }, (_, n) => [`p${n}`, property(n)])),
  required: Array.from({ length: count }, (_, n) => `p${n}`),
})

/** Returns how often the search for causes asks for an event, and the number of findings. */
function questions(older: JsonObject, newer: JsonObject): { readonly asked: number; readonly findings: number } {
  const [writer, reader] = [readSchema(older).root, readSchema(newer).root]
  const search = new Search({ assertsFormat: false, mostSteps: 1_000_000 })
  let asked = 0
  const blame = new Blame({
    find(whole) {
      asked += 1
      return search.solve([accepts(writer, true), refuses(whole)])
    },
    isExhausted: false,
  })
  blame.at({ direction: 'BACKWARD', writers: [writer], reader, path: [], whole: (here) => here })
  return { asked, findings: blame.findings.length }
}

test('the search for causes ends with the findings that it may report', () => {
  const { asked, findings } = questions(
    wide(300, () => ({ type: 'string' })),
    wide(300, () => ({ type: 'integer' })),
  )
  expect(findings).toBe(40)
  expect(asked).toBeLessThan(150)
})

test('the search for causes does not ask about properties that are the same', () => {
  const { asked, findings } = questions(
    wide(300, () => ({ type: 'string', maxLength: 3 })),
    wide(300, (n) => ({ type: 'string', maxLength: n === 299 ? 2 : 3 })),
  )
  expect(findings).toBe(1)
  expect(asked).toBeLessThan(10)
})
