import { type CompareOptions, compareSchemas, contractRules } from '@waybill/contract'
import { describe, expect, test } from 'vitest'

const text = { type: 'string' }
const whole = { type: 'integer' }

function event(properties: object, required: readonly string[] = [], more: object = {}): object {
  return { type: 'object', properties, required, ...more }
}

/** Returns code, severity, direction and message of each finding. */
function lines(older: object, newer: object, options: CompareOptions = {}): string[] {
  return compareSchemas(older, newer, { format: 'ASSERTION', ...options }).map(
    ({ code, severity, direction, message }) => `${code} ${severity} ${direction}: ${message}`,
  )
}

const items = (price: object): object => event({ items: { type: 'array', items: event({ price }, ['price']) } })
const member = (kind: string, properties: object = {}): object =>
  event({ kind: { const: kind }, ...properties }, ['kind'])
const union = (...members: readonly object[]): object => event({ v: { oneOf: members } }, ['v'])

const behind = (schema: object): object => ({
  $ref: '#/$defs/a~1b',
  $defs: { 'a/b': { $ref: '#/$defs/event' }, event: schema },
})

describe('compareSchemas', () => {
  test.each<[keyword: string, schema: object]>([
    ['nullable', { type: 'string', nullable: true }],
    ['formatMinimum', { type: 'string', format: 'date', formatMinimum: '2026-01-01' }],
    ['instanceof', { instanceof: 'Date' }],
  ])('cannot tell what %s means, which some validators check and JSON Schema does not have', (keyword, schema) => {
    const [older, newer] = [event({ a: schema }, ['a']), event({ a: text }, ['a'])]
    for (const pair of [
      [older, newer],
      [newer, older],
    ] as const)
      expect(compareSchemas(...pair).some(({ code, message }) => code === 'WB-C401' && message.includes(keyword))).toBe(
        true,
      )
    expect(compareSchemas(older, event({ a: schema }, ['a'], { title: 'same' }))).toEqual([])
  })

  test('reports what the policy forbids in its words, as BREAKING and with an example', () => {
    const older = event({ a: text, n: whole }, ['a', 'n'])
    const newer = event({ b: text, n: text }, ['b', 'n'])
    expect(lines(older, newer)).toEqual([
      "WB-C101 BREAKING BACKWARD: Added required fields: {'b'}",
      'WB-C102 BREAKING FORWARD: Removed required field: a',
      'WB-C103 BREAKING BACKWARD: Type change for n: integer -> string',
    ])
    expect(compareSchemas(older, newer)[1]?.example).toEqual({ b: '', n: '' })
  })

  test('reports what is stricter than the policy as a WARNING, and as BREAKING with strict', () => {
    const [older, newer] = [event({ a: text }, ['a']), event({ a: text })]
    expect(lines(older, newer)).toEqual(['WB-C202 WARNING FORWARD: a became optional; old readers refuse new events'])
    expect(lines(older, newer, { strict: true })).toEqual([
      'WB-C202 BREAKING FORWARD: a became optional; old readers refuse new events',
    ])
  })

  test('looks at the directions of the mode only', () => {
    const [older, newer] = [event({ p: { enum: ['a'] } }), event({ p: { enum: ['a', 'b'] } })]
    expect(lines(older, newer, { mode: 'BACKWARD' })).toEqual([])
    expect(lines(older, newer, { mode: 'FORWARD_TRANSITIVE' })).toEqual([
      'WB-C205 WARNING FORWARD: p also lists "b"; old readers refuse new events',
    ])
    expect(lines(event({ a: text, b: text }, ['a', 'b']), event({ a: text }, ['a']), { mode: 'BACKWARD' })).toEqual([])
  })

  test('applies the policy to the top level of the event, which may lie behind references', () => {
    const [older, newer] = [event({ id: text, total: whole }, ['id', 'total']), event({ id: whole }, ['id'])]
    expect(lines(behind(older), behind(newer))).toEqual(lines(older, newer))
    expect(lines(behind(older), newer).filter((line) => line.includes('BREAKING'))).toHaveLength(2)
    // Properties beside a reference are the top level themselves.
    const beside = { ...event({ a: text }, ['a']), $ref: '#/$defs/x', $defs: { x: event({ b: text }) } }
    expect(lines(beside, event({}))[0]).toBe('WB-C102 BREAKING FORWARD: Removed required field: a')
    // A reference that leads nowhere, or to itself, has no top level.
    for (const reference of ['#/$defs/gone', '#', 'other.json'])
      expect(lines({ $ref: reference }, newer).filter((line) => line.includes('Removed'))).toEqual([])
  })

  test('names the keyword that is to blame, through lists and unions', () => {
    expect(lines(items({ type: 'integer', minimum: 1 }), items({ type: 'integer', minimum: 2 }))).toEqual([
      'WB-C207 WARNING BACKWARD: minimum of items[].price: 1 -> 2; new readers refuse old events',
    ])
    expect(lines(union(member('a')), union(member('a'), member('c')))).toEqual([
      'WB-C213 WARNING FORWARD: v: no member of the union is kind "c"; old readers refuse new events',
    ])
    expect(lines(union(member('a', { x: text }), member('b')), union(member('a', { x: whole }), member('b')))).toEqual([
      'WB-C103 WARNING BACKWARD: type of v.x: string -> integer; new readers refuse old events',
      'WB-C103 WARNING FORWARD: type of v.x: string -> integer; old readers refuse new events',
    ])
    expect(lines(union({ type: 'number' }), union({ type: 'number' }, whole))).toEqual([
      'WB-C215 WARNING BACKWARD: v may fit two members of its union; new readers refuse old events',
    ])
  })

  test('says what it cannot tell, and says it as BREAKING with strict', () => {
    const [older, newer] = [
      event({ a: { type: 'string', pattern: String.raw`(a)\1` } }),
      event({ a: { type: 'string', pattern: String.raw`(b)\1` } }),
    ]
    expect(compareSchemas(older, newer).map(({ code, severity }) => `${code} ${severity}`)).toEqual([
      'WB-C401 WARNING',
      'WB-C401 WARNING',
    ])
    expect(compareSchemas(older, newer, { strict: true }).every(({ severity }) => severity === 'BREAKING')).toBe(true)
    expect(compareSchemas(older, older)).toEqual([])
  })

  test('S2-057 S2-061 asks for a default of a new optional property, unless the version was raised', () => {
    const older = event({ id: text }, ['id'])
    const priority = { type: 'string', enum: ['normal', 'high'] }
    const bare = event({ id: text, priority }, ['id'])
    expect(lines(older, bare)).toEqual([
      'WB-C302 WARNING BACKWARD: priority was added as optional without a default: handlers read undefined from old events',
    ])
    expect(lines(older, bare, { isSameVersion: false })).toEqual([])
    expect(lines(older, event({ id: text, priority: { ...priority, default: 'normal' } }, ['id']))).toEqual([])
  })

  test('notes a changed default, an apparent rename, a contradiction and a place that is no schema', () => {
    const withDefault = (value: string): object => event({ p: { type: 'string', default: value } })
    expect(lines(withDefault('a'), withDefault('b'))).toEqual([
      'WB-C301 WARNING BACKWARD: default of p: "a" -> "b"; old events without it change their meaning',
    ])
    expect(lines(event({ mail: text }), event({ email: text }), { isSameVersion: false })).toEqual([
      'WB-C303 WARNING null: mail looks renamed to email: readers of either name miss the other',
    ])
    expect(lines(event({ a: { ...text, const: 7 } }, ['a']), event({})).join()).toContain('WB-C003')
    expect(lines(event({ a: text }), event({ a: { type: 'Date' } }))[0]).toContain('WB-C002')
  })

  test('gives every rule a code of its own', () => {
    const codes = Object.values(contractRules).map(({ code }) => code)
    expect(new Set(codes).size).toBe(codes.length)
  })

  test.each([2, 12])('compares recursive unions of %i members', (size) => {
    const tree = (last: object): object => ({
      $ref: '#/$defs/node',
      $defs: {
        node: {
          oneOf: Array.from({ length: size }, (_, index) =>
            event(
              {
                kind: { const: index },
                left: { $ref: '#/$defs/node' },
                right: { $ref: '#/$defs/node' },
                v: index === size - 1 ? last : text,
              },
              ['kind'],
            ),
          ),
        },
      },
    })
    expect(compareSchemas(tree(text), tree(text))).toEqual([])
    expect(compareSchemas(tree(text), tree(whole))[0]).toMatchObject({ severity: 'WARNING', direction: 'BACKWARD' })
  })
})
