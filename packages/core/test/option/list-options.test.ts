import { durationMs, integer, list, listOptions, mapOf, nested, optional, orFalse, text } from '@waybill/core/option'
import { expect, test } from 'vitest'

test('every option is listed with its path, what it expects, its default and the reason', () => {
  const rules = {
    topic: text(),
    attempts: integer({ default: 3, min: 1, because: 'the third try rarely succeeds where the second failed' }),
    note: optional(text()),
    retry: nested({ tiers: list(nested({ delayMs: durationMs() }), { default: [] }) }),
    breaker: orFalse(nested({ calls: integer({ default: 10 }) }), { default: false, because: 'few need it' }),
    clusters: mapOf(list(nested({ port: integer({ default: 9092 }) }))),
  }
  const rows = listOptions(rules)
  expect(rows.map(({ path, required, default: fallback }) => [path, required, fallback])).toEqual([
    ['topic', true, undefined],
    ['attempts', false, 3],
    ['note', false, undefined],
    ['retry', false, {}],
    ['retry.tiers', false, []],
    ['retry.tiers[].delayMs', true, undefined],
    ['breaker', false, false],
    ['breaker.calls', false, 10],
    ['clusters', true, undefined],
    ['clusters.*[].port', false, 9092],
  ])
  expect(rows[1]).toEqual({
    path: 'attempts',
    expects: 'an integer of 1 or more',
    required: false,
    default: 3,
    because: 'the third try rarely succeeds where the second failed',
  })
  expect(rows[6]).toMatchObject({ expects: 'an object, or false', because: 'few need it' })
})
