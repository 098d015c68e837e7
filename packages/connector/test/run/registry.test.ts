import { describe, expect, test } from 'vitest'
import { BindingAlreadyExistsError, BindingNotFoundError } from '../../src/api/connector-errors.ts'
import { Registry } from '../../src/run/registry.ts'

const orders = { name: 'orders', cluster: 'default', topics: ['orders.events'] }
const ordersEast = { name: 'orders', cluster: 'east', topics: ['orders.events'] }
const ordersWest = { name: 'orders', cluster: 'west', topics: ['orders.west'] }

function registryOf(...all: readonly (typeof orders)[]): Registry<typeof orders> {
  const registry = new Registry<typeof orders>()
  for (const one of all) registry.register(one)
  return registry
}

describe('a binding is found', () => {
  test('by its name, first in the default cluster', () => {
    expect(registryOf(ordersEast, orders).get('orders')).toBe(orders)
  })

  test('by its name alone when only one cluster has it', () => {
    expect(registryOf(ordersEast).get('orders')).toBe(ordersEast)
  })

  test('by cluster and name', () => {
    expect(registryOf(orders, ordersEast, ordersWest).get('west:orders')).toBe(ordersWest)
  })

  test('by its topic', () => {
    expect(registryOf(orders, ordersEast, ordersWest).byTopic('orders.events')).toEqual([orders, ordersEast])
  })
})

test('a name of several clusters but not of the default one is refused, with the candidates', () => {
  const registry = registryOf(ordersEast, ordersWest)
  expect(() => registry.get('orders')).toThrow(BindingNotFoundError)
  expect(() => registry.get('orders')).toThrow(/Binding 'orders' is ambiguous: east:orders, west:orders/)
})

test('an unknown name is refused, with the known ones', () => {
  expect(() => registryOf(orders).get('order')).toThrow(/no binding 'order'\. Registered bindings: default:orders/)
  expect(() => registryOf().get('order')).toThrow(/Registered bindings: none/)
})

test('one name is registered once on a cluster', () => {
  const registry = registryOf(orders)
  expect(() => registry.register({ ...orders })).toThrow(BindingAlreadyExistsError)
  expect(registry.list()).toEqual([orders])
})

test('an entry is unregistered once', () => {
  const registry = registryOf(orders)
  expect(registry.unregister(orders)).toBe(orders)
  expect(registry.unregister(orders)).toBeUndefined()
  expect(registry.has(orders)).toBe(false)
  expect(registry.list()).toEqual([])
})

test('unregistering an old entry does not remove a newer one of the same name', () => {
  const registry = registryOf(orders)
  expect(registry.unregister({ ...orders })).toBeUndefined()
  expect(registry.get('orders')).toBe(orders)
})
