import { Order } from '../domain/order/order.ts'
import type { OrderItem } from '../domain/order/order-item.ts'
import type { OrderStatus } from '../domain/order/order-status.ts'
import { KeyReusedError, NotAllowedError, OrderNotFoundError, StaleVersionError } from './application-errors.ts'
import { type Caller, mayChange } from './caller.ts'
import type { OrderCache } from './port/order-cache.ts'
import type { OrderRecord } from './port/order-record.ts'
import type { OrderReader, OrderTransactions } from './port/order-store.ts'
import type { IdentifiedRequest, Requests } from './port/requests.ts'
import type { WriteGate } from './port/write-gate.ts'

/** What {@link OrderService} needs. */
export interface OrderServiceParts {
  readonly transactions: OrderTransactions
  readonly reader: OrderReader
  readonly requests: Requests
  readonly cache: OrderCache
  readonly gate: WriteGate
  readonly region: string
  readonly newId: () => string
  readonly now: () => number
}

/** An order as a client asks for it. */
export interface PlaceOrder {
  readonly items: readonly OrderItem[]
  readonly currency: string
}

/** The commands on orders. */
export class OrderService {
  readonly #parts: OrderServiceParts

  constructor(parts: OrderServiceParts) {
    this.#parts = parts
  }

  /**
   * Creates an order for the caller, together with its event. A repeat with the same key returns the first order.
   *
   *   gate ─▶ mark of the key ─▶ an earlier order with this key? ─▶ order + event, one transaction ─▶ mark completed
   */
  async create(
    caller: Caller,
    asked: PlaceOrder,
    key: string | null | undefined,
  ): Promise<{ readonly order: OrderRecord; readonly isReplay: boolean }> {
    const { gate, requests, reader, transactions, cache } = this.#parts
    gate.assertWriteAllowed()
    let eviction: Promise<void> | undefined
    // Even if it is unknown whether the order was committed. The mark is completed meanwhile.
    const evict = (): void => void (eviction = cache.evict(caller.subject))
    const request = { caller: caller.subject, key, body: asked }
    try {
      const { result, isReplay } = await requests.run<OrderRecord>(request, {
        create: (identified) => this.#place(caller, asked, identified).finally(evict),
        referenceOf: ({ id }) => id,
        load: (id) => reader.find(id),
        find: (identified) => this.#findEarlier(identified),
        isDuplicate: (error) => transactions.isDuplicate(error),
      })
      return { order: result, isReplay }
    } finally {
      await eviction
    }
  }

  /** @throws IllegalTransitionError, StaleVersionError if the order is not at `expectedVersion` */
  changeStatus(caller: Caller, id: string, to: OrderStatus, expectedVersion?: number): Promise<OrderRecord> {
    return this.#change(caller, id, 'Changing the status', expectedVersion, (order, at) => order.changeStatus(to, at))
  }

  /** @throws IllegalTransitionError unless the order is PENDING */
  cancel(caller: Caller, id: string): Promise<OrderRecord> {
    return this.#change(caller, id, 'Cancelling', undefined, (order, at) => order.cancel(at))
  }

  #place(caller: Caller, asked: PlaceOrder, { key, fingerprint }: IdentifiedRequest): Promise<OrderRecord> {
    const { transactions, region, newId, now } = this.#parts
    const order = Order.place({
      id: newId(),
      ownerSubject: caller.subject,
      items: asked.items,
      currency: asked.currency,
      at: now(),
    })
    const record = { ...order.parts, region, idempotencyKey: key, fingerprint: key === null ? null : fingerprint }
    return transactions.run(async (transaction) => {
      await transaction.insert(record)
      await transaction.announceCreated(record)
      return record
    })
  }

  async #findEarlier({ caller, key, fingerprint }: IdentifiedRequest): Promise<OrderRecord | null> {
    const found = key === null ? null : await this.#parts.reader.findByKey(caller, key)
    if (found !== null && found.fingerprint !== fingerprint) throw new KeyReusedError()
    return found
  }

  /** Changes an order. A change that another request overtakes is decided anew, once. */
  async #change(
    caller: Caller,
    id: string,
    what: string,
    expectedVersion: number | undefined,
    decide: (order: Order, at: number) => Order,
  ): Promise<OrderRecord> {
    this.#parts.gate.assertWriteAllowed()
    const attempt = (): Promise<OrderRecord | null> => this.#attempt(caller, id, what, expectedVersion, decide)
    const changed = (await attempt()) ?? (await attempt())
    if (changed === null) throw new StaleVersionError(id)
    return changed
  }

  /** @returns null if another request changed the order meanwhile */
  async #attempt(
    caller: Caller,
    id: string,
    what: string,
    expectedVersion: number | undefined,
    decide: (order: Order, at: number) => Order,
  ): Promise<OrderRecord | null> {
    const { transactions, cache, region, now } = this.#parts
    let owner: string | undefined
    try {
      return await transactions.run(async (transaction) => {
        const before = await transaction.find(id)
        if (before === null) throw new OrderNotFoundError(id)
        if (!mayChange(caller, before)) throw new NotAllowedError(what)
        if (expectedVersion !== undefined && before.version !== expectedVersion) throw new StaleVersionError(id, before)
        const after = { ...before, ...decide(Order.restore(before), now()).parts, region }
        owner = before.ownerSubject
        return (await transaction.replace(after, before.version)) ? after : null
      })
    } finally {
      // Even if it is unknown whether the change was committed.
      if (owner !== undefined) await cache.evict(owner)
    }
  }
}
