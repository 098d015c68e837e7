/** The failure matrix: what a client sees, and that nothing is lost or done twice. */

import { randomUUID } from 'node:crypto'
import { createKafkaClient, type KafkaClient } from '@waybill/kafka'
import { describeWith, describeWithPrivate } from '@waybill/test-support'
import { eventually, type FaultProxy } from '@waybill/testkit'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openPostgresResources } from '../src/config/resources.ts'
import { away, encoded, proxied } from './support/faulty-services.ts'
import { type Client, cart, type OrderWorld, startOrders } from './support/order-world.ts'

const binding = 'orderCreated'

/** The time that a busy machine may need. */
const patience = { deadlineMs: 60_000 }

describeWith(
  'kafka',
  'postgres',
  'redis',
)('an order service whose services fail', ({ kafka, postgres, redis }) => {
  let world: OrderWorld
  let redisProxy: FaultProxy
  let databaseProxy: FaultProxy
  let client: KafkaClient
  let call: Client
  const topic = kafka.named('orders')

  beforeAll(async () => {
    const [cache, database] = [await proxied(redis.url, 6_379), await proxied(postgres.url, 5_432)]
    redisProxy = cache.proxy
    databaseProxy = database.proxy
    client = createKafkaClient({ brokers: [...kafka.bootstrap] })
    const addresses = { kafka: kafka.bootstrap.join(), database: database.url, redis: cache.url, topic }
    world = await startOrders(await openPostgresResources(addresses), { environment: { ORDERS_FAILOVER: 'ON' } })
    call = await world.as(`user-${randomUUID()}`)
  }, 120_000)
  afterAll(async () => {
    redisProxy.heal()
    databaseProxy.heal()
    await world[Symbol.asyncDispose]()
    await client.close()
    await redisProxy.stop()
    await databaseProxy.stop()
  }, 60_000)

  const rowsOf = async (table: string): Promise<number> =>
    Number((await postgres.pool.query(`SELECT COUNT(*) AS rows FROM ${table}`)).rows[0].rows)
  const stampOf = async (orderId: string) =>
    (await postgres.pool.query('SELECT * FROM order_regions WHERE order_id = $1', [orderId])).rows[0]
  const checkUntil = (mode: string): Promise<void> =>
    eventually(async () => {
      await world.app.checkRegion()
      expect(world.app.failover.mode).toBe(mode)
    }, patience)
  const send = (orderId: string, headers: Readonly<Record<string, string>>, payload: object) =>
    client.producer('EVENT').send({
      topic,
      key: Buffer.from(orderId),
      value: Buffer.from(JSON.stringify(payload)),
      headers: encoded(headers),
    })

  test('S4-016 S4-066 S4-019 a create that fails leaves neither order nor event, and its repeat runs at once', async () => {
    await postgres.pool.query(`
      CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no'; END $$;
      CREATE TRIGGER refuse BEFORE INSERT ON outbox_event FOR EACH ROW EXECUTE FUNCTION refuse()`)
    const before = [await rowsOf('orders'), await rowsOf('outbox_event')]
    const key = { 'x-idempotency-key': randomUUID() }
    expect(await call('POST', '/orders', cart, key)).toMatchObject({ status: 500, body: { code: 'INTERNAL_ERROR' } })
    expect([await rowsOf('orders'), await rowsOf('outbox_event')]).toEqual(before)
    await postgres.pool.query('DROP TRIGGER refuse ON outbox_event; DROP FUNCTION refuse')
    const repeat = await call('POST', '/orders', cart, key)
    expect(repeat.status).toBe(201)
    expect(repeat.headers.get('idempotency-replayed')).toBeNull()
  })

  test('S4-004 C-68 an order and its event are written by one database transaction', async () => {
    await postgres.pool.query(`
      CREATE TABLE written (place name, tx bigint);
      CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN INSERT INTO written VALUES (TG_TABLE_NAME, txid_current()); RETURN NEW; END $$;
      CREATE TRIGGER note BEFORE INSERT ON orders FOR EACH ROW EXECUTE FUNCTION note();
      CREATE TRIGGER note BEFORE INSERT ON outbox_event FOR EACH ROW EXECUTE FUNCTION note()`)
    expect((await call('POST', '/orders', cart)).status).toBe(201)
    const { rows } = await postgres.pool.query(
      'SELECT array_agg(place::text ORDER BY place) AS p FROM written GROUP BY tx',
    )
    expect(rows).toEqual([{ p: ['orders', 'outbox_event'] }])
    await postgres.pool.query('DROP FUNCTION note CASCADE')
  })

  test('S4-040 S4-068 a duplicate delivery of an event has no second effect', async () => {
    const { body: order } = await call('POST', '/orders', cart)
    const first = await eventually(async () => {
      const stamp = await stampOf(order.id)
      expect(stamp).toBeDefined()
      return stamp
    }, patience)
    const processed = await rowsOf('processed_events')
    const { rows } = await postgres.pool.query('SELECT event_id FROM outbox_event WHERE aggregate_id = $1', [order.id])
    const headers = { eventType: 'ORDER_CREATED', eventVersion: '2', occurredAt: '2030-01-01T00:00:00.000Z' }
    const payload = { orderId: order.id, region: 'us-9', version: 9 }
    for (const id of [rows[0].event_id, rows[0].event_id, randomUUID()])
      await send(order.id, { ...headers, id }, payload)
    await eventually(async () => expect((await stampOf(order.id)).region).toBe('us-9'), patience)
    expect(await rowsOf('processed_events')).toBe(processed + 1)
    expect(first).not.toMatchObject({ region: 'us-9' })
    expect((await call('GET', `/orders/${order.id}`)).body).toEqual(order)
  })

  test('S4-043 S4-058 an event of a missing order and a stale update are done: counted, and not repeated', async () => {
    const { body: order } = await call('POST', '/orders', cart)
    await eventually(async () => expect(await stampOf(order.id)).toBeDefined(), patience)
    const counters = ['region_order_missing_count_total', 'region_conflict_rejected_count_total']
    const before = await Promise.all(counters.map((name) => world.metric(name)))
    const processed = await rowsOf('processed_events')
    const headers = { eventType: 'ORDER_CREATED', eventVersion: '2', occurredAt: '2001-01-01T00:00:00.000Z' }
    await send(
      'no-such-order',
      { ...headers, id: randomUUID() },
      { orderId: 'no-such-order', region: 'us-1', version: 0 },
    )
    await send(order.id, { ...headers, id: randomUUID() }, { orderId: order.id, region: 'us-1', version: 7 })
    await eventually(async () => expect(await rowsOf('processed_events')).toBe(processed + 2), patience)
    const after = await Promise.all(counters.map((name) => world.metric(name)))
    expect(after).toEqual(before.map((count) => count + 1))
    expect((await stampOf(order.id)).region).toBe('eu-1')
  })

  test('S4-041 S4-044 version 1 of the event is read, and what is no event is a dead letter that says why', async () => {
    const { body: order } = await call('POST', '/orders', cart)
    await eventually(async () => expect(await stampOf(order.id)).toBeDefined(), patience)
    const headers = { eventType: 'ORDER_CREATED', occurredAt: '2035-01-01T00:00:00.000Z' }
    await send(order.id, { ...headers, id: randomUUID() }, { orderId: order.id })
    await eventually(async () => expect((await stampOf(order.id)).region).toBe('unknown'), patience)
    const blank = randomUUID()
    await send(order.id, { ...headers, eventVersion: '2', id: blank }, { orderId: ' ', region: 'eu-1', version: 0 })
    const admin = await world.as('admin', 'ADMIN')
    const letter = await eventually(async () => {
      const { body } = await admin('GET', '/ops/eventbus/dead-letters', undefined, { 'cache-control': 'no-cache' })
      const found = body.items.find((item: { readonly key: string }) => JSON.stringify(item).includes(blank))
      expect(found).toBeDefined()
      return found
    }, patience)
    expect(letter).toMatchObject({
      binding,
      reason: 'NON_RETRYABLE',
      exception: 'SchemaViolationError',
      message: { text: expect.stringContaining('orderId') },
      key: { text: order.id },
      original: { topic, partition: expect.any(Number), offset: expect.stringMatching(/^\d+$/) },
    })
  })

  test('S4-063 S4-064 S4-069 S4-070 without Redis requests are served from the database, and errors are counted', async () => {
    const { body: order } = await call('POST', '/orders', cart)
    const before = await world.metric('order_cache_errors_total')
    away(redisProxy)
    expect(await call('GET', `/orders/${order.id}`)).toMatchObject({ status: 200, body: order })
    const key = { 'x-idempotency-key': randomUUID() }
    const created = await call('POST', '/orders', cart, key)
    expect(created.status).toBe(201)
    // The mark was never set: the unique key of the database recognizes the repeat.
    expect(await call('POST', '/orders', cart, key)).toMatchObject({ status: 201, body: created.body })
    expect(await call('POST', '/orders', { ...cart, currency: 'USD' }, key)).toMatchObject({ status: 422 })
    expect(await world.metric('order_cache_errors_total')).toBeGreaterThan(before)
    expect(await world.metric('order_rate_limiter_errors_total')).toBeGreaterThan(0)
    redisProxy.heal()
  })

  test('S4-046 S4-047 S4-054 S4-072 a long outage makes the region passive: writes are rejected, reads are served', async () => {
    await checkUntil('ACTIVE')
    const { body: order } = await call('POST', '/orders', cart)
    away(redisProxy)
    await checkUntil('PASSIVE')
    const before = await rowsOf('orders')
    const rejected = await call('POST', '/orders', cart)
    expect(rejected).toMatchObject({ status: 503, body: { code: 'INFRASTRUCTURE_ERROR' } })
    expect(rejected.headers.get('retry-after')).toBe('5')
    expect((await call('PATCH', `/orders/${order.id}/status`, { status: 'SHIPPED' })).status).toBe(503)
    expect((await call('POST', `/orders/${order.id}/cancel`)).status).toBe(503)
    expect(await rowsOf('orders')).toBe(before)
    expect(await call('GET', `/orders/${order.id}`)).toMatchObject({ status: 200, body: order })
    expect((await call('GET', '/readyz')).body).toMatchObject({
      status: 'OUT_OF_SERVICE',
      mode: 'active-passive:PASSIVE',
    })
    redisProxy.heal()
    await checkUntil('ACTIVE')
    expect((await call('POST', '/orders', cart)).status).toBe(201)
    expect(await world.metric('failover_events_count_total')).toBeGreaterThanOrEqual(2)
  })

  test('S4-039 C-58 a passive region acknowledges no event: it waits, and is processed once the region is active', async () => {
    const { body: order } = await call('POST', '/orders', cart)
    await eventually(async () => expect(await stampOf(order.id)).toBeDefined(), patience)
    away(redisProxy)
    await checkUntil('PASSIVE')
    expect(world.app.connector.getState(binding)).toBe('PAUSED')
    const id = randomUUID()
    const headers = { id, eventType: 'ORDER_CREATED', eventVersion: '2', occurredAt: '2031-01-01T00:00:00.000Z' }
    await send(order.id, headers, { orderId: order.id, region: 'us-2', version: 1 })
    const behind = async (): Promise<bigint> => {
      const rows = await world.app.connector.audit()
      return rows.reduce((sum, { committed, since }) => sum + committed - since, 0n)
    }
    const committed = await behind()
    await checkUntil('PASSIVE')
    expect(await behind()).toBe(committed)
    expect((await stampOf(order.id)).region).not.toBe('us-2')
    redisProxy.heal()
    await checkUntil('ACTIVE')
    await eventually(async () => expect((await stampOf(order.id)).region).toBe('us-2'), patience)
    expect(await rowsOf(`processed_events WHERE mark_key LIKE '%${id}%'`)).toBe(1)
  })

  test('a database that refuses connections is named as such, and the repeat with the same key finds one order', async () => {
    const key = { 'x-idempotency-key': randomUUID() }
    away(databaseProxy)
    const answer = await call('POST', '/orders', cart, key)
    expect(answer).toMatchObject({ status: 503, body: { code: 'INFRASTRUCTURE_ERROR' } })
    expect(await call('GET', '/orders')).toMatchObject({ status: 503, body: { code: 'INFRASTRUCTURE_ERROR' } })
    databaseProxy.heal()
    const body = await eventually(async () => {
      const repeat = await call('POST', '/orders', cart, key)
      expect(repeat.status).toBe(201)
      return repeat.body
    }, patience)
    expect(await rowsOf(`orders WHERE idempotency_key = '${key['x-idempotency-key']}'`)).toBe(1)
    expect((await call('GET', `/orders/${body.id}`)).status).toBe(200)
  })

  test('a database that is cut off without a word is answered for in time, and no create happens twice', async () => {
    await call('GET', '/orders/page')
    const key = { 'x-idempotency-key': randomUUID() }
    databaseProxy.hold()
    const answer = await call('POST', '/orders', cart, key)
    expect(answer).toMatchObject({ status: 503, body: { code: 'INFRASTRUCTURE_ERROR' } })
    databaseProxy.heal()
    await eventually(async () => expect((await call('POST', '/orders', cart, key)).status).toBe(201), patience)
    expect(await rowsOf(`orders WHERE idempotency_key = '${key['x-idempotency-key']}'`)).toBe(1)
  })
})

