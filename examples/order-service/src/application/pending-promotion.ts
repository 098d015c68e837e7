import { Order } from '../domain/order/order.ts'
import type { OrderCache } from './port/order-cache.ts'
import type { OrderReader, OrderTransactions } from './port/order-store.ts'
import type { WriteGate } from './port/write-gate.ts'

/** What {@link PendingPromotion} needs. */
export interface PendingPromotionParts {
  readonly transactions: OrderTransactions
  readonly reader: OrderReader
  readonly cache: OrderCache
  readonly gate: WriteGate
  readonly region: string
  readonly now: () => number
  readonly batchSize: number
  /** Told of an order that cannot be promoted. The others go on. */
  readonly onFailure: (id: string, error: unknown) => void
}

/** Moves pending orders to PROCESSING. */
export class PendingPromotion {
  readonly #parts: PendingPromotionParts

  constructor(parts: PendingPromotionParts) {
    this.#parts = parts
  }

  /**
   * Promotes orders until none is pending. The first page is read each time, because the promoted leave it; a page from
   * which none could be promoted ends the run, or orders that fail would keep it busy for ever.
   *
   * @returns the number of promoted orders
   * @throws WritesRejectedError when the region stops to take writes
   */
  async promoteAll(signal?: AbortSignal): Promise<number> {
    let promoted = 0
    for (;;) {
      const ids = await this.#parts.reader.pendingIds(this.#parts.batchSize)
      const before = promoted
      for (const id of ids) {
        if (signal?.aborted === true) return promoted
        this.#parts.gate.assertWriteAllowed()
        if (await this.#promote(id)) promoted++
      }
      if (promoted === before) return promoted
    }
  }

  /** Each order has a transaction of its own. One that another instance works on is left to that instance. */
  async #promote(id: string): Promise<boolean> {
    const { transactions, cache, region, now, onFailure } = this.#parts
    try {
      const owner = await transactions.run(async (transaction) => {
        const before = await transaction.takePending(id)
        if (before === null) return null
        const after = { ...before, ...Order.restore(before).changeStatus('PROCESSING', now()).parts, region }
        return (await transaction.replace(after, before.version)) ? before.ownerSubject : null
      })
      if (owner !== null) await cache.evict(owner)
      return owner !== null
    } catch (error) {
      onFailure(id, error)
      return false
    }
  }
}
