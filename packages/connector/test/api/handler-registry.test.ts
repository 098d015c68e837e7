import { ArgumentError } from '@waybill/core'
import { describe, expect, test } from 'vitest'
import { HandlerRegistry } from '../../src/api/handler-registry.ts'

const [one, other] = [(): void => {}, (): void => {}]

describe('C-13 a registry of handlers', () => {
  test('has those it was given, in their order', () => {
    const handlers = new HandlerRegistry({ orders: one }).register('refunds', other)
    expect(handlers.names()).toEqual(['orders', 'refunds'])
    expect([handlers.get('orders'), handlers.get('refunds'), handlers.get('bills')]).toEqual([one, other, undefined])
  })

  test('does not replace one by another of its name', () => {
    const handlers = new HandlerRegistry({ orders: one })
    expect(() => handlers.register('orders', other)).toThrow(ArgumentError)
    expect(handlers.get('orders')).toBe(one)
    expect(() => handlers.register('', other)).toThrow(/must not be empty/)
  })

  test('forgets one on request', () => {
    const handlers = new HandlerRegistry({ orders: one })
    expect([handlers.unregister('orders'), handlers.unregister('orders')]).toEqual([true, false])
    expect(handlers.register('orders', other).get('orders')).toBe(other)
  })

  test('knows a handler called like something that every object has', () => {
    expect(new HandlerRegistry().get('constructor')).toBeUndefined()
  })
})
