/** The ways in which a use case ends without a result. The interface layer gives each its status. */

import type { OrderStatus } from '../domain/order/order-status.ts'

/** No order with this id, or none that the caller may see. */
export class OrderNotFoundError extends Error {
  constructor(id: string) {
    super(`There is no order ${id}.`)
    this.name = 'OrderNotFoundError'
  }
}

/** The caller may not do this. */
export class NotAllowedError extends Error {
  constructor(what: string) {
    super(`${what} is for the owner of the order and for administrators.`)
    this.name = 'NotAllowedError'
  }
}

/** The order was changed by another request meanwhile, or is not the version that the caller saw. */
export class StaleVersionError extends Error {
  readonly current: { readonly version: number; readonly status: OrderStatus } | undefined

  constructor(id: string, current?: { readonly version: number; readonly status: OrderStatus }) {
    const now = current === undefined ? '' : ` It is version ${current.version} now, ${current.status}.`
    super(`Order ${id} was changed by another request.${now} Read it again and decide.`)
    this.name = 'StaleVersionError'
    this.current = current
  }
}

/** The idempotency key belongs to an earlier request with another content. */
export class KeyReusedError extends Error {
  constructor() {
    super('This idempotency key was used for an order with another content. Choose a new key for a new order.')
    this.name = 'KeyReusedError'
  }
}

/** This region takes no writes at present. Nothing was changed. */
export class WritesRejectedError extends Error {
  readonly retryAfterMs: number

  constructor(why: string, retryAfterMs: number) {
    super(`Orders cannot be written here at present: ${why}. Reading works.`)
    this.name = 'WritesRejectedError'
    this.retryAfterMs = retryAfterMs
  }
}

/** The database does not answer, or ended the transaction. Nothing was changed. */
export class StoreUnavailableError extends Error {
  constructor(cause: unknown) {
    super('The database does not answer. Nothing was changed.', { cause })
    this.name = 'StoreUnavailableError'
  }
}
