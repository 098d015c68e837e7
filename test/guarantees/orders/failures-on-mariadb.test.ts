/** The failure matrix of the order service on MariaDB. Its rows on PostgreSQL run with every check. */

import { randomUUID } from 'node:crypto'
import { openMysqlResources } from '@waybill/example-order-service/resources'
import { away, encoded, kafkaBehindProxy, proxied } from '@waybill/example-order-service/test-support/faulty-services'
import { type Client, cart, startOrders } from '@waybill/example-order-service/test-support/order-world'
import { createKafkaClient } from '@waybill/kafka'
import { describeWith, describeWithPrivate, loadPlaceKind } from '@waybill/test-support'
import { eventually } from '@waybill/testkit'
import type { RowDataPacket } from 'mysql2'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { report, scale } from '../support/scale.ts'

const patience = { deadlineMs: 120_000, everyMs: 200 }
const slow = { timeout: 300_000 }
const title = 'an order service on MariaDB'

/** A database of its own on a private server. */
async function openDatabase(url: string) {
  const place = (await loadPlaceKind('mysql')).create(url, `orders_${randomUUID().replaceAll('-', '')}`)
  await place.open()
  const rows = async (text: string, values: readonly unknown[] = []) =>
    (await place.pool.query<RowDataPacket[]>(text, [...values]))[0]
  const count = async (what: string): Promise<number> =>
    Number((await rows(`SELECT COUNT(*) AS found FROM ${what}`))[0]?.['found'])
  const effectsOf = async (ids: readonly string[]): Promise<number> =>
    Number((await rows('SELECT COUNT(*) AS found FROM order_regions WHERE order_id IN (?)', [ids]))[0]?.['found'])
  return { place, url: place.url, rows, count, effectsOf, close: () => place.close() }
}

async function placeMany(call: Client, orders: number): Promise<string[]> {
  const answers = await Promise.all(Array.from({ length: orders }, () => call('POST', '/orders', cart)))
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 201))
  return answers.map(({ body }) => body.id)
}

const instance = (id: string) => ({ environment: { ORDERS_INSTANCE_ID: id, ORDERS_INSTANCE_COUNT: '2' } })

const someone = (): string => `user-${randomUUID()}`

