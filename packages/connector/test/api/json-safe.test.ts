import { describe, expect, test } from 'vitest'
import { jsonSafe } from '../../src/api/json-safe.ts'

describe('jsonSafe', () => {
  test('writes bigints as decimal strings at every depth, without losing digits', () => {
    const answer = { offset: 2n ** 62n, list: [{ from: 1n }, 2n], nested: { to: 3n, plain: 4 } }
    expect(JSON.stringify(jsonSafe(answer))).toBe(
      '{"offset":"4611686018427387904","list":[{"from":"1"},"2"],"nested":{"to":"3","plain":4}}',
    )
  })

  test('makes every nested object safe by itself', () => {
    const { nested } = jsonSafe({ nested: { to: 3n } })
    expect(JSON.stringify(nested)).toBe('{"to":"3"}')
  })

  test('returns the same object with its bigints, which compares and clones as before', () => {
    const answer = { offset: 1n }
    expect(jsonSafe(answer)).toBe(answer)
    expect(jsonSafe(answer)).toStrictEqual({ offset: 1n })
    expect(structuredClone(jsonSafe(answer))).toStrictEqual({ offset: 1n })
    expect(Object.keys(answer)).toEqual(['offset'])
  })

  test('keeps a toJSON that the answer already has', () => {
    expect(JSON.stringify(jsonSafe({ at: 1n, toJSON: () => 'own' }))).toBe('"own"')
  })

  test('ends on an answer that contains itself', () => {
    const answer: { offset: bigint; self?: unknown } = { offset: 1n }
    answer.self = answer
    expect(jsonSafe(answer)).toHaveProperty('toJSON')
  })

  test('leaves instances of classes and frozen objects as they are', () => {
    const bytes = Buffer.from('a')
    expect(jsonSafe({ at: 1n, bytes, frozen: Object.freeze({ to: 2n }) })).toStrictEqual({
      at: 1n,
      bytes,
      frozen: { to: 2n },
    })
    expect(JSON.stringify(jsonSafe({ at: 1n, bytes }))).toBe('{"at":"1","bytes":{"type":"Buffer","data":[97]}}')
  })
})
