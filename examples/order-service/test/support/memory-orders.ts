import { randomUUID } from 'node:crypto'
import type { OrderCache } from '../../src/application/port/order-cache.ts'
import type { OrderRecord } from '../../src/application/port/order-record.ts'
import type { OrderReader, OrderTransaction, OrderTransactions } from '../../src/application/port/order-store.ts'
import { Order } from '../../src/domain/order/order.ts'

/** Returns a pending order. */
export function pendingOrder(id: string = randomUUID(), ownerSubject = 'alice'): OrderRecord {
  const items = [{ sku: 'A-1', quantity: 1, unitPriceMinor: 100 }]
  const { parts } = Order.place({ id, ownerSubject, items, currency: 'EUR', at: 1_000 })
  return { ...parts, region: 'eu-1', idempotencyKey: null, fingerprint: null }
}

/** Orders in memory: transactions see what is committed, and the version decides which of two changes wins. */
export class MemoryOrders implements OrderTransactions {
  readonly rows = new Map<string, OrderRecord>()
  /** Orders whose transactions fail. */
  readonly broken = new Set<string>()
  /** Orders that another instance works on. */
  readonly locked = new Set<string>()
  /** Called before an order is replaced. */
  beforeReplace: (record: OrderRecord) => void = () => {}
  readonly announced: string[] = []
  transactions = 0
  readonly isDuplicate = (): boolean => false

  constructor(...orders: readonly OrderRecord[]) {
    for (const order of orders) this.rows.set(order.id, order)
  }

  async run<T>(work: (transaction: OrderTransaction) => Promise<T>): Promise<T> {
    this.transactions++
    const writes: (() => void)[] = []
    const result = await work({
      insert: async (record) => void writes.push(() => this.rows.set(record.id, record)),
      find: async (id) => this.rows.get(id) ?? null,
      takePending: async (id) => {
        if (this.broken.has(id)) throw new Error('The row cannot be read.')
        const found = this.rows.get(id)
        return found?.status === 'PENDING' && !this.locked.has(id) ? found : null
      },
      replace: async (record, expectedVersion) => {
        this.beforeReplace(record)
        if (this.rows.get(record.id)?.version !== expectedVersion) return false
        writes.push(() => this.rows.set(record.id, record))
        return true
      },
      announceCreated: async ({ id }) => void writes.push(() => this.announced.push(id)),
    })
    for (const write of writes) write()
    return result
  }

  readonly reader: OrderReader = {
    find: async (id) => this.rows.get(id) ?? null,
    findByKey: async (owner, key) =>
      [...this.rows.values()].find((row) => row.ownerSubject === owner && row.idempotencyKey === key) ?? null,
    list: async () => [...this.rows.values()],
    page: async (_, page, size) => ({ items: [...this.rows.values()], page, size, total: this.rows.size }),
    pendingIds: async (limit) =>
      [...this.rows.values()]
        .filter(({ status }) => status === 'PENDING')
        .slice(0, limit)
        .map(({ id }) => id),
  }
}

/** A cache that keeps nothing, and remembers whose answers were evicted. */
export class ForgetfulCache implements OrderCache {
  readonly evicted: string[] = []

  read<T>(_scope: string, _name: string, load: () => Promise<T>): Promise<T> {
    return load()
  }

  async evict(ownerSubject: string): Promise<void> {
    this.evicted.push(ownerSubject)
  }
}
