import { randomUUID } from 'node:crypto'
import { createMemoryMetrics } from '@waybill/core'
import { describeWith } from '@waybill/test-support'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openEmbedded, openMysqlResources, openPostgresResources, type Resources } from '../src/config/resources.ts'
import { createOrderReader } from '../src/infrastructure/sql/order-reader.ts'
import { createRegionView } from '../src/infrastructure/sql/region-view.ts'
import { createRegionLease } from '../src/infrastructure/sql/sql-region-lease.ts'
import { type Client, cart, type OrderWorld, startOrders } from './support/order-world.ts'

describe('orders on SQLite and a simulated Kafka', () => ordersSuite(openEmbedded))

describeWith(
  'kafka',
  'postgres',
  'redis',
)('orders on Kafka, PostgreSQL and Redis', ({ kafka, postgres, redis }) => {
  ordersSuite(() =>
    openPostgresResources({
      kafka: kafka.bootstrap.join(),
      database: postgres.url,
      redis: redis.url,
      topic: kafka.named('orders'),
    }),
  )
})

describeWith(
  'kafka',
  'mysql',
  'redis',
)('orders on Kafka, MariaDB and Redis', ({ kafka, mysql, redis }) => {
  ordersSuite(() =>
    openMysqlResources({
      kafka: kafka.bootstrap.join(),
      database: mysql.url,
      redis: redis.url,
      topic: kafka.named('orders'),
    }),
  )
})

