import { defineEvents, OptionsError, type StandardSchema, UnknownEventTypeError } from '@waybill/core'
import { definitionOf } from '@waybill/core/internal'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'

const schema = z.object({ orderId: z.string() })
const key = (order: { orderId: string }): string => order.orderId
const valid = { topic: 'orders.events', schema, key }

function violationsOf(definitions: unknown, options?: unknown): string[] {
  try {
    defineEvents(definitions as never, options as never)
  } catch (thrown) {
    if (thrown instanceof OptionsError) return thrown.violations.map(({ path, problem }) => `${path} ${problem}`)
    throw thrown
  }
  return []
}

describe('a catalog', () => {
  test('fills in what a definition leaves out', () => {
    const { definitions, wireFormat } = defineEvents({ 'order.placed': valid })
    expect(definitions['order.placed']).toEqual({
      ...valid,
      version: 1,
      aggregateType: '__GLOBAL__',
      description: undefined,
    })
    expect(wireFormat.name).toBe('JSON')
  })

  test('keeps what a definition says', () => {
    const said = { ...valid, version: 3, aggregateType: 'Order', description: 'An order was placed.' }
    expect(defineEvents({ 'order.placed': said }).definitions['order.placed']).toEqual(said)
  })

  test.each(['JSON', 'ENVELOPE', 'CLOUDEVENTS'] as const)('travels as %s when configured so', (wireFormat) => {
    expect(defineEvents({ a: valid }, { wireFormat }).wireFormat.name).toBe(wireFormat)
  })

  test('never changes', () => {
    const given = { 'order.placed': { ...valid } }
    const catalog = defineEvents(given)
    given['order.placed'].topic = 'other'
    expect(catalog.definitions['order.placed'].topic).toBe('orders.events')
    expect(Object.isFrozen(catalog)).toBe(true)
    expect(Object.isFrozen(catalog.definitions)).toBe(true)
    expect(Object.isFrozen(catalog.definitions['order.placed'])).toBe(true)
  })

  test('takes schemas that are functions', () => {
    const callable: StandardSchema = Object.assign(() => {}, {
      '~standard': { version: 1 as const, vendor: 'test', validate: (value: unknown) => ({ value }) },
    })
    expect(violationsOf({ a: { topic: 't', schema: callable, key: () => null } })).toEqual([])
  })
})

describe('a wrong definition', () => {
  test('is reported with everything that is wrong, each with its path', () => {
    const violations = violationsOf(
      {
        'order.placed': { topic: 'orders events', schema: {}, key: 'orderId', version: 0 },
        'order.cancelled': { schema, key, aggregateType: '', descripton: 'x' },
        ' ': valid,
      },
      { wireFormat: 'CLOUDEVENT', producer: 'a b' },
    )
    const paths = violations.map((violation) => violation.slice(0, violation.indexOf(' ', 14)))
    expect(paths.toSorted()).toEqual(
      [
        'definitions[" "]',
        'definitions["order.placed"].topic',
        'definitions["order.placed"].schema',
        'definitions["order.placed"].key',
        'definitions["order.placed"].version',
        'definitions["order.cancelled"].descripton',
        'definitions["order.cancelled"].topic',
        'definitions["order.cancelled"].aggregateType',
        'options.wireFormat',
        'options.producer',
      ].toSorted(),
    )
    expect(violations.join()).toMatch(/did you mean description\?.*did you mean CLOUDEVENTS\?/s)
  })

  test('cannot be none at all', () => {
    expect(violationsOf({})).toEqual([expect.stringMatching(/must have at least one event/)])
  })

  test.each(['', '.', '..', 'a b', 'ü', 'a'.repeat(250)])('cannot have the topic %j', (topic) => {
    expect(violationsOf({ a: { ...valid, topic } })).toHaveLength(1)
  })

  test.each(['a', 'orders.events', 'A-b_c.1', 'a'.repeat(249)])('can have the topic %j', (topic) => {
    expect(violationsOf({ a: { ...valid, topic } })).toEqual([])
  })

  test.each([1.5, 0, -1, 2 ** 31, '1'])('cannot have the version %j', (version) => {
    expect(violationsOf({ a: { ...valid, version } })).toHaveLength(1)
  })

  test.each(['', ' a', 'a\n', '\uD800'])('cannot be called %j', (name) => {
    expect(violationsOf({ [name]: valid })).toHaveLength(1)
  })

  test.each([undefined, null, 7, [], 'x'])('cannot be %j', (definition) => {
    expect(violationsOf({ a: definition })).not.toEqual([])
  })
})

describe('a name outside the catalog', () => {
  const catalog = defineEvents({ 'order.placed': valid })

  test('is an UnknownEventTypeError that knows the nearest', () => {
    expect(() => definitionOf(catalog, 'order.plcaed')).toThrow(UnknownEventTypeError)
    expect(() => definitionOf(catalog, 'order.plcaed')).toThrow(/did you mean "order.placed"\?/)
  })

  test('says what was not lost, in whole sentences', () => {
    expect(() => definitionOf(catalog, 'x')).toThrow(
      /^The catalog has no event called "x"\. Nothing was written, and a record .* bytes\. Define it /,
    )
  })

  test.each(['__proto__', 'constructor', 'toString', ''])('is also %j', (name) => {
    expect(() => definitionOf(catalog, name)).toThrow(UnknownEventTypeError)
  })

  test('is cut off in the message, however long it is', () => {
    expect(() => definitionOf(catalog, 'x'.repeat(1_000_000))).toThrow(/^.{1,300}$/)
  })
})
