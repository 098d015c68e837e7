import { describe, expect, test } from 'vitest'
import { ValueDrawer } from '../../src/sample/value-drawer.ts'
import type { JsonObject, JsonValue } from '../../src/schema/json.ts'
import { readSchema } from '../../src/schema/read-schema.ts'
import { type Difference, findDifference } from '../support/find-difference.ts'
import { closed, judgeOf } from '../support/judge.ts'
import { seeded } from '../support/random-schema.ts'

const o = (properties: JsonObject, required: readonly string[] = [], more: JsonObject = {}): JsonObject => ({
  type: 'object',
  properties,
  required,
  ...more,
})
const S = { type: 'string' },
  N = { type: 'number' },
  I = { type: 'integer' }
/** Written as text: the linter takes an object with a member `then` for a promise. */
function conditional(condition: JsonObject, consequence: JsonObject): JsonObject {
  return JSON.parse(`{"if":${JSON.stringify(condition)},"then":${JSON.stringify(consequence)}}`) as JsonObject
}

/** An event with one required property. */
const w = (schema: JsonObject): JsonObject => o({ v: schema }, ['v'])
/** Change, older, newer; verdicts BACKWARD / FORWARD for any writer and for a declared writer. */
const rows: readonly (readonly [string, JsonValue, JsonValue, string, string])[] = [
  ['add optional property (open)', o({ id: S }, ['id']), o({ id: S, p: S }, ['id']), 'no / yes', 'yes / yes'],
  ['add optional untyped property (open)', o({ id: S }, ['id']), o({ id: S, p: {} }, ['id']), 'yes / yes', 'yes / yes'],
  [
    'add optional property (closed both)',
    o({ id: S }, ['id'], { additionalProperties: false }),
    o({ id: S, p: S }, ['id'], { additionalProperties: false }),
    'yes / no',
    'yes / no',
  ],
  ['remove optional property (open)', o({ id: S, p: S }, ['id']), o({ id: S }, ['id']), 'yes / no', 'yes / yes'],
  [
    'remove optional property (closed both)',
    o({ id: S, p: S }, ['id'], { additionalProperties: false }),
    o({ id: S }, ['id'], { additionalProperties: false }),
    'no / yes',
    'no / yes',
  ],
  ['add required property', o({ id: S }, ['id']), o({ id: S, p: S }, ['id', 'p']), 'no / yes', 'no / yes'],
  [
    'add required property with default',
    o({ id: S }, ['id']),
    o({ id: S, p: { type: 'string', default: 'x' } }, ['id', 'p']),
    'no / yes',
    'no / yes',
  ],
  ['remove required property (open)', o({ id: S, p: S }, ['id', 'p']), o({ id: S }, ['id']), 'yes / no', 'yes / no'],
  ['required -> optional', o({ id: S }, ['id']), o({ id: S }, []), 'yes / no', 'yes / no'],
  ['optional -> required', o({ id: S }, []), o({ id: S }, ['id']), 'no / yes', 'no / yes'],
  ['rename property', o({ a: S }, ['a']), o({ b: S }, ['b']), 'no / no', 'no / no'],
  [
    'change default value',
    o({ p: { type: 'string', default: 'a' } }),
    o({ p: { type: 'string', default: 'b' } }),
    'yes / yes',
    'yes / yes',
  ],
  [
    'open -> closed',
    o({ id: S }, ['id']),
    o({ id: S }, ['id'], { additionalProperties: false }),
    'no / yes',
    'yes / yes',
  ],
  [
    'closed -> open',
    o({ id: S }, ['id'], { additionalProperties: false }),
    o({ id: S }, ['id']),
    'yes / no',
    'yes / yes',
  ],
  ['integer -> number', w(I), w(N), 'yes / no', 'yes / no'],
  ['number -> integer', w(N), w(I), 'no / yes', 'no / yes'],
  ['string -> number', w(S), w(N), 'no / no', 'no / no'],
  ['string -> string|null (nullable)', w(S), w({ type: ['string', 'null'] }), 'yes / no', 'yes / no'],
  ['string|null -> string', w({ type: ['string', 'null'] }), w(S), 'no / yes', 'no / yes'],
  [
    'nullable as anyOf instead of type list',
    w({ anyOf: [S, { type: 'null' }] }),
    w({ type: ['string', 'null'] }),
    'yes / yes',
    'yes / yes',
  ],
  ['enum: add value', w({ enum: ['a', 'b'] }), w({ enum: ['a', 'b', 'c'] }), 'yes / no', 'yes / no'],
  ['enum: remove value', w({ enum: ['a', 'b', 'c'] }), w({ enum: ['a', 'b'] }), 'no / yes', 'no / yes'],
  ['enum -> plain string', w({ type: 'string', enum: ['a'] }), w(S), 'yes / no', 'yes / no'],
  ['const -> enum with it', w({ const: 'a' }), w({ enum: ['a', 'b'] }), 'yes / no', 'yes / no'],
  ['maximum raised', w({ type: 'number', maximum: 5 }), w({ type: 'number', maximum: 6 }), 'yes / no', 'yes / no'],
  ['maximum added', w({ type: 'number' }), w({ type: 'number', maximum: 6 }), 'no / yes', 'no / yes'],
  [
    'minimum 1 -> exclusiveMinimum 0 (integer)',
    w({ type: 'integer', minimum: 1 }),
    w({ type: 'integer', exclusiveMinimum: 0 }),
    'yes / yes',
    'yes / yes',
  ],
  [
    'multipleOf 4 -> 2',
    w({ type: 'number', multipleOf: 4 }),
    w({ type: 'number', multipleOf: 2 }),
    'yes / no',
    'yes / no',
  ],
  [
    'maxLength raised',
    w({ type: 'string', maxLength: 5 }),
    w({ type: 'string', maxLength: 6 }),
    'yes / no',
    'yes / no',
  ],
  ['maxLength added', w(S), w({ type: 'string', maxLength: 6 }), 'no / yes', 'no / yes'],
  [
    'pattern widened ^a+$ -> ^a*$',
    w({ type: 'string', pattern: '^a+$' }),
    w({ type: 'string', pattern: '^a*$' }),
    'yes / no',
    'yes / no',
  ],
  ['pattern added', w(S), w({ type: 'string', pattern: '^a*$' }), 'no / yes', 'no / yes'],
  ['format added (asserted)', w(S), w({ type: 'string', format: 'email' }), 'no / yes', 'no / yes'],
  ['format removed (asserted)', w({ type: 'string', format: 'email' }), w(S), 'yes / no', 'yes / no'],
  ['array items widened', w({ type: 'array', items: I }), w({ type: 'array', items: N }), 'yes / no', 'yes / no'],
  [
    'maxItems raised',
    w({ type: 'array', items: I, maxItems: 2 }),
    w({ type: 'array', items: I, maxItems: 3 }),
    'yes / no',
    'yes / no',
  ],
  [
    'tuple: element added at the end (open rest)',
    w({ type: 'array', prefixItems: [S], items: true }),
    w({ type: 'array', prefixItems: [S, N], items: true }),
    'no / yes',
    'no / yes',
  ],
  [
    'tuple: element added (closed rest, exact)',
    w({ type: 'array', prefixItems: [S], items: false, minItems: 1 }),
    w({ type: 'array', prefixItems: [S, N], items: false, minItems: 2 }),
    'no / no',
    'no / no',
  ],
  [
    'uniqueItems added',
    w({ type: 'array', items: I }),
    w({ type: 'array', items: I, uniqueItems: true }),
    'no / yes',
    'no / yes',
  ],
  ['single value -> array of it', w(S), w({ type: 'array', items: S }), 'no / no', 'no / no'],
  ['anyOf: branch added', w({ anyOf: [S, N] }), w({ anyOf: [S, N, { type: 'boolean' }] }), 'yes / no', 'yes / no'],
  ['oneOf: disjoint branch added', w({ oneOf: [S] }), w({ oneOf: [S, N] }), 'yes / no', 'yes / no'],
  ['oneOf: overlapping branch added', w({ oneOf: [N] }), w({ oneOf: [N, I] }), 'no / yes', 'no / yes'],
  ['anyOf -> oneOf, overlapping', w({ anyOf: [N, I] }), w({ oneOf: [N, I] }), 'no / yes', 'no / yes'],
  ['allOf: part added', w({ allOf: [N] }), w({ allOf: [N, { minimum: 3 }] }), 'no / yes', 'no / yes'],
  [
    'discriminated union: member added',
    w({ oneOf: [o({ k: { const: 'a' } }, ['k'])] }),
    w({ oneOf: [o({ k: { const: 'a' } }, ['k']), o({ k: { const: 'b' } }, ['k'])] }),
    'yes / no',
    'yes / no',
  ],
  [
    'discriminated union: member removed',
    w({ oneOf: [o({ k: { const: 'a' } }, ['k']), o({ k: { const: 'b' } }, ['k'])] }),
    w({ oneOf: [o({ k: { const: 'a' } }, ['k'])] }),
    'no / yes',
    'no / yes',
  ],
  [
    'discriminated union: member gets optional field',
    w({ oneOf: [o({ k: { const: 'a' } }, ['k']), o({ k: { const: 'b' } }, ['k'])] }),
    w({ oneOf: [o({ k: { const: 'a' } }, ['k']), o({ k: { const: 'b' }, x: S }, ['k'])] }),
    'no / yes',
    'yes / yes',
  ],
  [
    'dependentRequired added',
    o({ a: S, b: S }),
    o({ a: S, b: S }, [], { dependentRequired: { a: ['b'] } }),
    'no / yes',
    'no / yes',
  ],
  [
    'dependentRequired removed',
    o({ a: S, b: S }, [], { dependentRequired: { a: ['b'] } }),
    o({ a: S, b: S }),
    'yes / no',
    'yes / no',
  ],
  [
    'if/then added',
    o({ a: S, b: S }),
    o({ a: S, b: S }, [], conditional({ required: ['a'] }, { required: ['b'] })),
    'no / yes',
    'no / yes',
  ],
  [
    'if widened (then tighter elsewhere)',
    o({ a: S, b: S }, [], conditional({ properties: { a: { const: 'x' } }, required: ['a'] }, { required: ['b'] })),
    o({ a: S, b: S }, [], conditional({ required: ['a'] }, { required: ['b'] })),
    'no / yes',
    'no / yes',
  ],
  [
    'same content moved to $defs',
    w(S),
    { ...o({ v: { $ref: '#/$defs/s' } }, ['v']), $defs: { s: S } },
    'yes / yes',
    'yes / yes',
  ],
  [
    'recursive: field type changed in the cycle',
    { ...o({ n: { $ref: '#' }, v: S }) },
    { ...o({ n: { $ref: '#' }, v: N }) },
    'no / no',
    'no / no',
  ],
  [
    'title/description/examples only',
    w(S),
    w({ type: 'string', title: 'x', description: 'y', examples: ['z'] }),
    'yes / yes',
    'yes / yes',
  ],
]

