import { NonRetryableError } from '@waybill/core'
import { causeChain, isInstance } from '@waybill/core/internal'
import { hostile } from '@waybill/test-support'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { labelsOf, prototypesOf, readProperty } from '../../src/failure/cause-chain.ts'

describe('a cause chain', () => {
  test('leads from the thrown value to the innermost cause', () => {
    const inner = new Error('inner')
    const middle = new Error('middle', { cause: inner })
    const outer = new Error('outer', { cause: middle })
    expect(causeChain(outer)).toEqual([outer, middle, inner])
  })

  test('has the members of an aggregate, nearer to the outside first', () => {
    const deep = new Error('deep')
    const [first, second, cause] = [new Error('first', { cause: deep }), new Error('second'), new Error('cause')]
    const outer = new AggregateError([first, second], 'all failed', { cause })
    expect(causeChain(outer)).toEqual([outer, first, second, cause, deep])
  })

  test('takes the property errors of an aggregate only', () => {
    const error = Object.assign(new Error('invalid'), { errors: [new Error('field')] })
    expect(causeChain(error)).toEqual([error])
  })

  test('may end in something that is no error', () => {
    expect(causeChain(new Error('x', { cause: 'a text' })).at(-1)).toBe('a text')
    expect(causeChain(undefined)).toEqual([undefined])
    expect(causeChain(new Error('x', { cause: null }))).toHaveLength(1)
  })

  test('has each error once', () => {
    const shared = new Error('shared')
    const outer = new AggregateError([shared, new Error('other', { cause: shared })])
    expect(causeChain(outer)).toHaveLength(3)
  })

  test('ends after a hundred errors', () => {
    expect(causeChain(hostile['a chain of 100,000 causes']?.())).toHaveLength(100)
    expect(causeChain(hostile['an aggregate of ten thousand']?.())).toHaveLength(100)
    expect(causeChain(hostile['causes made on reading, without end']?.())).toHaveLength(100)
  })

  test.each(Object.entries(hostile))('never throws, and starts with what was thrown: %s', (_, make) => {
    const thrown = make()
    expect(Object.is(causeChain(thrown)[0], thrown)).toBe(true)
    expect(causeChain(make()).length).toBeLessThanOrEqual(100)
  })

  test('never throws for any value', () => {
    fc.assert(
      fc.property(fc.anything({ withNullPrototype: true, withBigInt: true, withMap: true }), (thrown) => {
        expect(Object.is(causeChain(thrown)[0], thrown)).toBe(true)
      }),
    )
  })
})

describe('the labels of an error', () => {
  test('are its name, its code and the names of its classes', () => {
    class PaymentError extends NonRetryableError {}
    const labels = new Set(labelsOf(new PaymentError('x')))
    expect([...labels]).toEqual(['PaymentError', 'WAYBILL_NON_RETRYABLE', 'NonRetryableError', 'WaybillError', 'Error'])
  })

  test('include a name that was set by hand', () => {
    expect(new Set(labelsOf(Object.assign(new Error('x'), { name: 'Custom', code: 'ECONNRESET' })))).toEqual(
      new Set(['Custom', 'ECONNRESET', 'Error']),
    )
  })

  test('of plain objects do not include Object', () => {
    expect(labelsOf({ code: 'X' })).toEqual(['X'])
  })

  test.each(Object.entries(hostile))('are texts, whatever was thrown: %s', (_, make) => {
    expect([...labelsOf(make())].every((label) => typeof label === 'string')).toBe(true)
    expect(prototypesOf(make()).length).toBeLessThanOrEqual(50)
  })
})

test('a property that cannot be read is undefined', () => {
  const error = {
    get status(): number {
      throw new Error('no')
    },
  }
  expect(readProperty(error, 'status')).toBeUndefined()
  expect(readProperty(undefined, 'status')).toBeUndefined()
  expect(readProperty({ status: 503 }, 'status')).toBe(503)
})

describe('an instance of a class', () => {
  test('is recognized as by instanceof, with its subclasses', () => {
    expect(isInstance(new NonRetryableError('no'), NonRetryableError)).toBe(true)
    expect(isInstance(new NonRetryableError('no'), Error)).toBe(true)
    expect(isInstance(new Error('no'), NonRetryableError)).toBe(false)
    for (const other of [undefined, null, 'text', 7, Object.create(null)]) expect(isInstance(other, Error)).toBe(false)
  })

  test('is none if its prototypes throw or never end', () => {
    const throwing = new Proxy(
      {},
      {
        getPrototypeOf: () => {
          throw new Error('trap')
        },
      },
    )
    const endless: object = new Proxy({}, { getPrototypeOf: () => endless })
    expect([throwing, endless].map((value) => isInstance(value, Error))).toEqual([false, false])
  })
})