function define(mysql: () => { readonly url: string; kill(): Promise<void>; start(): Promise<void> }): void {
  describeWith('kafka', 'redis')('beside its broker', ({ kafka, redis }) => {
    let database: Awaited<ReturnType<typeof openDatabase>>
    const services = { kafka: kafka.bootstrap.join(), redis: redis.url }
    beforeAll(async () => {
      database = await openDatabase(mysql().url)
    })
    afterAll(() => database.close())

    const open = (topic: string, more: object = {}) =>
      openMysqlResources({ ...services, database: database.url, topic, ...more })

    test('S4-066 a create that fails leaves neither order nor event, and its repeat runs at once', slow, async () => {
      await using world = await startOrders(await open(kafka.named('fails')))
      const call = await world.as(someone())
      await database.rows(
        "CREATE TRIGGER refuse BEFORE INSERT ON outbox_event FOR EACH ROW SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'no'",
      )
      const before = [await database.count('orders'), await database.count('outbox_event')]
      const key = { 'x-idempotency-key': randomUUID() }
      expect(await call('POST', '/orders', cart, key)).toMatchObject({ status: 500, body: { code: 'INTERNAL_ERROR' } })
      expect([await database.count('orders'), await database.count('outbox_event')]).toEqual(before)
      await database.rows('DROP TRIGGER refuse')
      const repeat = await call('POST', '/orders', cart, key)
      expect([repeat.status, repeat.headers.get('idempotency-replayed')]).toEqual([201, null])
    })

    test('S4-068 a duplicate delivery of an event has no second effect', slow, async () => {
      const topic = kafka.named('twice')
      const resources = await open(topic)
      await using world = await startOrders(resources)
      const [id = ''] = await placeMany(await world.as(someone()), 1)
      await eventually(async () => expect(await database.effectsOf([id])).toBe(1), patience)
      const [event] = await database.rows('SELECT event_id FROM outbox_event WHERE aggregate_id = ?', [id])
      const processed = await database.count('processed_events')
      const headers = { eventType: 'ORDER_CREATED', eventVersion: '2', occurredAt: '2030-01-01T00:00:00.000Z' }
      for (const eventId of [String(event?.['event_id']), String(event?.['event_id']), randomUUID()])
        await resources.kafka.producer('EVENT').send({
          topic,
          key: Buffer.from(id),
          value: Buffer.from(JSON.stringify({ orderId: id, region: 'us-9', version: 9 })),
          headers: encoded({ ...headers, id: eventId }),
        })
      const regionOf = async () =>
        (await database.rows('SELECT region FROM order_regions WHERE order_id = ?', [id]))[0]?.['region']
      await eventually(async () => expect(await regionOf()).toBe('us-9'), patience)
      expect(await database.count('processed_events')).toBe(processed + 1)
    })

    test(
      'S4-069 S4-070 S4-072 without Redis requests are served, and a long outage makes the region passive',
      slow,
      async () => {
        const cache = await proxied(redis.url, 6_379)
        await using world = await startOrders(await open(kafka.named('passive'), { redis: cache.url }), {
          environment: { ORDERS_FAILOVER: 'ON' },
        })
        const call = await world.as(someone())
        const checkUntil = (mode: string): Promise<void> =>
          eventually(async () => {
            await world.app.checkRegion()
            expect(world.app.failover.mode).toBe(mode)
          }, patience)
        await checkUntil('ACTIVE')
        const [id] = await placeMany(call, 1)
        away(cache.proxy)
        const key = { 'x-idempotency-key': randomUUID() }
        const created = await call('POST', '/orders', cart, key)
        expect(created.status).toBe(201)
        expect(await call('POST', '/orders', cart, key)).toMatchObject({ status: 201, body: created.body })
        expect(await call('POST', '/orders', { ...cart, currency: 'USD' }, key)).toMatchObject({ status: 422 })
        expect((await call('GET', `/orders/${id}`)).status).toBe(200)
        expect(await world.metric('order_cache_errors_total')).toBeGreaterThan(0)
        expect(await world.metric('order_rate_limiter_errors_total')).toBeGreaterThan(0)
        await checkUntil('PASSIVE')
        const before = await database.count('orders')
        expect(await call('POST', '/orders', cart)).toMatchObject({
          status: 503,
          body: { code: 'INFRASTRUCTURE_ERROR' },
        })
        expect(await database.count('orders')).toBe(before)
        expect((await call('GET', `/orders/${id}`)).status).toBe(200)
        cache.proxy.heal()
        await checkUntil('ACTIVE')
        expect((await call('POST', '/orders', cart)).status).toBe(201)
        await cache.proxy.stop()
      },
    )

    test('S4-071 of many changes at once each is applied once or refused; none is lost', slow, async () => {
      await using world = await startOrders(await open(kafka.named('stale')))
      const call = await world.as(someone())
      for (const id of await placeMany(call, 10)) {
        const wishes = ['PROCESSING', 'SHIPPED', 'DELIVERED', 'CANCELLED', 'SHIPPED', 'DELIVERED']
        const answers = await Promise.all(wishes.map((status) => call('PATCH', `/orders/${id}/status`, { status })))
        for (const { status } of answers) expect([200, 409]).toContain(status)
        const { body } = await call('GET', `/orders/${id}`)
        expect(body.version).toBe(answers.filter(({ status }) => status === 200).length)
      }
    })

    test(
      'S4-073 S4-074 slow acknowledgements: at most 16 events are under way, no partition starves, all arrive once',
      slow,
      async () => {
        const topic = kafka.named('slow')
        await using direct = createKafkaClient({ brokers: [...kafka.bootstrap] })
        const recordsIn = async (): Promise<number> => {
          const all = Array.from({ length: 8 }, (_, partition) => ({ topic, partition }))
          const ends = await direct.admin.listOffsets(all, 'LATEST')
          return ends.reduce((sum, end) => sum + Number('offset' in end ? (end.offset ?? 0n) : 0n), 0)
        }
        const { client, proxy, dispose } = await kafkaBehindProxy(kafka.bootstrap)
        const opened = await open(topic)
        const close = async (): Promise<void> => {
          await opened[Symbol.asyncDispose]()
          await dispose()
        }
        await using world = await startOrders({ ...opened, kafka: client, [Symbol.asyncDispose]: close })
        const call = await world.as(someone())
        const first = await placeMany(call, 60)
        await eventually(async () => expect(await database.effectsOf(first)).toBe(60), patience)
        proxy.hold('TO_CLIENT')
        const ids = await placeMany(call, 60)
        await eventually(async () => expect(await recordsIn()).toBeGreaterThan(60), patience)
        ids.push(...(await placeMany(await world.as(someone()), 100)))
        expect(await recordsIn()).toBeLessThanOrEqual(60 + 16)
        proxy.heal()
        await eventually(async () => expect(await database.effectsOf(ids)).toBe(160), patience)
        expect(await recordsIn()).toBe(220)
        expect(await database.count('outbox_event WHERE status = 3')).toBe(0)
      },
    )

    test('S4-073 a lease race: the late outcome of an instance that lost its lease changes nothing', slow, async () => {
      const topic = kafka.named('race')
      const behind = await proxied(database.url, 3_306)
      const { client, proxy, dispose } = await kafkaBehindProxy(kafka.bootstrap)
      const opened = await open(topic, { database: behind.url })
      const close = async (): Promise<void> => {
        await opened[Symbol.asyncDispose]()
        await dispose()
        await behind.proxy.stop()
      }
      await using frozen = await startOrders({ ...opened, kafka: client, [Symbol.asyncDispose]: close })
      const call = await frozen.as(someone())
      const first = await placeMany(call, 60)
      await eventually(async () => expect(await database.effectsOf(first)).toBe(60), patience)
      proxy.hold('TO_CLIENT')
      const ids = await placeMany(call, 5)
      behind.proxy.hold()
      // An instance with the same partitions, as it is started for one that seems dead.
      await using other = await startOrders(await open(topic))
      const events = () => database.rows('SELECT * FROM outbox_event WHERE aggregate_id IN (?) ORDER BY seq', [ids])
      await eventually(async () => expect(await events()).toMatchObject(ids.map(() => ({ status: 1 }))), patience)
      const settled = await events()
      proxy.heal()
      behind.proxy.heal()
      await eventually(async () => expect(await database.effectsOf(ids)).toBe(5), patience)
      await eventually(async () => expect((await call('GET', '/orders/page')).status).toBe(200), patience)
      expect(await other.metric('outbox_dispatch_success_total')).toBeGreaterThanOrEqual(5)
      expect(await events()).toEqual(settled)
      for (const row of settled)
        expect(await database.count(`processed_events WHERE mark_key LIKE '%${row['event_id']}%'`)).toBe(1)
    })

    test('S4-073 a degraded cache is left alone, and every answer is right', slow, async () => {
      const cache = await proxied(redis.url, 6_379)
      await using world = await startOrders(await open(kafka.named('degraded'), { redis: cache.url }))
      const call = await world.as(someone())
      const [id] = await placeMany(call, 1)
      cache.proxy.delay({ toClientMs: 1_000 })
      for (let round = 0; round < 8; round++) expect((await call('GET', `/orders/${id}`)).status).toBe(200)
      const shipped = await call('PATCH', `/orders/${id}/status`, { status: 'SHIPPED' })
      expect(shipped.status).toBe(200)
      expect((await call('GET', `/orders/${id}`)).body).toEqual(shipped.body)
      cache.proxy.heal()
      expect((await call('GET', `/orders/${id}`)).body).toEqual(shipped.body)
      await cache.proxy.stop()
    })

    test(
      'S4-073 retry pressure: events that fail wait in retry topics, others pass them, all end once',
      slow,
      async () => {
        await using world = await startOrders(await open(kafka.named('pressure')))
        const call = await world.as(someone())
        await database.rows('CREATE TABLE stuck (order_id VARCHAR(26))')
        await database.rows(`
        CREATE TRIGGER stick BEFORE INSERT ON order_regions FOR EACH ROW
        IF EXISTS (SELECT 1 FROM stuck) AND CRC32(NEW.order_id) % 2 = 0 THEN
          SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'stuck';
        END IF`)
        await database.rows("INSERT INTO stuck VALUES ('all')")
        const ids = await placeMany(call, 60)
        const [row] = await database.rows(
          'SELECT COUNT(*) AS free FROM orders WHERE id IN (?) AND CRC32(id) % 2 <> 0',
          [ids],
        )
        const free = Number(row?.['free'])
        expect(free).toBeGreaterThan(0)
        await eventually(async () => expect(await database.effectsOf(ids)).toBe(free), patience)
        expect((await call('GET', `/orders/${ids[0]}`)).status).toBe(200)
        await database.rows('DELETE FROM stuck')
        await eventually(async () => expect(await database.effectsOf(ids)).toBe(60), patience)
        expect(await world.metric('eventbus_dlt_published_total')).toBe(0)
        await database.rows('DROP TRIGGER stick')
        await database.rows('DROP TABLE stuck')
      },
    )

    test(
      'S4-018 creates with one key race over two instances while Redis flaps: one order, one event',
      slow,
      async () => {
        const topic = kafka.named('two')
        const cache = await proxied(redis.url, 6_379)
        await using one = await startOrders(await open(topic, { redis: cache.url }), instance('0'))
        await using two = await startOrders(await open(topic, { redis: cache.url }), instance('1'))
        const subject = someone()
        const [here, there] = [await one.as(subject), await two.as(subject)]
        for (let round = 0; round < 30; round++) {
          if (round % 2 === 0) cache.proxy.cut()
          const key = { 'x-idempotency-key': `${subject}-${round}` }
          const answers = await Promise.all(
            [here, there, here, there].map((call) => call('POST', '/orders', cart, key)),
          )
          for (const { status } of answers) expect([201, 409]).toContain(status)
          const ids = new Set(answers.filter(({ status }) => status === 201).map(({ body }) => body.id))
          expect([round, ids.size]).toEqual([round, 1])
        }
        expect(await database.count(`orders WHERE owner_subject = '${subject}'`)).toBe(30)
        const mine = `SELECT id FROM orders WHERE owner_subject = '${subject}'`
        expect(await database.count(`outbox_event WHERE aggregate_id IN (${mine})`)).toBe(30)
        await cache.proxy.stop()
      },
    )

    test(
      'a database that is killed: requests are 503, nothing acknowledged is lost, each order has one effect',
      slow,
      async () => {
        await using world = await startOrders(await open(kafka.named('killed')))
        const subject = someone()
        const call = await world.as(subject)
        const keys = Array.from({ length: 20 }, () => randomUUID())
        const send = (key: string) => call('POST', '/orders', cart, { 'x-idempotency-key': key })
        const racing = keys.slice(0, 10).map((key) => send(key))
        await mysql().kill()
        for (const { status } of await Promise.all(racing)) expect([201, 503]).toContain(status)
        expect(await send(keys[10] ?? '')).toMatchObject({ status: 503, body: { code: 'INFRASTRUCTURE_ERROR' } })
        expect((await call('GET', '/orders')).status).toBe(503)
        await mysql().start()
        const ids = await Promise.all(
          keys.map((key) =>
            eventually(async () => {
              const { status, body } = await send(key)
              expect(status).toBe(201)
              return body.id as string
            }, patience),
          ),
        )
        expect(new Set(ids).size).toBe(20)
        await eventually(async () => expect(await database.effectsOf(ids)).toBe(20), patience)
        expect(await database.count(`orders WHERE owner_subject = '${subject}'`)).toBe(20)
        report('20 orders through a killed MariaDB, each with one event and one effect')
      },
    )
  })

  describeWithPrivate('kafka')('beside a broker that is killed', (broker) => {
    describeWith('redis')('and Redis', ({ redis }) => {
      test('S4-067 orders are accepted, their events wait, and all are published and processed', slow, async () => {
        const database = await openDatabase(mysql().url)
        {
          const addresses = { kafka: broker().url, database: database.url, redis: redis.url }
          await using world = await startOrders(await openMysqlResources(addresses))
          const call = await world.as(someone())
          await broker().kill()
          const ids = await placeMany(call, 10)
          expect(await database.count('outbox_event WHERE status <> 1')).toBeGreaterThan(0)
          await broker().start()
          await eventually(async () => expect(await database.effectsOf(ids)).toBe(10), patience)
          expect(await database.count('outbox_event WHERE status = 3')).toBe(0)
          expect(await database.count('processed_events')).toBe(10)
        }
        await database.close()
      })
    })
  })
}

if (scale === 'SMOKE') test(title, (context) => context.skip('it takes minutes: npm run guarantees'))
else describeWithPrivate('mysql')(title, define)
