import { InvalidOrderError } from './order-errors.ts'

/** A line of an order. Money is in minor units: 1250 is 12.50 EUR. */
export interface OrderItem {
  readonly sku: string
  readonly quantity: number
  readonly unitPriceMinor: number
}

const mostItems = 100
const largestQuantity = 100_000
const largestPriceMinor = 1_000_000_000_000

/**
 * Returns the sum of the items, in minor units.
 * @throws InvalidOrderError
 */
export function totalOf(items: readonly OrderItem[]): number {
  if (items.length === 0 || items.length > mostItems)
    throw new InvalidOrderError('items', `must hold 1 to ${mostItems} lines`)
  const total = items.reduce((sum, item, index) => sum + lineTotal(item, `items[${index}]`), 0)
  if (!Number.isSafeInteger(total)) throw new InvalidOrderError('items', 'cost more than can be counted exactly')
  return total
}

function lineTotal({ sku, quantity, unitPriceMinor }: OrderItem, path: string): number {
  if (sku.trim() === '') throw new InvalidOrderError(`${path}.sku`, 'must not be blank')
  requireInteger(`${path}.quantity`, quantity, 1, largestQuantity)
  requireInteger(`${path}.unitPriceMinor`, unitPriceMinor, 0, largestPriceMinor)
  return quantity * unitPriceMinor
}

function requireInteger(path: string, value: number, min: number, max: number): void {
  if (!Number.isInteger(value) || value < min || value > max)
    throw new InvalidOrderError(path, `must be a whole number from ${min} to ${max}`)
}