describeWithPrivate('kafka')('an order service whose broker is killed', (broker) => {
  describeWith('postgres', 'redis')('beside its database', ({ postgres, redis }) => {
    test('S4-067 orders are accepted, their events wait, and all are published and processed when it is back', {
      timeout: 180_000,
    }, async () => {
      const addresses = { kafka: broker().url, database: postgres.url, redis: redis.url }
      await using world = await startOrders(await openPostgresResources(addresses))
      const call = await world.as(`user-${randomUUID()}`)
      await broker().kill()
      const orders = await Promise.all(Array.from({ length: 10 }, () => call('POST', '/orders', cart)))
      expect(orders.map(({ status }) => status)).toEqual(orders.map(() => 201))
      const rows = async (text: string) => Number((await postgres.pool.query(text)).rows[0].count)
      expect(await rows('SELECT COUNT(*) FROM outbox_event WHERE status <> 1')).toBeGreaterThan(0)
      await broker().start()
      await eventually(async () => expect(await rows('SELECT COUNT(*) FROM order_regions')).toBe(10), {
        deadlineMs: 120_000,
      })
      expect(await rows('SELECT COUNT(*) FROM outbox_event WHERE status = 3')).toBe(0)
      expect(await rows('SELECT COUNT(*) FROM processed_events')).toBe(10)
    })
  })
})

