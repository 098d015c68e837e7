import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isNamed } from '../../src/dead-letters/foreign-topics.ts'

describe('a name of topics', () => {
  test.each([
    ['orders-dlt', ['orders-dlt'], true],
    ['orders-dlt', ['orders'], false],
    ['orders-dlt', ['*-dlt'], true],
    ['orders.DLT', ['*.dlt'], true],
    ['dead-letter-topic-orders', ['dead-letter-topic-*'], true],
    ['orders-dlt-2', ['*-dlt'], false],
    ['shop.orders.DLT', ['shop.*.DLT'], true],
    ['shop.DLT', ['shop.*.DLT'], false],
    ['a-b-c', ['a*b*c'], true],
    ['a-c-b', ['a*b*c'], false],
    ['aa', ['a*a*a'], false],
    ['anything', ['*'], true],
    ['orders', [], false],
    ['ordersXdlt', ['orders.dlt'], false],
  ])('%s is one of %j: %s', (topic, names, expected) => {
    expect(isNamed(topic, names)).toBe(expected)
  })

  test('agrees with an expression, whatever the parts', () => {
    const part = fc.stringMatching(/^[a-b.]{0,3}$/)
    fc.assert(
      fc.property(
        fc.array(part, { minLength: 1, maxLength: 4 }),
        fc.stringMatching(/^[a-b.]{0,10}$/),
        (parts, topic) => {
          const expression = new RegExp(`^${parts.map((one) => one.replaceAll('.', '\\.')).join('.*')}$`)
          expect(isNamed(topic, [parts.join('*')])).toBe(expression.test(topic))
        },
      ),
    )
  })

  test('of many stars is decided in a moment', () => {
    expect(isNamed('a'.repeat(249), [`${'a*'.repeat(100)}b`])).toBe(false)
  })
})
