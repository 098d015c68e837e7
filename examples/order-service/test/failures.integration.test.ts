/** The failure matrix: what a client sees, and that nothing is lost or done twice. */

import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { createKafkaClient } from '@waybill/kafka'
import { describeWith, describeWithPrivate } from '@waybill/test-support'
import { createFaultProxy, type FaultProxy } from '@waybill/testkit'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openPostgresResources } from '../src/config/resources.ts'
import { type Client, cart, type OrderWorld, startOrders } from './order-world.ts'

/** Resolves once `look` returns what `isWanted` accepts. */
async function until<T>(look: () => Promise<T>, isWanted: (found: T) => boolean): Promise<T> {
  for (;;) {
    const found = await look()
    if (isWanted(found)) return found
    await sleep(50)
  }
}

async function proxyOf(url: string, defaultPort: number): Promise<{ proxy: FaultProxy; url: string }> {
  const target = new URL(url)
  const port = target.port === '' ? defaultPort : Number(target.port)
  const proxy = createFaultProxy({ target: { host: target.hostname, port } })
  await proxy.start()
  target.hostname = proxy.host
  target.port = String(proxy.port)
  return { proxy, url: target.href }
}

function away(proxy: FaultProxy): void {
  proxy.refuse()
  proxy.cut()
}

function encoded(headers: Readonly<Record<string, string>>): [string, Buffer][] {
  return Object.entries(headers).map(([name, text]) => [name, Buffer.from(text)])
}

