import { describe, expect, test } from 'vitest'
import { nearMisses } from '../../src/sample/near-misses.ts'
import { sampleEvents } from '../../src/sample/sample-events.ts'
import type { JsonObject } from '../../src/schema/json.ts'
import { closed, judgeOf } from '../support/judge.ts'
import { SchemaDrawer, seeded } from '../support/random-schema.ts'

describe('generated events', () => {
  test('fit their schema and have declared members only, with ajv as judge', () => {
    let events = 0
    for (let seed = 0; seed < 60; seed += 1) {
      const schema = new SchemaDrawer(seeded(seed)).event()
      const fits = judgeOf(closed(schema) as object)
      for (const event of sampleEvents(schema, { count: 10, seed })) {
        events += 1
        expect(fits(event) ? 'fits' : JSON.stringify({ schema, event })).toBe('fits')
      }
    }
    expect(events).toBeGreaterThan(300)
  })

  test('begin without and with all optional members, differ, and are the same for the same seed', () => {
    const schema: JsonObject = {
      type: 'object',
      properties: {
        id: { type: 'string' },
        note: { type: 'string' },
        more: { type: 'array', items: { type: 'string' } },
      },
      required: ['id'],
    }
    const events = sampleEvents(schema, { count: 20 })
    expect(events.slice(0, 2).map((event) => Object.keys(event as object))).toEqual([['id'], ['id', 'note', 'more']])
    expect(new Set(events.map((event) => JSON.stringify(event))).size).toBe(events.length)
    expect(sampleEvents(schema, { count: 20 })).toEqual(events)
    expect(sampleEvents(schema, { count: 20, seed: 2 })).not.toEqual(events)
  })

  test.each<[what: string, text: JsonObject, lengths: number[]]>([
    ['a pattern and a least length', { pattern: '^[a-z]+$', minLength: 8 }, [8, 13]],
    ['a pattern and both lengths', { pattern: '^[a-z]+$', minLength: 50, maxLength: 60 }, [50, 60]],
    ['a pattern and a greatest length', { pattern: '^a', maxLength: 3 }, [1, 3]],
    ['a format and a greatest length', { format: 'email', maxLength: 9 }, [7, 9]],
  ])('meet %s', (_, text, lengths) => {
    const events = sampleEvents({ type: 'string', ...text }, { count: 8 }) as string[]
    const found = events.map(({ length }) => length)
    expect([Math.min(...found), Math.max(...found)]).toEqual([lengths[0], lengths.at(-1)])
  })

  test('have an end where each member has ten members like itself', () => {
    const names = Array.from({ length: 10 }, (_, n) => `m${n}`)
    const tree: JsonObject = {
      type: 'object',
      properties: Object.fromEntries(names.map((name) => [name, { $ref: '#' }])),
    }
    const [, full] = sampleEvents(tree, { count: 3 })
    expect(JSON.stringify(full).length).toBeLessThan(100_000)
  })

  test('are none for a schema that contradicts itself', () => {
    expect(sampleEvents({ type: 'string', const: 7 }, { count: 5 })).toEqual([])
  })

  test('have near misses that differ in one place', () => {
    expect([...nearMisses({ code: 'ab', tags: [1] })]).toEqual([
      { tags: [1] },
      { code: 'AB', tags: [1] },
      { code: 'ab ', tags: [1] },
      { code: 'ab' },
      { code: 'ab', tags: ['1'] },
    ])
  })
})