describe.each(['ANY', 'DECLARED'] as const)('the verdict on a change, writer %s', (writer) => {
  test.each(rows)('%s', (_, older, newer, any, declared) => {
    const [before, after] = [readSchema(older), readSchema(newer)]
    const compare = (written: typeof before, read: typeof before): Difference =>
      findDifference(written.root, read.root, [written, read], { writer, format: 'ASSERTION' })
    const [backward, forward] = [compare(before, after), compare(after, before)]
    expect(`${verdict(backward)} / ${verdict(forward)}`).toBe(writer === 'ANY' ? any : declared)
    confirm(backward, older, newer, writer)
    confirm(forward, newer, older, writer)
  })
})

function verdict({ kind }: Difference): string {
  return { NONE: 'yes', FOUND: 'no', UNKNOWN: 'cannot tell' }[kind]
}

/** The judge agrees with the example, or with a hundred drawn events that there is none. */
function confirm(difference: Difference, written: JsonValue, read: JsonValue, writer: 'ANY' | 'DECLARED'): void {
  const writes = judgeOf((writer === 'ANY' ? written : closed(written)) as object)
  const reads = judgeOf(read as object)
  if (difference.kind === 'FOUND') {
    expect([writes(difference.example), reads(difference.example)]).toEqual([true, false])
    return
  }
  const drawer = new ValueDrawer(seeded(7), { stray: true })
  const root = readSchema(written).root
  for (let drawn = 0; drawn < 100; drawn += 1) {
    const value = drawer.draw([root])
    if (writes(value)) expect({ value, isRead: reads(value) }).toEqual({ value, isRead: true })
  }
}
