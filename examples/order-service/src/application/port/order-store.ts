/** The application's view of the database. */

import type { OrderStatus } from '../../domain/order/order-status.ts'
import type { OrderRecord } from './order-record.ts'

/** What one transaction can do. All of it commits, or none. */
export interface OrderTransaction {
  insert(record: OrderRecord): Promise<void>
  /** Returns the order as the database has it now; null if there is none. */
  find(id: string): Promise<OrderRecord | null>
  /** Returns the order if it is PENDING and no other transaction works on it, and keeps others away until the end. */
  takePending(id: string): Promise<OrderRecord | null>
  /** Stores the changed order unless another request changed it: then it returns false. */
  replace(record: OrderRecord, expectedVersion: number): Promise<boolean>
  /** Writes the event that the order was created. It leaves for Kafka after the commit. */
  announceCreated(record: OrderRecord): Promise<void>
}

/** Transactions on orders. */
export interface OrderTransactions {
  /** Resolves after the commit, and rejects after the rollback. */
  run<T>(work: (transaction: OrderTransaction) => Promise<T>): Promise<T>
  /** Whether an insert failed because an order with this owner and key exists. */
  readonly isDuplicate: (error: unknown) => boolean
}

/** Which orders a caller sees. */
export interface OrderFilter {
  /** @defaultValue everyone's */
  readonly ownerSubject?: string | undefined
  /** @defaultValue any */
  readonly status?: OrderStatus | undefined
}

/** A part of a list. */
export interface OrderPage {
  readonly items: readonly OrderRecord[]
  readonly page: number
  readonly size: number
  /** Over all pages. */
  readonly total: number
}

/** Reads outside a transaction. */
export interface OrderReader {
  find(id: string): Promise<OrderRecord | null>
  findByKey(ownerSubject: string, key: string): Promise<OrderRecord | null>
  /** The newest first. */
  list(filter: OrderFilter, limit: number): Promise<readonly OrderRecord[]>
  page(filter: OrderFilter, page: number, size: number): Promise<OrderPage>
  /** The ids of pending orders, the oldest first. */
  pendingIds(limit: number): Promise<readonly string[]>
}
