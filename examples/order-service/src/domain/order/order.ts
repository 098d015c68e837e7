import { InvalidOrderError } from './order-errors.ts'
import { type OrderItem, totalOf } from './order-item.ts'
import { changed } from './order-state.ts'
import type { OrderStatus } from './order-status.ts'

/** The parts of an order that are known when it is placed. */
export interface NewOrder {
  readonly id: string
  readonly ownerSubject: string
  readonly items: readonly OrderItem[]
  readonly currency: string
  readonly at: number
}

/** The parts of an order. */
export interface OrderParts extends Omit<NewOrder, 'at'> {
  readonly status: OrderStatus
  /** The number of its changes. */
  readonly version: number
  readonly totalMinor: number
  readonly createdAt: number
  readonly updatedAt: number
}

/** An order. A change returns the changed order and leaves this one as it is. */
export class Order {
  readonly parts: OrderParts

  private constructor(parts: OrderParts) {
    this.parts = parts
  }

  /** @throws InvalidOrderError */
  static place({ at, ...asked }: NewOrder): Order {
    if (!/^[A-Z]{3}$/.test(asked.currency)) throw new InvalidOrderError('currency', 'must be a code such as EUR')
    const totalMinor = totalOf(asked.items)
    return new Order({ ...asked, totalMinor, status: 'PENDING', version: 0, createdAt: at, updatedAt: at })
  }

  /** Returns the order whose parts were stored. */
  static restore(parts: OrderParts): Order {
    return new Order(parts)
  }

  /**
   * The time of the change never lies before that of the last one, whatever the clock says.
   * @throws IllegalTransitionError
   */
  changeStatus(to: OrderStatus, at: number): Order {
    const { status, version, updatedAt } = this.parts
    const next = { status: changed(status, to), version: version + 1, updatedAt: Math.max(at, updatedAt) }
    return new Order({ ...this.parts, ...next })
  }

  /** @throws IllegalTransitionError unless it is PENDING */
  cancel(at: number): Order {
    return this.changeStatus('CANCELLED', at)
  }
}