function ordersSuite<Tx>(open: () => Promise<Resources<Tx>>): void {
  let world: OrderWorld
  let resources: Resources<Tx>
  beforeAll(async () => {
    resources = await open()
    world = await startOrders(resources)
  }, 120_000)
  afterAll(() => world[Symbol.asyncDispose](), 60_000)

  /** A caller whom no other test knows. */
  const someone = async (role?: string): Promise<{ readonly subject: string; readonly call: Client }> => {
    const subject = `user-${randomUUID()}`
    return { subject, call: await world.as(subject, role) }
  }

  test('S4-021 S4-065 an order is created for the subject of the token, whatever the body says of it', async () => {
    const { subject, call } = await someone()
    const { status, body, headers } = await call('POST', '/orders', cart, { 'x-request-id': 'r-1' })
    expect(status).toBe(201)
    expect(body).toMatchObject({ status: 'PENDING', version: 0, ownerSubject: subject, totalMinor: 2_500, ...cart })
    expect(headers.get('location')).toBe(`/orders/${body.id}`)
    expect(headers.get('x-request-id')).toBe('r-1')
    expect((await call('GET', `/orders/${body.id}`)).body).toEqual(body)
    for (const more of [{ ownerSubject: 'mallory' }, { status: 'DELIVERED' }, { version: 7 }, { totalMinor: 1 }])
      expect((await call('POST', '/orders', { ...cart, ...more })).status).toBe(400)
  })

  test('S4-012 S4-013 S4-015 a repeat with the same key returns the first order, another content none', async () => {
    const { call } = await someone()
    const key = { 'x-idempotency-key': ` ${randomUUID()} ` }
    const first = await call('POST', '/orders', cart, key)
    const repeat = await call('POST', '/orders', cart, { 'x-idempotency-key': key['x-idempotency-key'].trim() })
    expect(repeat).toMatchObject({ status: 201, body: first.body })
    expect(repeat.headers.get('idempotency-replayed')).toBe('true')
    const other = await call('POST', '/orders', { ...cart, currency: 'USD' }, key)
    expect(other).toMatchObject({ status: 422, body: { code: 'IDEMPOTENCY_KEY_REUSED' } })
    const { body } = await call('GET', '/orders')
    expect(body).toHaveLength(1)
  })

  test('S4-018 many repeats at once create one order; a key belongs to its caller alone', async () => {
    const [alice, bob] = [await someone(), await someone()]
    const key = { 'x-idempotency-key': randomUUID() }
    const answers = await Promise.all(Array.from({ length: 10 }, () => alice.call('POST', '/orders', cart, key)))
    const created = new Set(answers.filter(({ status }) => status === 201).map(({ body }) => body.id))
    expect(created.size).toBe(1)
    for (const { status, body } of answers) if (status !== 201) expect(body.code).toBe('CONFLICT')
    const { status, body } = await bob.call('POST', '/orders', cart, key)
    expect(status).toBe(201)
    expect(created).not.toContain(body.id)
    expect((await alice.call('GET', '/orders')).body).toHaveLength(1)
  })

  test('S4-006 S4-011 an illegal change and a stale version are conflicts that name both sides', async () => {
    const { call } = await someone()
    const { body: order } = await call('POST', '/orders', cart)
    const shipped = await call('PATCH', `/orders/${order.id}/status`, { status: 'SHIPPED', version: 0 })
    expect(shipped).toMatchObject({ status: 200, body: { status: 'SHIPPED', version: 1 } })
    expect((await call('GET', `/orders/${order.id}`)).body).toEqual(shipped.body)
    const late = await call('POST', `/orders/${order.id}/cancel`)
    expect(late).toMatchObject({ status: 409, body: { code: 'CONFLICT' } })
    expect(late.body.message).toBe('An order that is SHIPPED cannot become CANCELLED.')
    const stale = await call('PATCH', `/orders/${order.id}/status`, { status: 'DELIVERED', version: 0 })
    expect(stale).toMatchObject({ status: 409, body: { code: 'CONFLICT' } })
    expect(stale.body.message).toContain('It is version 1 now, SHIPPED.')
  })

  test('S4-071 of many changes at once each is applied once or refused; none is lost', async () => {
    const { call } = await someone()
    const { body: order } = await call('POST', '/orders', cart)
    const wishes = ['PROCESSING', 'SHIPPED', 'DELIVERED', 'CANCELLED', 'SHIPPED', 'DELIVERED']
    const answers = await Promise.all(wishes.map((status) => call('PATCH', `/orders/${order.id}/status`, { status })))
    const applied = answers.filter(({ status }) => status === 200)
    for (const { status } of answers) expect([200, 409]).toContain(status)
    const { body } = await call('GET', `/orders/${order.id}`)
    expect(body.version).toBe(applied.length)
  })

  test('S4-061 S4-062 an order of another user is invisible, and its cancellation is forbidden; administrators see all', async () => {
    const [alice, bob, admin] = [await someone(), await someone(), await someone('ADMIN')]
    const { body: order } = await alice.call('POST', '/orders', cart)
    expect(await bob.call('GET', `/orders/${order.id}`)).toMatchObject({
      status: 404,
      body: { code: 'ORDER_NOT_FOUND' },
    })
    expect(await bob.call('POST', `/orders/${order.id}/cancel`)).toMatchObject({
      status: 403,
      body: { code: 'FORBIDDEN' },
    })
    expect((await bob.call('PATCH', `/orders/${order.id}/status`, { status: 'SHIPPED' })).status).toBe(403)
    expect((await bob.call('GET', '/orders')).body).toEqual([])
    expect((await admin.call('GET', `/orders/${order.id}`)).body).toEqual(order)
    expect((await admin.call('POST', `/orders/${order.id}/cancel`)).body).toMatchObject({ status: 'CANCELLED' })
    expect((await alice.call('GET', `/orders/${order.id}`)).body).toMatchObject({ status: 'CANCELLED', version: 1 })
  })

  test('S4-060 lists and pages are newest first, filtered and bounded', async () => {
    const { call } = await someone()
    const ids: string[] = []
    for (let count = 0; count < 5; count++) ids.unshift((await call('POST', '/orders', cart)).body.id)
    await call('POST', `/orders/${ids[1]}/cancel`)
    const pending = (await call('GET', '/orders?status=PENDING')).body.map(({ id }: { id: string }) => id)
    expect(pending).toEqual(ids.filter((id) => id !== ids[1]))
    const { body } = await call('GET', '/orders/page?page=1&size=2')
    expect(body).toMatchObject({ page: 1, size: 2, total: 5 })
    expect(body.items.map(({ id }: { id: string }) => id)).toEqual(ids.slice(2, 4))
    expect((await call('GET', '/orders/page?size=9999')).body.size).toBe(100)
    for (const wrong of ['size=0', 'page=-1', 'size=2;drop', 'status=LOST', 'sort=id', 'page=1e3'])
      expect((await call('GET', `/orders/page?${wrong}`)).status).toBe(400)
  })

  test('S4-008 S4-009 the scheduler promotes pending orders, and caches forget them', async () => {
    const { call } = await someone()
    const { body: order } = await call('POST', '/orders', cart)
    expect((await call('GET', `/orders/${order.id}`)).body.status).toBe('PENDING')
    await world.app.promotion.promoteAll()
    expect((await call('GET', `/orders/${order.id}`)).body).toMatchObject({ status: 'PROCESSING', version: 1 })
  })

  test('S4-009 the oldest pending orders come first', async () => {
    const { call } = await someone()
    const ids: string[] = []
    for (let count = 0; count < 3; count++) ids.push((await call('POST', '/orders', cart)).body.id)
    const pending = await createOrderReader(resources.orders.reads).pendingIds(1_000)
    expect(pending.filter((id) => ids.includes(id))).toEqual(ids)
  })

  test('I19 one region holds the lease, renews it, and leaves it to another once it has ended', async () => {
    const lease = createRegionLease(resources.orders)
    const racing = ['eu-1', 'us-1', 'ap-1', 'sa-1'].map(async (region) =>
      (await lease.hold(region, 60_000)) ? [region] : [],
    )
    const [holder = '', ...others] = (await Promise.all(racing)).flat()
    expect(others).toEqual([])
    expect([await lease.hold(holder, 60_000), await lease.hold('other', 60_000)]).toEqual([true, false])
    expect(await lease.hold(holder, 0)).toBe(true)
    expect([await lease.hold('other', 60_000), await lease.hold(holder, 60_000)]).toEqual([true, false])
  })

  test('S4-043 regions that store the first update of an order at once wait for each other, and agree', async () => {
    const { call } = await someone()
    const { database, reads } = resources.orders
    for (let round = 0; round < 10; round++) {
      const { body: order } = await call('POST', '/orders', cart)
      const occurredAt = Date.parse(order.createdAt) + 1_000
      const outcomes = ['eu-1', 'us-1', 'ap-1'].map((region) => {
        const view = createRegionView(resources.orders, region, { metrics: createMemoryMetrics() })
        return database.transaction((tx) => view(tx, order.id, { occurredAt, version: 1, region }))
      })
      for (const outcome of await Promise.all(outcomes)) expect(['APPLIED', 'STALE']).toContain(outcome)
      const stored = await reads.query('SELECT region FROM order_regions WHERE order_id = ?', [order.id])
      expect(stored).toMatchObject([{ region: 'us-1' }])
    }
  })

  test('a request that is no order changes nothing and is told why', async () => {
    const { call } = await someone()
    const wrong = [
      '{',
      '[]',
      '"x"',
      '{"__proto__":{"isAdmin":true}}',
      '{"items":"x","currency":"EUR"}',
      '{"items":[],"currency":"EUR"}',
    ]
    for (const body of wrong) expect((await call('POST', '/orders', body)).status).toBe(400)
    expect(await call('POST', '/orders', { ...cart, currency: "EUR'; DROP TABLE orders" })).toMatchObject({
      status: 400,
    })
    expect((await call('GET', `/orders/${encodeURIComponent("' OR 1=1 --")}`)).status).toBe(400)
    expect((await call('POST', '/orders', cart, { 'x-idempotency-key': 'x'.repeat(129) })).status).toBe(400)
    expect((await call('GET', '/orders')).body).toEqual([])
  })

  test('probes and the description of the API need no token', async () => {
    const call = world.withToken(undefined)
    expect((await call('GET', '/livez')).body).toEqual({ status: 'UP' })
    expect((await call('GET', '/readyz')).body).toMatchObject({ mode: 'active-passive:ACTIVE' })
    expect((await call('GET', '/openapi.json')).body).toMatchObject({ openapi: '3.1.0' })
    expect((await call('GET', '/metrics')).status).toBe(200)
    const create = 'order_http_duration_ms_count{method="POST",route="/orders",status="201"}'
    expect(await world.metric(create)).toBeGreaterThan(0)
    expect(await call('GET', '/nowhere')).toMatchObject({ status: 404, body: { code: 'NOT_FOUND' } })
  })
}