describeWith(
  'kafka',
  'postgres',
  'redis',
)('an order service whose services fail', ({ kafka, postgres, redis }) => {
  let world: OrderWorld
  let redisProxy: FaultProxy
  let databaseProxy: FaultProxy
  let call: Client
  const topic = kafka.named('orders')

  beforeAll(async () => {
    const [cache, database] = [await proxyOf(redis.url, 6_379), await proxyOf(postgres.url, 5_432)]
    redisProxy = cache.proxy
    databaseProxy = database.proxy
    const addresses = { kafka: kafka.bootstrap.join(), database: database.url, redis: cache.url, topic }
    world = await startOrders(await openPostgresResources(addresses), { ORDERS_FAILOVER: 'ON' })
    call = await world.as(`user-${randomUUID()}`)
  }, 120_000)
  afterAll(async () => {
    redisProxy.heal()
    databaseProxy.heal()
    await world[Symbol.asyncDispose]()
    await redisProxy.stop()
    await databaseProxy.stop()
  }, 60_000)

  const rowsOf = async (table: string): Promise<number> =>
    Number((await postgres.pool.query(`SELECT COUNT(*) AS rows FROM ${table}`)).rows[0].rows)
  const metric = async (name: string): Promise<number> => {
    const page: string = (await world.withToken(undefined)('GET', '/metrics')).body
    const lines = page.split('\n').filter((line) => line.startsWith(name))
    return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
  }
  /** Checks the dependencies until the region has this mode. */
  const checkUntil = (mode: string): Promise<string> =>
    until(
      () => world.app.failover.checkNow(),
      (found) => found === mode,
    )

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

  test('S4-040 S4-068 a duplicate delivery of an event has no second effect', async () => {
    const { body: order } = await call('POST', '/orders', cart)
    const stamp = (): Promise<readonly object[]> =>
      postgres.pool.query('SELECT * FROM order_regions WHERE order_id = $1', [order.id]).then(({ rows }) => rows)
    const [first] = await until(stamp, (rows) => rows.length === 1)
    const processed = await rowsOf('processed_events')
    const client = createKafkaClient({ brokers: [...kafka.bootstrap] })
    const [event] = (await postgres.pool.query('SELECT * FROM outbox_event ORDER BY 1 DESC LIMIT 1')).rows
    const headers = {
      id: event.event_id,
      eventType: 'ORDER_CREATED',
      eventVersion: '2',
      occurredAt: '2030-01-01T00:00:00.000Z',
    }
    const value = Buffer.from(JSON.stringify({ orderId: order.id, region: 'us-9', version: 9 }))
    const fresh = { ...headers, id: randomUUID() }
    const producer = client.producer('EVENT')
    for (const each of [headers, headers, fresh])
      await producer.send({ topic, key: Buffer.from(order.id), value, headers: encoded(each) })
    await until(stamp, ([row]) => (row as { region: string }).region === 'us-9')
    expect(await rowsOf('processed_events')).toBe(processed + 1)
    expect(first).not.toMatchObject({ region: 'us-9' })
    await client.close()
  })

  test('S4-063 S4-064 S4-069 S4-070 without Redis requests are served from the database, and errors are counted', async () => {
    const { body: order } = await call('POST', '/orders', cart)
    const before = await metric('order_cache_errors_total')
    away(redisProxy)
    expect(await call('GET', `/orders/${order.id}`)).toMatchObject({ status: 200, body: order })
    const key = { 'x-idempotency-key': randomUUID() }
    const created = await call('POST', '/orders', cart, key)
    expect(created.status).toBe(201)
    // The mark was never set: the unique key of the database recognizes the repeat.
    expect(await call('POST', '/orders', cart, key)).toMatchObject({ status: 201, body: created.body })
    expect(await call('POST', '/orders', { ...cart, currency: 'USD' }, key)).toMatchObject({ status: 422 })
    expect(await metric('order_cache_errors_total')).toBeGreaterThan(before)
    expect(await metric('order_rate_limiter_errors_total')).toBeGreaterThan(0)
    redisProxy.heal()
  })

  test('S4-046 S4-047 S4-054 S4-072 a long outage makes the region passive: writes are rejected, reads are served', async () => {
    const { body: order } = await call('POST', '/orders', cart)
    away(redisProxy)
    await checkUntil('PASSIVE')
    const rejected = await call('POST', '/orders', cart)
    expect(rejected).toMatchObject({ status: 503, body: { code: 'INFRASTRUCTURE_ERROR' } })
    expect(rejected.headers.get('retry-after')).toBe('5')
    expect(await call('GET', `/orders/${order.id}`)).toMatchObject({ status: 200 })
    expect((await call('GET', '/readyz')).body).toMatchObject({
      status: 'OUT_OF_SERVICE',
      mode: 'active-passive:PASSIVE',
    })
    redisProxy.heal()
    await checkUntil('ACTIVE')
    expect((await call('POST', '/orders', cart)).status).toBe(201)
    expect(await metric('failover_events_count_total')).toBeGreaterThanOrEqual(2)
  })

  test('S4-039 a passive region acknowledges no event: it waits in a retry topic and is processed later', async () => {
    const { body: order } = await call('POST', '/orders', cart)
    const processed = (): Promise<number> => rowsOf(`order_regions WHERE order_id = '${order.id}'`)
    await until(processed, (rows) => rows === 1)
    away(redisProxy)
    await checkUntil('PASSIVE')
    const client = createKafkaClient({ brokers: [...kafka.bootstrap] })
    const headers = [
      ['id', Buffer.from(randomUUID())],
      ['eventType', Buffer.from('ORDER_CREATED')],
      ['occurredAt', Buffer.from('2031-01-01T00:00:00.000Z')],
    ] as const
    const value = Buffer.from(JSON.stringify({ orderId: order.id }))
    await client.producer('EVENT').send({ topic, key: Buffer.from(order.id), value, headers: [...headers] })
    await until(
      () => metric('eventbus_records_failed_total'),
      (count) => count > 0,
    )
    redisProxy.heal()
    await checkUntil('ACTIVE')
    // Version 1 of the event tells no region.
    await until(
      () => rowsOf(`order_regions WHERE order_id = '${order.id}' AND region = 'unknown'`),
      (rows) => rows === 1,
    )
    await client.close()
  })

  test('a database that does not answer is told as such, and the repeat with the same key finds one order', async () => {
    const key = { 'x-idempotency-key': randomUUID() }
    away(databaseProxy)
    const answer = await call('POST', '/orders', cart, key)
    expect(answer).toMatchObject({ status: 503, body: { code: 'INFRASTRUCTURE_ERROR' } })
    databaseProxy.heal()
    const { body } = await until(
      () => call('POST', '/orders', cart, key),
      ({ status }) => status === 201,
    )
    expect(await rowsOf(`orders WHERE idempotency_key = '${key['x-idempotency-key']}'`)).toBe(1)
    expect((await call('GET', `/orders/${body.id}`)).status).toBe(200)
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
      await until(
        () => rows('SELECT COUNT(*) FROM order_regions'),
        (count) => count === 10,
      )
      expect(await rows('SELECT COUNT(*) FROM outbox_event WHERE status = 3')).toBe(0)
      expect(await rows('SELECT COUNT(*) FROM processed_events')).toBe(10)
    })
  })
})
