import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Order } from '../src/domain/order/order.ts'
import { IllegalTransitionError, InvalidOrderError } from '../src/domain/order/order-errors.ts'
import type { OrderItem } from '../src/domain/order/order-item.ts'
import { type OrderStatus, orderStatuses } from '../src/domain/order/order-status.ts'

const item: OrderItem = { sku: 'A-1', quantity: 2, unitPriceMinor: 1_250 }
const asked = { id: 'o-1', ownerSubject: 'alice', items: [item], currency: 'EUR', at: 1_000 }

/** All transitions that there are; any other is illegal. */
const allowed: Readonly<Record<OrderStatus, readonly OrderStatus[]>> = {
  PENDING: ['PROCESSING', 'SHIPPED', 'DELIVERED', 'CANCELLED'],
  PROCESSING: ['SHIPPED', 'DELIVERED'],
  SHIPPED: ['DELIVERED'],
  DELIVERED: [],
  CANCELLED: [],
}

const pairs = orderStatuses.flatMap((from) => orderStatuses.map((to) => [from, to] as const))

function orderIn(status: OrderStatus): Order {
  return Order.restore({ ...Order.place(asked).parts, status, version: 3 })
}

describe('an order', () => {
  test('begins as PENDING, with the sum of its items', () => {
    expect(Order.place(asked).parts).toMatchObject({
      status: 'PENDING',
      version: 0,
      totalMinor: 2_500,
      createdAt: 1_000,
    })
  })

  test.each(pairs.filter(([from, to]) => allowed[from].includes(to)))('S4-005 S4-007 %s becomes %s', (from, to) => {
    const order = orderIn(from)
    expect(order.changeStatus(to, 2_000).parts).toMatchObject({ status: to, version: 4 })
    expect(order.parts).toMatchObject({ status: from, version: 3 })
  })

  test.each(pairs.filter(([from, to]) => !allowed[from].includes(to)))(
    'S4-005 S4-007 %s never becomes %s',
    (from, to) => {
      const order = orderIn(from)
      expect(() => order.changeStatus(to, 2_000)).toThrow(new IllegalTransitionError(from, to))
      expect(order.parts).toMatchObject({ status: from, version: 3 })
    },
  )

  test('S4-006 a refused change names both statuses', () => {
    expect(() => orderIn('SHIPPED').cancel(2_000)).toThrow('An order that is SHIPPED cannot become CANCELLED.')
  })

  test('its last change never lies before the one before, whatever the clock says', () => {
    expect(Order.place(asked).changeStatus('PROCESSING', 500).parts.updatedAt).toBe(1_000)
  })

  test.each([
    ['items', { items: [] }],
    ['items', { items: Array.from({ length: 101 }, () => item) }],
    ['items[0].sku', { items: [{ ...item, sku: '  ' }] }],
    ['items[1].quantity', { items: [item, { ...item, quantity: 0 }] }],
    ['items[0].quantity', { items: [{ ...item, quantity: 1.5 }] }],
    ['items[0].unitPriceMinor', { items: [{ ...item, unitPriceMinor: -1 }] }],
    ['items', { items: [{ ...item, quantity: 100_000, unitPriceMinor: 1_000_000_000_000 }] }],
    ['items[0].quantity', { items: [{ ...item, quantity: 100_001 }] }],
    ['items[0].unitPriceMinor', { items: [{ ...item, unitPriceMinor: 1_000_000_000_001 }] }],
    ['currency', { currency: 'euro' }],
    ['currency', { currency: 'EURO' }],
  ])('that breaks the rule of %s is refused with this path', (path, broken) => {
    try {
      Order.place({ ...asked, ...broken })
      expect.unreachable()
    } catch (error) {
      expect(error).toBeInstanceOf(InvalidOrderError)
      expect(error).toMatchObject({ path })
    }
  })

  test('no sequence of changes leaves a final status, and each change counts once', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...orderStatuses)), (wishes) => {
        let order = Order.place(asked)
        let changes = 0
        for (const to of wishes) {
          const before = order.parts.status
          try {
            order = order.changeStatus(to, 2_000)
            changes++
            expect(allowed[before]).toContain(to)
          } catch (error) {
            expect(error).toBeInstanceOf(IllegalTransitionError)
            expect(allowed[before]).not.toContain(to)
          }
        }
        expect(order.parts.version).toBe(changes)
      }),
    )
  })
})
