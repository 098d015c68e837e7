/** Changes of which a validator refuses an event that the writer writes: each was called compatible once. */
import { compareSchemas } from '@waybill/contract'
import { withoutUndeclared } from '@waybill/core/internal'
import { describe, expect, test } from 'vitest'
import { isJsonObject, type JsonObject, type JsonValue } from '../../src/schema/json.ts'
import { anyDialectJudgeOf } from '../support/any-dialect-judge.ts'

const members = (properties: JsonObject): JsonObject => ({ type: 'object', properties })
const map = (schema: JsonObject, more: JsonObject = {}): JsonObject => ({
  type: 'object',
  additionalProperties: schema,
  ...more,
})
const named = (pattern: string, schema: JsonObject): JsonObject => ({ patternProperties: { [pattern]: schema } })
const draft07 = (schema: JsonObject): JsonObject => ({ $schema: 'http://json-schema.org/draft-07/schema#', ...schema })
const either = { type: ['integer', 'string'] }
const [whole, text] = [{ type: 'integer' }, { type: 'string' }]
const notBoth: JsonObject = { not: { required: ['c', 'd'] } }
const [withC, withD] = [members({ c: {} }), members({ d: {} })]

const rows: readonly (readonly [change: string, older: JsonObject, newer: JsonObject, event: JsonValue])[] = [
  [
    'a map that must not have the first name that comes to mind',
    map(either, { not: { required: ['a'] } }),
    map(whole),
    { b: 'x' },
  ],
  [
    'a map whose members break two branches together',
    map(either),
    { anyOf: [map(whole), map(text)] },
    { a: 1, b: 'x' },
  ],
  [
    'names of one pattern that break two branches together',
    { type: 'object', ...named('^x[ab]$', either) },
    { anyOf: [named('^x', whole), named('^x', text)] },
    { xa: 1, xb: 'x' },
  ],
  [
    'a pattern that matches the empty name and one more',
    { type: 'object', ...named('^a?$', either) },
    { anyOf: [named('^a?$', whole), named('^a?$', text)] },
    { '': 1, a: 'x' },
  ],
  [
    'integers beyond 2^53',
    { type: 'integer', minimum: 1e16, maximum: 1e16 + 2 },
    { type: 'integer', maximum: 5 },
    1e16,
  ],
  [
    'multiples of two numbers whose least common multiple is no number',
    { type: 'number', minimum: 1, maximum: 1.9e16, allOf: [{ multipleOf: 94_906_267 }, { multipleOf: 94_906_249 }] },
    { maximum: 5 },
    2 * 94_906_267 * 94_906_249,
  ],
  [
    'a member that two branches declare the members of',
    { type: 'object', anyOf: [members({ b: withC }), members({ b: withD })] },
    members({ b: notBoth }),
    { b: { c: 1, d: 1 } },
  ],
  [
    'a member of a member that two branches declare the members of',
    { type: 'object', anyOf: [members({ b: members({ e: withC }) }), members({ b: members({ e: withD }) })] },
    members({ b: members({ e: notBoth }) }),
    { b: { e: { c: 1, d: 1 } } },
  ],
  [
    'an item that two branches declare the members of',
    { type: 'array', anyOf: [{ items: withC }, { items: withD }] },
    { items: notBoth },
    [{ c: 1, d: 1 }],
  ],
  [
    'a member that a branch declares which is not chosen yet',
    { ...members({ b: members({}) }), anyOf: [members({ b: withC }), members({ b: withD })] },
    members({ b: { not: { required: ['c'] } }, z: false }),
    { b: { c: 1 } },
  ],
  [
    'an item that is repeated behind the only one of another kind',
    { type: 'array', contains: whole, maxContains: 1 },
    { uniqueItems: true },
    ['x', 1, 'x'],
  ],
  [
    'members of a part with a URI of its own, into which writers do not look',
    { ...members({ b: { $ref: 'https://example.com/b' } }), $defs: { b: { $id: 'https://example.com/b', ...withC } } },
    members({ b: members({ d: text }) }),
    { b: { d: 1 } },
  ],
  [
    'prefixItems, which draft-07 does not have',
    draft07({ type: 'array', prefixItems: [text] }),
    draft07({ type: 'array', items: [text] }),
    [5],
  ],
  [
    'dependentRequired, which draft-07 does not have',
    draft07({ ...members({ a: {}, b: {} }), dependentRequired: { a: ['b'] } }),
    draft07({ ...members({ a: {}, b: {} }), dependencies: { a: ['b'] } }),
    { a: 1 },
  ],
  [
    'a keyword beside a reference of draft-07, which some validators check',
    draft07({ ...members({ a: { $ref: '#/definitions/n' } }), definitions: { n: whole } }),
    draft07({ ...members({ a: { $ref: '#/definitions/n', maximum: 5 } }), definitions: { n: whole } }),
    { a: 7 },
  ],
]

describe('a break that a validator confirms is found', () => {
  test.each(rows)('%s', (_, older, newer, event) => {
    expect(anyDialectJudgeOf(older)?.(event)).toBe(true)
    if (isJsonObject(event)) expect(withoutUndeclared(older, event).undeclared).toEqual([])
    expect(anyDialectJudgeOf(newer)?.(event)).toBe(false)
    const found = compareSchemas(older, newer, { mode: 'BACKWARD', isSameVersion: false })
    expect(found.filter(({ code }) => !code.startsWith('WB-C0') && !code.startsWith('WB-C3'))).not.toEqual([])
  })

  test.each<[string, JsonObject, JsonObject]>([
    [
      'the only name of a pattern cannot have two types',
      { type: 'object', ...named('^a$', either) },
      { anyOf: [named('^a$', whole), named('^a$', text)] },
    ],
    [
      'two items that a list has to contain are no one item',
      { type: 'array', contains: whole, minContains: 2 },
      { type: 'array', minItems: 2 },
    ],
    [
      'no integer lies between two that follow each other',
      { type: 'integer', exclusiveMinimum: 2, exclusiveMaximum: 3 },
      whole,
    ],
    [
      'members of a branch with another tag are not written',
      {
        type: 'object',
        required: ['k'],
        oneOf: [members({ k: { const: 1 }, b: withC }), members({ k: { const: 2 }, b: withD })].map((each) => ({
          ...each,
          required: ['k'],
        })),
      },
      members({ b: notBoth }),
    ],
    [
      'a keyword beside a reference of draft-07 that did not change',
      draft07({ ...members({ a: { $ref: '#/definitions/n', maximum: 5 } }), definitions: { n: whole } }),
      draft07({ ...members({ a: { $ref: '#/definitions/n', maximum: 5 }, b: {} }), definitions: { n: whole } }),
    ],
  ])('and %s', (_, older, newer) => {
    const found = compareSchemas(older, newer, { mode: 'BACKWARD', isSameVersion: false })
    expect(found.filter(({ code }) => code !== 'WB-C003')).toEqual([])
  })
})
