import { ArgumentError, type OutboxListener, StateError } from '@waybill/core'
import { createListenerRegistry } from '@waybill/outbox'
import { describe, expect, test } from 'vitest'

const one: OutboxListener = async () => {}
const other: OutboxListener = async () => {}

describe('a listener', () => {
  test('registered by event type alone is for events without an aggregate type of their own', () => {
    const registry = createListenerRegistry().register('order.placed', one)
    expect(registry.listenerFor('__GLOBAL__', 'order.placed')).toBe(one)
    expect(registry.listenerFor('Order', 'order.placed')).toBe(null)
  })

  test('registered with an aggregate type is for exactly that pair', () => {
    const registry = createListenerRegistry().register('Order', 'placed', one).register('Cart', 'placed', other)
    expect(registry.listenerFor('Order', 'placed')).toBe(one)
    expect(registry.listenerFor('Cart', 'placed')).toBe(other)
    expect(registry.listenerFor('Order', 'cancelled')).toBe(null)
  })

  test('is registered by objects with a name as well', () => {
    const registry = createListenerRegistry().register({ name: 'Order' }, { name: 'placed' }, one)
    expect(registry.listenerFor('Order', 'placed')).toBe(one)
  })

  test('is not confused with one whose names run together', () => {
    const registry = createListenerRegistry().register('a:b', 'c', one)
    expect(registry.listenerFor('a', 'b:c')).toBe(null)
  })

  test('is the only one of its pair: a second registration is refused', () => {
    const registry = createListenerRegistry().register('order.placed', one)
    expect(() => registry.register('order.placed', other)).toThrow(StateError)
    expect(() => registry.register('__GLOBAL__', 'order.placed', other)).toThrow(
      '__GLOBAL__:order.placed already has a listener',
    )
    expect(registry.listenerFor('__GLOBAL__', 'order.placed')).toBe(one)
  })

  test('is a function', () => {
    expect(() => createListenerRegistry().register('order.placed', 'no function' as never)).toThrow(ArgumentError)
  })
})
