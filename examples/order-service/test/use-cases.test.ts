import { describe, expect, test } from 'vitest'
import { StaleVersionError, WritesRejectedError } from '../src/application/application-errors.ts'
import { OrderQueryService } from '../src/application/order-query-service.ts'
import { OrderService } from '../src/application/order-service.ts'
import { PendingPromotion } from '../src/application/pending-promotion.ts'
import type { Requests } from '../src/application/port/requests.ts'
import type { WriteGate } from '../src/application/port/write-gate.ts'
import { ForgetfulCache, MemoryOrders, pendingOrder } from './support/memory-orders.ts'

const open: WriteGate = { assertWriteAllowed: () => {} }
const closed: WriteGate = {
  assertWriteAllowed: () => {
    throw new WritesRejectedError('this region is passive', 5_000)
  },
}
const unmarked: Requests = {
  run: async ({ caller }, steps) => ({
    result: await steps.create({ caller, key: null, fingerprint: '' }),
    isReplay: false,
  }),
}
const alice = { subject: 'alice', isAdmin: false }
const cart = { items: [{ sku: 'A-1', quantity: 2, unitPriceMinor: 1_250 }], currency: 'EUR' }

function serviceOn(orders: MemoryOrders, gate = open, cache = new ForgetfulCache()): OrderService {
  return new OrderService({
    transactions: orders,
    reader: orders.reader,
    requests: unmarked,
    cache,
    gate,
    region: 'eu-1',
    newId: () => 'o-new',
    now: () => 2_000,
  })
}

function promotionOn(orders: MemoryOrders, { batchSize = 2, gate = open, failed = [] as string[] } = {}) {
  const cache = new ForgetfulCache()
  const promotion = new PendingPromotion({
    transactions: orders,
    reader: orders.reader,
    cache,
    gate,
    region: 'eu-1',
    now: () => 2_000,
    batchSize,
    onFailure: (id) => failed.push(id),
  })
  return { promotion, cache, failed }
}

function statusesOf({ rows }: MemoryOrders): string[] {
  return [...rows.values()].map(({ status }) => status)
}

describe('commands', () => {
  test('S4-002 write through transactions alone, and queries read without any', async () => {
    const orders = new MemoryOrders(pendingOrder('o-1'))
    const queries = new OrderQueryService(orders.reader, new ForgetfulCache(), { listMaxRows: 10, pageMaxSize: 10 })
    await queries.get(alice, 'o-1')
    await queries.list(alice)
    await queries.page(alice, 0, 10)
    expect(orders.transactions).toBe(0)
    await serviceOn(orders).create(alice, cart, undefined)
    expect(orders.transactions).toBe(1)
    expect(orders.announced).toEqual(['o-new'])
  })

  test('S4-011 decide a change anew, once, when another request overtakes it', async () => {
    const orders = new MemoryOrders(pendingOrder('o-1'))
    const overtake = (): void => {
      const row = orders.rows.get('o-1') ?? pendingOrder('o-1')
      orders.rows.set('o-1', { ...row, version: row.version + 1 })
      orders.beforeReplace = () => {}
    }
    orders.beforeReplace = overtake
    const cache = new ForgetfulCache()
    expect(await serviceOn(orders, open, cache).changeStatus(alice, 'o-1', 'SHIPPED')).toMatchObject({ version: 2 })
    expect(orders.transactions).toBe(2)
    expect(cache.evicted).toContain('alice')
  })

  test('S4-011 give up when a change is overtaken twice, and name the conflict', async () => {
    const orders = new MemoryOrders(pendingOrder('o-1'))
    orders.beforeReplace = ({ id }) => {
      const row = orders.rows.get(id) ?? pendingOrder(id)
      orders.rows.set(id, { ...row, version: row.version + 1 })
    }
    await expect(serviceOn(orders).cancel(alice, 'o-1')).rejects.toThrow(StaleVersionError)
    expect(orders.transactions).toBe(2)
    expect(orders.rows.get('o-1')?.status).toBe('PENDING')
  })

  test('S4-011 forget cached answers also when it is not known whether the order was committed', async () => {
    const orders = new MemoryOrders()
    const cache = new ForgetfulCache()
    const service = serviceOn(orders, open, cache)
    const commit = orders.run.bind(orders)
    orders.run = async (work) => {
      await commit(work)
      throw new Error('COMMIT was not answered')
    }
    await expect(service.create(alice, cart, undefined)).rejects.toThrow('COMMIT was not answered')
    expect(orders.rows.size).toBe(1)
    expect(cache.evicted).toEqual(['alice'])
  })

  test('S4-054 write nothing while the gate is closed', async () => {
    const orders = new MemoryOrders(pendingOrder('o-1'))
    const service = serviceOn(orders, closed)
    await expect(service.create(alice, cart, undefined)).rejects.toThrow(WritesRejectedError)
    await expect(service.changeStatus(alice, 'o-1', 'SHIPPED')).rejects.toThrow(WritesRejectedError)
    await expect(service.cancel(alice, 'o-1')).rejects.toThrow(WritesRejectedError)
    expect(orders.transactions).toBe(0)
  })
})

