import { describe, expect, test } from 'vitest'
import type { Binding } from '../../src/api/binding.ts'
import { resolveBinding, resolveBindings } from '../../src/options/binding-options.ts'
import { bindingOf, resolved, violationsOf } from './test-binding.ts'

describe('a binding', () => {
  test('called payments, strict, with five attempts and no tiers, is as specified', () => {
    const payments: Binding = {
      topic: 'payments.events',
      groupId: 'payments',
      handler: () => {},
      concurrency: 2,
      orderingMode: 'STRICT',
      retry: { tier0: { maxAttempts: 5, initialBackoffMs: 200, multiplier: 2 } },
      circuitBreaker: { enabled: true, failureRateThreshold: 30 },
    }
    expect(resolveBinding('payments', payments)).toMatchObject({
      name: 'payments',
      topic: 'payments.events',
      concurrency: 2,
      orderingMode: 'STRICT',
      strictExhaustion: 'DLT',
      tiers: [],
      tier0: { maxAttempts: 5, backoff: { initialMs: 200, multiplier: 2, maxMs: 2_000 } },
      circuitBreaker: { enabled: true, failureRateThreshold: 30 },
      deadLetter: { topic: 'payments.events.DLT' },
    })
  })

  test('is frozen, with all that is in it', () => {
    const binding = resolved()
    const parts = [binding, binding.tiers, binding.tiers[0], binding.exceptions, binding.blockingBackoff]
    for (const part of [...parts, binding.deadLetter, binding.circuitBreaker]) expect(Object.isFrozen(part)).toBe(true)
  })

  test('says all that is wrong with it at once, with paths', () => {
    const given = { topic: 'orders', concurency: 2, retry: { tiers: [{ delayMs: '5s' }], tier0: { maxAttempts: 0 } } }
    expect(violationsOf(() => resolveBinding('orders', given as never))).toEqual([
      'bindings.orders.concurency is not an option; did you mean concurrency?',
      'bindings.orders.groupId is required: a text that is not empty',
      expect.stringMatching(/^bindings\.orders\.handler is required: a function, .* or the result of handleEvents$/),
      'bindings.orders.retry.tier0.maxAttempts must be an integer from 1 to 1000, got 0',
      'bindings.orders.retry.tiers[0].delayMs must be whole milliseconds of 1 or more, got "5s"',
    ])
  })

  test('that is no object is refused as a whole', () => {
    expect(violationsOf(() => resolveBinding('orders', null as never))).toEqual([
      'bindings.orders must be an object, got null',
    ])
  })

  test.each(['', 'a:b', 'a b', 'ä', 'a'.repeat(101)])('cannot be called %j', (name) => {
    expect(violationsOf(() => resolveBinding(name, bindingOf()))).toEqual([
      expect.stringContaining('must be a name of at most 100 letters'),
    ])
  })
})

describe('the bindings of a connector', () => {
  test('are resolved in their order', () => {
    const given = { orders: bindingOf(), 'orders.v2': bindingOf({ topic: 'orders.v2' }) }
    expect(resolveBindings(given, ['default']).map(({ name }) => name)).toEqual(['orders', 'orders.v2'])
    expect(resolveBindings({}, [])).toEqual([])
  })

  test('say all that is wrong with any of them in one error: values, relations and clashes', () => {
    const given = {
      bad: { ...bindingOf({ topic: 'bad' }), maxAhead: 0 },
      'a-b': bindingOf({ topic: 'a', sessionTimeoutMs: 1 }),
      one: bindingOf({ topic: 'c' }),
      two: bindingOf({ topic: 'c' }),
      three: bindingOf({ topic: 'd', cluster: 'defualt' }),
    }
    const run = () => resolveBindings(given, ['default', 'analytics'])
    expect(violationsOf(run)).toEqual([
      expect.stringMatching(/^bindings\.bad\.maxAhead must be an integer from 1/),
      expect.stringMatching(/^bindings\["a-b"\]\.sessionTimeoutMs must be at least 3 x/),
      'bindings.three.cluster names no cluster of this connector, got "defualt"; did you mean default?',
      expect.stringMatching(/^bindings\.two\.groupId billing already reads c for one/),
    ])
    expect(run).toThrow(/^Bindings: 4 invalid options:\n {2}bindings\.bad\.maxAhead must be/)
  })

  test('name the clusters there are', () => {
    expect(violationsOf(() => resolveBindings({ orders: bindingOf({ cluster: 'x' }) }, ['default', 'eu']))).toEqual([
      'bindings.orders.cluster names no cluster of this connector, got "x"; known are default, eu',
    ])
  })
})
