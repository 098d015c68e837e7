/** `encodeEvent` decides which events a writer writes, and the comparison relies on it. */
import { compareSchemas } from '@waybill/contract'
import { describe, expect, test } from 'vitest'
import { tryWriters } from '../support/try-writers.ts'

const breaks = (older: object, newer: object): boolean =>
  compareSchemas(older, newer, { mode: 'BACKWARD', isSameVersion: false }).some(({ code }) => !code.startsWith('WB-C3'))

const member = (properties: object, required: readonly string[] = []): object => ({
  type: 'object',
  properties,
  required,
})
const tuple = (...prefixItems: readonly object[]): object => ({ type: 'array', prefixItems })
const text = { type: 'string' }
const whole = { type: 'integer' }

describe('C-85 events that encodeEvent writes', () => {
  test('are accepted by every reader that is called compatible', { timeout: 120_000 }, async () => {
    const tally = await tryWriters(1, 600, 12)
    process.stdout.write(`${JSON.stringify(tally)}\n`)
    expect(tally.letThrough).toEqual([])
    expect(tally.written).toBeGreaterThan(5 * tally.compatible)
  })

  test.each(['anyOf', 'oneOf'])('may have members of other branches of %s', (key) => {
    const other = member({ b: text }, ['b'])
    expect(
      breaks({ [key]: [member({ a: text }, ['a']), other] }, { [key]: [member({ a: text, b: whole }, ['a']), other] }),
    ).toBe(true)
  })

  test('have no members of a branch with another tag', () => {
    const [card, cash] = [member({ kind: { const: 'card' }, last4: text }, ['kind']), { kind: { const: 'cash' } }]
    expect(
      breaks({ oneOf: [card, member(cash, ['kind'])] }, { oneOf: [card, member({ ...cash, last4: whole }, ['kind'])] }),
    ).toBe(false)
  })

  test('may have members of the other branch of a condition', () => {
    // Read from text, since the linter takes an object with a member `then` for a promise.
    const schema = (consequence: object): object => ({
      ...member({ kind: text }),
      if: member({ kind: { const: 'a' } }, ['kind']),
      else: member({ y: text }),
      ...(JSON.parse(`{"then":${JSON.stringify(consequence)}}`) as object),
    })
    expect(breaks(schema(member({ x: text })), schema(member({ x: text, y: whole })))).toBe(true)
  })

  test('may have members of the item that a list has to contain', () => {
    const list = (properties: object): object => ({
      type: 'array',
      items: member(properties),
      contains: member({ b: text }, ['b']),
    })
    expect(breaks(list({ a: text }), list({ a: text, b: whole }))).toBe(true)
  })

  test('have no items behind a tuple, but those of another branch', () => {
    expect(breaks(tuple(text), tuple(text, whole))).toBe(false)
    expect(
      breaks({ anyOf: [tuple(text), tuple(whole, text)] }, { anyOf: [tuple(text, whole), tuple(whole, text)] }),
    ).toBe(true)
  })

  test('may be anything where a branch of a union declares nothing', () => {
    const free = { type: 'object' }
    expect(
      breaks(
        { anyOf: [member({ a: text }, ['a']), free] },
        { anyOf: [member({ a: text }, ['a']), member({ c: text })] },
      ),
    ).toBe(true)
  })
})
