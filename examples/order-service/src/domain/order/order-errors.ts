import type { OrderStatus } from './order-status.ts'

/** The order's status does not allow the change. */
export class IllegalTransitionError extends Error {
  readonly from: OrderStatus
  readonly to: OrderStatus

  constructor(from: OrderStatus, to: OrderStatus) {
    super(`An order that is ${from} cannot become ${to}.`)
    this.name = 'IllegalTransitionError'
    this.from = from
    this.to = to
  }
}

/** An order as it was asked for breaks a rule of orders. */
export class InvalidOrderError extends Error {
  /** The part that breaks it: `items[0].quantity`. */
  readonly path: string

  constructor(path: string, rule: string) {
    super(`${path} ${rule}.`)
    this.name = 'InvalidOrderError'
    this.path = path
  }
}
