import { toStandardJsonSchema } from '@valibot/to-json-schema'
import { defineEvents, encodeEvent, fromJsonSchema, SchemaViolationError, type StandardSchema } from '@waybill/core'
import { Ajv2020 } from 'ajv/dist/2020.js'
import * as v from 'valibot'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { withoutUndeclared } from '../../src/catalog/declared-members.ts'

const schema = z.object({
  id: z.string(),
  priority: z.enum(['normal', 'high']).default('normal'),
  lines: z.array(z.object({ sku: z.string() })).optional(),
  labels: z.record(z.string(), z.string()).optional(),
  extra: z.unknown().optional(),
})
const placed = { OrderPlaced: { topic: 'orders', schema, key: (order: { id: string }) => order.id } }
const passed: unknown = { id: 'a', total: 7, lines: [{ sku: 's', price: 3 }] }
const input = passed as z.input<typeof schema>

describe('C-85 members that a schema does not declare', () => {
  test('are refused with the path of each', async () => {
    const written = encodeEvent(defineEvents(placed), 'OrderPlaced', input)
    await expect(written).rejects.toThrow(SchemaViolationError)
    await expect(written).rejects.toMatchObject({
      violations: [
        { path: 'total', message: 'is not declared' },
        { path: 'lines[0].price', message: 'is not declared' },
      ],
    })
  })

  test.each<[library: string, schema: StandardSchema]>([
    ['zod', z.object({ id: z.string(), at: z.coerce.date(), lines: z.array(z.object({ sku: z.string() })) })],
    [
      'valibot',
      toStandardJsonSchema(
        v.object({
          id: v.string(),
          at: v.pipe(v.any(), v.toDate()),
          lines: v.array(v.object({ sku: v.string() })),
        }),
      ),
    ],
  ])('are refused beside a place that JSON Schema cannot describe: %s', async (_, described) => {
    const events = defineEvents({ E: { topic: 't', schema: described, key: () => null } })
    const at = '2026-11-19T00:00:00.000Z'
    const written = encodeEvent(events, 'E', { id: 'a', at, lines: [{ sku: 's', price: 1 }], total: 7 })
    await expect(written).rejects.toMatchObject({
      violations: [{ path: 'lines[0].price' }, { path: 'total' }],
    })
    expect((await encodeEvent(events, 'E', { id: 'a', at, lines: [] })).payloadJson).toContain(at)
  })

  test('are left out with STRIP and written with ALLOW', async () => {
    const stripped = await encodeEvent(defineEvents(placed, { undeclared: 'STRIP' }), 'OrderPlaced', input)
    expect(JSON.parse(stripped.payloadJson)).toEqual({ id: 'a', lines: [{ sku: 's' }], priority: 'normal' })
    const allowed = await encodeEvent(defineEvents(placed, { undeclared: 'ALLOW' }), 'OrderPlaced', input)
    expect(JSON.parse(allowed.payloadJson)).toEqual({ ...input, priority: 'normal' })
  })

  test('do not count inside maps and free forms, and a declared payload is written as it was passed', async () => {
    const free = { id: 'a', priority: 'high' as const, labels: { any: 'x' }, extra: { deep: [{ any: 1 }] } }
    const event = await encodeEvent(defineEvents(placed), 'OrderPlaced', free)
    expect(event.payloadJson).toBe(JSON.stringify(free))
  })

  test('are refused with a JSON Schema, and not checked with a schema that cannot tell its own', async () => {
    const json = fromJsonSchema<{ id: string }>(
      { type: 'object', properties: { id: { type: 'string' } } },
      new Ajv2020(),
    )
    const byJson = defineEvents({ E: { topic: 't', schema: json, key: () => null } })
    await expect(encodeEvent(byJson, 'E', { id: 'a', more: 1 } as { id: string })).rejects.toThrow(
      'more: is not declared',
    )
    const { jsonSchema: _, ...untold } = z.object({ id: z.string() })['~standard']
    const byName = defineEvents({ E: { topic: 't', schema: { '~standard': untold }, key: () => null } })
    const event = await encodeEvent(byName, 'E', { id: 'a', more: 1 } as { id: string })
    expect(event.payloadJson).toContain('more')
  })

  test.each<[string, Readonly<Record<string, unknown>>, unknown, string[]]>([
    ['through references', { $ref: '#/$defs/e', $defs: { e: { properties: { a: {} } } } }, { a: 1, b: 1 }, ['b']],
    [
      'in parts of allOf',
      { allOf: [{ properties: { a: {} } }, { properties: { b: {} } }] },
      { a: 1, b: 1, c: 1 },
      ['c'],
    ],
    [
      'in branches of a union',
      { oneOf: [{ properties: { a: {} } }, { properties: { b: {} } }] },
      { a: 1, b: 1, c: 1 },
      ['c'],
    ],
    ['in tuples', { prefixItems: [{ properties: { a: {} } }], items: {} }, [{ b: 1 }, { c: 1 }], ['0.b']],
    ['by pattern', { properties: {}, patternProperties: { '^x': {} } }, { x1: 1, y: 1 }, ['y']],
    ['as required', { properties: {}, required: ['r'] }, { r: 1, s: 1 }, ['s']],
    ['nowhere', { properties: {} }, { a: 1 }, ['a']],
    [
      'in the branch of another tag',
      {
        oneOf: [
          { $ref: '#/$defs/card' },
          { type: 'object', properties: { kind: { const: 'cash' } }, required: ['kind'] },
        ],
        $defs: { card: { type: 'object', properties: { kind: { const: 'card' }, last4: {} }, required: ['kind'] } },
      },
      { kind: 'cash', last4: 7 },
      ['last4'],
    ],
    ['in the branch of another type', { anyOf: [{ type: 'array', items: {} }, { properties: {} }] }, { a: 1 }, ['a']],
    ['behind a tuple', { properties: { t: { prefixItems: [{}] } } }, { t: [1, 'x', {}] }, ['t.1', 't.2']],
    ['behind the tuple of a union', { anyOf: [{ prefixItems: [{}] }, { prefixItems: [{}, {}] }] }, [1, 2, 3], ['2']],
    ['behind no tuple', { anyOf: [{ prefixItems: [{}] }, { type: 'array' }] }, [1, { a: 2 }], []],
    ['in lists of anything', { type: 'array' }, [{ a: 1 }], []],
    ['beside a part that names none', { properties: { a: {} }, allOf: [{ minProperties: 1 }] }, { a: 1, b: 1 }, ['b']],
    ['in a union with a free form', { anyOf: [{ properties: { a: {} } }, { type: 'object' }] }, { b: 1 }, []],
    [
      'for a member that is there',
      { properties: { a: {} }, dependentSchemas: { a: { required: ['b'] } } },
      { b: 1 },
      ['b'],
    ],
    [
      'in a condition',
      JSON.parse('{"if":{"required":["a"]},"then":{"required":["b"]},"else":{"required":["c"]}}') as object as Readonly<
        Record<string, unknown>
      >,
      { b: 1, d: 1 },
      ['d'],
    ],
    [
      'for the item that is asked for',
      { items: { properties: {} }, contains: { properties: { a: {} } } },
      [{ a: 1, b: 1 }],
      ['0.b'],
    ],
    [
      'in a recursion',
      { $ref: '#/$defs/n', $defs: { n: { properties: { n: { $ref: '#/$defs/n' } } } } },
      { n: { n: { a: 1 } } },
      ['n.n.a'],
    ],
    [
      'behind an anchor',
      { properties: { n: { $ref: '#node' } }, $defs: { n: { $anchor: 'node', properties: { a: {} } } } },
      { n: { a: 1, b: 1 } },
      ['n.b'],
    ],
    [
      'behind a dynamic anchor',
      { $dynamicAnchor: 'node', properties: { n: { $dynamicRef: '#node' } } },
      { n: { n: { a: 1 } } },
      ['n.n.a'],
    ],
    ['in a recursion of 2019-09', { properties: { n: { $recursiveRef: '#' } } }, { n: { a: 1 } }, ['n.a']],
    [
      'behind the name of the document',
      {
        $id: 'https://example.com/e',
        properties: { n: { $ref: 'https://example.com/e#/$defs/n' } },
        $defs: { n: { properties: {} } },
      },
      { n: { a: 1 } },
      ['n.a'],
    ],
    ['in another document', { properties: { n: { $ref: 'other.json' } } }, { n: { a: 1 } }, []],
    [
      'for members that nothing else evaluates',
      { unevaluatedProperties: { properties: { a: {} } } },
      { x: { b: 1 } },
      ['x.b'],
    ],
    ['for items that nothing else evaluates', { unevaluatedItems: { properties: { a: {} } } }, [{ b: 1 }], ['0.b']],
    ['in a reference to itself', { $ref: '#', properties: { a: {} } }, { b: 1 }, ['b']],
  ])('are told from those declared %s', (_, json, value, undeclared) => {
    expect(withoutUndeclared(json, value).undeclared.map((path) => path.join('.'))).toEqual(undeclared)
  })

  test('are left out behind a tuple with STRIP', () => {
    expect(withoutUndeclared({ prefixItems: [{}] }, [1, 2]).value).toEqual([1])
  })

  test('are refused below a depth that no schema of an event has', () => {
    const nested = (depth: number): unknown => (depth === 0 ? {} : { n: nested(depth - 1) })
    const recursive = { properties: { n: { $ref: '#' } } }
    expect(withoutUndeclared(recursive, nested(400)).undeclared).toEqual([])
    expect(withoutUndeclared(recursive, nested(600)).undeclared).toHaveLength(1)
  })
})

