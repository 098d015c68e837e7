import type { OrderStatus } from '../domain/order/order-status.ts'
import { OrderNotFoundError } from './application-errors.ts'
import { type Caller, mayChange } from './caller.ts'
import type { OrderCache } from './port/order-cache.ts'
import type { OrderRecord } from './port/order-record.ts'
import type { OrderPage, OrderReader } from './port/order-store.ts'

/** The bounds of lists. */
export interface QueryLimits {
  /** The most orders that one list returns. */
  readonly listMaxRows: number
  /** The most orders of a page. */
  readonly pageMaxSize: number
}

/** The reads of orders. Callers see their own orders, administrators see all. */
export class OrderQueryService {
  readonly #reader: OrderReader
  readonly #cache: OrderCache
  readonly #limits: QueryLimits

  constructor(reader: OrderReader, cache: OrderCache, limits: QueryLimits) {
    this.#reader = reader
    this.#cache = cache
    this.#limits = limits
  }

  /** @throws OrderNotFoundError, also for an order of another user: its existence is not told */
  async get(caller: Caller, id: string): Promise<OrderRecord> {
    const found = await this.#cache.read(scopeOf(caller), `id:${id}`, () => this.#reader.find(id))
    if (found === null || !mayChange(caller, found)) throw new OrderNotFoundError(id)
    return found
  }

  /** Returns the newest orders, at most `listMaxRows`. */
  list(caller: Caller, status?: OrderStatus): Promise<readonly OrderRecord[]> {
    const load = (): Promise<readonly OrderRecord[]> =>
      this.#reader.list({ ...ownerOf(caller), status }, this.#limits.listMaxRows)
    return this.#cache.read(scopeOf(caller), `list:${status ?? 'ALL'}`, load)
  }

  /** Returns a page of orders, the newest first. A larger page than `pageMaxSize` is cut to it. */
  page(caller: Caller, page: number, size: number, status?: OrderStatus): Promise<OrderPage> {
    const capped = Math.min(size, this.#limits.pageMaxSize)
    const load = (): Promise<OrderPage> => this.#reader.page({ ...ownerOf(caller), status }, page, capped)
    return this.#cache.read(scopeOf(caller), `page:${page}:${capped}:${status ?? 'ALL'}`, load)
  }
}

function scopeOf({ isAdmin, subject }: Caller): string {
  return isAdmin ? 'admin' : `user:${subject}`
}

function ownerOf({ isAdmin, subject }: Caller): { readonly ownerSubject?: string } {
  return isAdmin ? {} : { ownerSubject: subject }
}