test('S4-060 lists ask for as many orders as they may return, and pages are capped', async () => {
  const asked: number[] = []
  const reader = {
    ...new MemoryOrders().reader,
    list: async (_: unknown, limit: number) => {
      asked.push(limit)
      return []
    },
  }
  const queries = new OrderQueryService(reader, new ForgetfulCache(), { listMaxRows: 7, pageMaxSize: 3 })
  await queries.list(alice)
  expect(asked).toEqual([7])
  expect(await queries.page(alice, 0, 50)).toMatchObject({ size: 3 })
})

describe('the promotion of pending orders', () => {
  test('S4-009 reads the first page until none is pending, with a transaction for each order', async () => {
    const orders = new MemoryOrders(...Array.from({ length: 5 }, (_, index) => pendingOrder(`o-${index}`)))
    const { promotion, cache } = promotionOn(orders)
    expect(await promotion.promoteAll()).toBe(5)
    expect(statusesOf(orders)).toEqual(Array.from({ length: 5 }, () => 'PROCESSING'))
    expect(orders.transactions).toBe(5)
    expect(cache.evicted).toHaveLength(5)
  })

  test('S4-010 C-57 ends with a page from which nothing can be promoted', async () => {
    const orders = new MemoryOrders(...['a', 'b', 'c'].map((id) => pendingOrder(id)))
    orders.broken.add('a').add('b')
    const { promotion, failed } = promotionOn(orders)
    expect(await promotion.promoteAll()).toBe(0)
    expect(failed).toEqual(['a', 'b'])
  })

  test('S4-010 promotes what it can behind an order that fails', async () => {
    const orders = new MemoryOrders(...['a', 'b', 'c'].map((id) => pendingOrder(id)))
    orders.broken.add('a')
    const { promotion } = promotionOn(orders)
    expect(await promotion.promoteAll()).toBe(2)
    expect(statusesOf(orders)).toEqual(['PENDING', 'PROCESSING', 'PROCESSING'])
  })

  test('leaves an order that another instance works on to that instance', async () => {
    const orders = new MemoryOrders(pendingOrder('a'), pendingOrder('b'))
    orders.locked.add('a')
    const { promotion, failed } = promotionOn(orders)
    expect(await promotion.promoteAll()).toBe(1)
    expect(failed).toEqual([])
  })

  test('S4-009 stops between two orders when the gate closes, or the service stops', async () => {
    const orders = new MemoryOrders(...['a', 'b', 'c'].map((id) => pendingOrder(id)))
    let allowed = 1
    const gate: WriteGate = { assertWriteAllowed: () => (allowed-- > 0 ? undefined : closed.assertWriteAllowed()) }
    await expect(promotionOn(orders, { gate }).promotion.promoteAll()).rejects.toThrow(WritesRejectedError)
    expect(statusesOf(orders)).toEqual(['PROCESSING', 'PENDING', 'PENDING'])
    expect(await promotionOn(orders).promotion.promoteAll(AbortSignal.abort())).toBe(0)
  })
})