const named = (pattern: string): Record<string, unknown> => ({
  type: 'object',
  patternProperties: { [pattern]: { type: 'object', properties: { a: {} } } },
})

test('a pattern of names that only JavaScript without the flag u reads, or another language, refuses nothing on a guess', () => {
  const value = { 'x-1': { a: 1, b: 2 }, y: 1 }
  expect(withoutUndeclared(named(String.raw`^\w\-`), value).undeclared).toEqual([['x-1', 'b'], ['y']])
  expect(withoutUndeclared(named('(?<name'), value).undeclared).toEqual([])
})

/** A union that counts how often it is read. The limit ends what would not end. */
function countedUnion(branches: readonly unknown[], note: () => void): Record<string, unknown> {
  return Object.defineProperty({}, 'anyOf', {
    enumerable: true,
    get: () => {
      note()
      return branches
    },
  })
}

function counter(limit: number): { reads: number; note: () => void } {
  const count = {
    reads: 0,
    note: () => {
      count.reads += 1
      if (count.reads > limit) throw new RangeError(`More than ${limit} reads.`)
    },
  }
  return count
}

function half(name: string): object {
  return { type: 'object', properties: { left: { $ref: '#' }, [name]: {} } }
}

describe('unions are looked at once for each place, however many ways lead to them', () => {
  test('in a chain of unions whose branches all lead to the next one', () => {
    const levels = 60
    const count = counter(levels * 10)
    const $defs: Record<string, unknown> = { [`l${levels}`]: { properties: { a: { properties: {} } } } }
    for (let level = 0; level < levels; level += 1) {
      const next = { $ref: `#/$defs/l${level + 1}` }
      $defs[`l${level}`] = countedUnion([next, { ...next }], count.note)
    }
    const chain = { $ref: '#/$defs/l0', $defs }
    expect(withoutUndeclared(chain, { a: { x: 1 }, b: 1 }).undeclared).toEqual([['a', 'x'], ['b']])
  })

  test('in a recursive union without tags, whose values are deep', () => {
    const depth = 100
    const count = counter(depth * 10)
    const tree = countedUnion([half('a'), half('b')], count.note)
    let value: Record<string, unknown> = { a: 1, z: 1 }
    for (let level = 0; level < depth; level += 1) value = { left: value, b: 2 }
    expect(withoutUndeclared(tree, value).undeclared).toEqual([[...Array.from({ length: depth }, () => 'left'), 'z']])
  })

  test('and a recursion that comes back to a schema which declares members declares them in all its ways', () => {
    const json = {
      anyOf: [{ $ref: '#/$defs/x' }, { $ref: '#/$defs/y' }],
      $defs: {
        x: { anyOf: [{ $ref: '#/$defs/y' }] },
        y: { anyOf: [{ $ref: '#/$defs/x' }, { properties: { a: {} } }], properties: { c: {} } },
      },
    }
    expect(withoutUndeclared(json, { a: 1, b: 1, c: 1 }).undeclared).toEqual([['b']])
  })
})