describeWithPrivate('postgres')('an order service whose database is stopped', (database) => {
  describeWith('kafka', 'redis')('beside its broker', ({ kafka, redis }) => {
    test('requests are answered with 503, nothing acknowledged is lost, and each order has one event and one effect', {
      timeout: 180_000,
    }, async () => {
      const topic = kafka.named('orders')
      const addresses = { kafka: kafka.bootstrap.join(), database: database().url, redis: redis.url, topic }
      await using world = await startOrders(await openPostgresResources(addresses))
      const call = await world.as(`user-${randomUUID()}`)
      const keys = Array.from({ length: 20 }, () => randomUUID())
      const place = (key: string) => call('POST', '/orders', cart, { 'x-idempotency-key': key })
      const [killed] = [database().kill(), ...keys.slice(0, 10).map((key) => place(key).catch(() => null))]
      await killed
      expect(await place(keys[10] ?? '')).toMatchObject({ status: 503, body: { code: 'INFRASTRUCTURE_ERROR' } })
      expect((await call('GET', '/orders')).status).toBe(503)
      await database().start()
      const orders = await Promise.all(
        keys.map((key) =>
          eventually(
            async () => {
              const { status, body } = await place(key)
              expect(status).toBe(201)
              return body.id as string
            },
            { deadlineMs: 120_000, everyMs: 500 },
          ),
        ),
      )
      expect(new Set(orders).size).toBe(20)
      const admin = await world.as('admin', 'ADMIN')
      expect((await admin('GET', '/orders/page?size=100')).body.total).toBe(20)
      await eventually(
        async () => {
          const { body } = await world.withToken(undefined)('GET', '/readyz')
          expect(body.outbox.table).toMatchObject({ pending: 0, retrying: 0, dead: 0 })
        },
        { deadlineMs: 60_000, everyMs: 500 },
      )
    })
  })
})
