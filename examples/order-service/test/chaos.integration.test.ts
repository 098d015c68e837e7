/** Services that are slow, leases that race, clocks that differ: what clients see, and that nothing is done twice. */

import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { join } from 'node:path'
import { systemRuntime } from '@waybill/core'
import { createKafkaClient, type KafkaClient } from '@waybill/kafka'
import { describeWith } from '@waybill/test-support'
import { eventually, type FaultProxy } from '@waybill/testkit'
import { Redis } from 'ioredis'
import type { PoolClient } from 'pg'
import { expect, test } from 'vitest'
import { demoKeys, demoToken } from '../src/config/demo-tokens.ts'
import { openPostgresResources, type Resources } from '../src/config/resources.ts'
import { kafkaBehindProxy, proxied } from './support/faulty-services.ts'
import { type Client, cart, startOrders } from './support/order-world.ts'

const patience = { deadlineMs: 90_000, everyMs: 100 }
const partitions = 8

async function recordsIn(client: KafkaClient, topic: string): Promise<number> {
  const all = Array.from({ length: partitions }, (_, partition) => ({ topic, partition }))
  const ends = await client.admin.listOffsets(all, 'LATEST')
  return ends.reduce((sum, end) => sum + Number('offset' in end ? (end.offset ?? 0n) : 0n), 0)
}

async function placeMany(call: Client, orders: number): Promise<string[]> {
  const answers = await Promise.all(Array.from({ length: orders }, () => call('POST', '/orders', cart)))
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 201))
  return answers.map(({ body }) => body.id)
}

describeWith(
  'kafka',
  'postgres',
  'redis',
)('S4-073 an order service among slow services', ({ kafka, postgres, redis }) => {
  const addresses = { kafka: kafka.bootstrap.join(), database: postgres.url, redis: redis.url }

  const count = async (what: string): Promise<number> =>
    Number((await postgres.pool.query(`SELECT COUNT(*) AS rows FROM ${what}`)).rows[0].rows)

  /** Opens the services with Kafka behind a proxy. */
  async function withKafkaProxy(
    topic: string,
    database = postgres.url,
  ): Promise<{ readonly resources: Resources<PoolClient>; readonly kafkaProxy: FaultProxy }> {
    const { client, proxy: kafkaProxy, dispose: disposeKafka } = await kafkaBehindProxy(kafka.bootstrap)
    const opened = await openPostgresResources({ ...addresses, database, topic })
    const dispose = async (): Promise<void> => {
      kafkaProxy.heal()
      await opened[Symbol.asyncDispose]()
      await disposeKafka()
    }
    return { resources: { ...opened, kafka: client, [Symbol.asyncDispose]: dispose }, kafkaProxy }
  }

  const effectsOf = async (ids: readonly string[]): Promise<number> => {
    const text = 'SELECT COUNT(*) AS effects FROM order_regions WHERE order_id = ANY($1)'
    return Number((await postgres.pool.query(text, [ids])).rows[0].effects)
  }
  const eventsOf = async (ids: readonly string[]): Promise<readonly object[]> => {
    const text = 'SELECT * FROM outbox_event WHERE aggregate_id = ANY($1) ORDER BY seq'
    return (await postgres.pool.query(text, [ids])).rows
  }

  test('slow acknowledgements: orders are accepted, at most 16 events are under way, and all arrive once', async () => {
    const topic = kafka.named('slow')
    await using direct = createKafkaClient({ brokers: [...kafka.bootstrap] })
    const { resources, kafkaProxy } = await withKafkaProxy(topic)
    await using world = await startOrders(resources)
    const call = await world.as(`user-${randomUUID()}`)
    // Every partition has had a record, so that the producer knows all leaders.
    const first = await placeMany(call, 60)
    await eventually(async () => expect(await effectsOf(first)).toBe(60), patience)
    kafkaProxy.hold('TO_CLIENT')
    const ids = await placeMany(call, 60)
    await eventually(async () => expect(await recordsIn(direct, topic)).toBeGreaterThan(60), patience)
    ids.push(...(await placeMany(await world.as(`user-${randomUUID()}`), 100)))
    expect(await recordsIn(direct, topic)).toBeLessThanOrEqual(60 + 16)
    kafkaProxy.heal()
    await eventually(async () => expect(await effectsOf(ids)).toBe(160), patience)
    expect(await recordsIn(direct, topic)).toBe(220)
    expect(await count('outbox_event WHERE status = 3')).toBe(0)
  }, 180_000)

  test('a lease race: the outcome of an instance that lost its lease changes nothing, and each order has one effect', async () => {
    const topic = kafka.named('race')
    const database = await proxied(postgres.url, 5_432)
    const { resources, kafkaProxy } = await withKafkaProxy(topic, database.url)
    await using frozen = await startOrders(resources)
    const call = await frozen.as(`user-${randomUUID()}`)
    const first = await placeMany(call, 60)
    await eventually(async () => expect(await effectsOf(first)).toBe(60), patience)
    kafkaProxy.hold('TO_CLIENT')
    const ids = await placeMany(call, 5)
    database.proxy.hold()
    // An instance with the same partitions, as it is started for one that seems dead.
    await using other = await startOrders(await openPostgresResources({ ...addresses, topic }))
    const isDone = { status: 1 }
    await eventually(async () => expect(await eventsOf(ids)).toMatchObject(ids.map(() => isDone)), patience)
    const settled = await eventsOf(ids)
    kafkaProxy.heal()
    database.proxy.heal()
    await eventually(async () => expect(await effectsOf(ids)).toBe(5), patience)
    await eventually(async () => expect((await call('GET', '/orders/page')).status).toBe(200), patience)
    const rest = await frozen.metric('outbox_dispatch_success_total')
    expect(rest + (await other.metric('outbox_dispatch_success_total'))).toBeGreaterThanOrEqual(65)
    expect(await eventsOf(ids)).toEqual(settled)
    const marks = settled.map((row) => (row as { event_id: string }).event_id)
    for (const id of marks) expect(await count(`processed_events WHERE mark_key LIKE '%${id}%'`)).toBe(1)
    await database.proxy.stop()
  }, 240_000)

  test('a degraded cache: slower than its time limit, it is left alone, and every answer is right', async () => {
    const cache = await proxied(redis.url, 6_379)
    await using world = await startOrders(
      await openPostgresResources({ ...addresses, redis: cache.url, topic: kafka.named('degraded') }),
    )
    const call = await world.as(`user-${randomUUID()}`)
    const [id] = await placeMany(call, 1)
    cache.proxy.delay({ toClientMs: 1_000 })
    for (let round = 0; round < 8; round++) expect((await call('GET', `/orders/${id}`)).status).toBe(200)
    expect(await world.metric('order_cache_errors_total')).toBe(5)
    expect(await world.metric('order_rate_limiter_errors_total')).toBe(5)
    const key = { 'x-idempotency-key': randomUUID() }
    const created = await call('POST', '/orders', cart, key)
    expect(created.status).toBe(201)
    expect(await call('POST', '/orders', cart, key)).toMatchObject({ status: 201, body: { id: created.body.id } })
    const shipped = await call('PATCH', `/orders/${id}/status`, { status: 'SHIPPED' })
    expect(shipped.status).toBe(200)
    expect((await call('GET', `/orders/${id}`)).body).toEqual(shipped.body)
    cache.proxy.heal()
    expect((await call('GET', `/orders/${id}`)).body).toEqual(shipped.body)
    await cache.proxy.stop()
  }, 60_000)

  test('retry pressure: events that fail wait in retry topics, others pass them, requests are served, all end once', async () => {
    const topic = kafka.named('pressure')
    await using world = await startOrders(await openPostgresResources({ ...addresses, topic }))
    const call = await world.as(`user-${randomUUID()}`)
    await postgres.pool.query(`
      CREATE TABLE stuck (order_id text);
      CREATE FUNCTION stick() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF EXISTS (SELECT 1 FROM stuck) AND abs(hashtext(NEW.order_id)) % 2 = 0 THEN RAISE EXCEPTION 'stuck'; END IF;
        RETURN NEW;
      END $$;
      CREATE TRIGGER stick BEFORE INSERT ON order_regions FOR EACH ROW EXECUTE FUNCTION stick();
      INSERT INTO stuck VALUES ('all')`)
    const ids = await placeMany(call, 60)
    const { rows } = await postgres.pool.query(
      'SELECT COUNT(*) AS free FROM unnest($1::text[]) AS id WHERE abs(hashtext(id)) % 2 <> 0',
      [ids],
    )
    const free = Number(rows[0].free)
    expect(free).toBeGreaterThan(0)
    await eventually(async () => expect(await effectsOf(ids)).toBe(free), patience)
    expect(await world.metric('eventbus_records_failed_total')).toBeGreaterThan(0)
    expect((await call('GET', `/orders/${ids[0]}`)).status).toBe(200)
    await postgres.pool.query('DELETE FROM stuck')
    await eventually(async () => expect(await effectsOf(ids)).toBe(60), patience)
    expect(await count(`processed_events`)).toBeGreaterThanOrEqual(60)
    expect(await world.metric('eventbus_dlt_published_total')).toBe(0)
    await postgres.pool.query('DROP FUNCTION stick CASCADE; DROP TABLE stuck')
  }, 180_000)

  test('clock skew: of two regions the later order is stamped later, and both views agree', async () => {
    const topic = kafka.named('skew')
    const { clock } = systemRuntime
    const behind = { now: () => clock.now() - 30_000, monotonic: () => clock.monotonic() }
    await using eu = await startOrders(await openPostgresResources({ ...addresses, topic }))
    await using us = await startOrders(await openPostgresResources({ ...addresses, topic }), {
      clock: behind,
      environment: { ORDERS_REGION: 'us-1' },
    })
    const call = await eu.as(`user-${randomUUID()}`)
    const { body: first } = await call('POST', '/orders', cart)
    // Both regions consume it: the one that is behind learns of the time.
    await eventually(async () => {
      const { rows } = await postgres.pool.query(
        'SELECT COUNT(DISTINCT consumer) AS groups FROM processed_events WHERE consumer LIKE $1',
        [`${topic}.%`],
      )
      expect(Number(rows[0].groups)).toBe(2)
    }, patience)
    const { body: second } = await (await us.as(`user-${randomUUID()}`))('POST', '/orders', cart)
    expect(Date.parse(second.createdAt)).toBeGreaterThanOrEqual(Date.parse(first.createdAt))
    await eventually(async () => {
      const { rows } = await postgres.pool.query('SELECT region FROM order_regions WHERE order_id = $1', [second.id])
      expect(rows).toEqual([{ region: 'us-1' }])
    }, patience)
  }, 120_000)
})

function instance(id: string) {
  return { environment: { ORDERS_INSTANCE_ID: id, ORDERS_INSTANCE_COUNT: '2' } }
}

describeWith(
  'kafka',
  'postgres',
  'redis',
)('two instances', ({ kafka, postgres, redis }) => {
  const addresses = {
    kafka: kafka.bootstrap.join(),
    database: postgres.url,
    redis: redis.url,
    topic: kafka.named('two'),
  }

  test('S4-009 promote each pending order once, and do not fight', async () => {
    await using one = await startOrders(await openPostgresResources(addresses), instance('0'))
    await using two = await startOrders(await openPostgresResources(addresses), instance('1'))
    const call = await one.as(`user-${randomUUID()}`)
    const answers = await Promise.all(Array.from({ length: 40 }, () => call('POST', '/orders', cart)))
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 201))
    const promoted = await Promise.all([one.app.promotion.promoteAll(), two.app.promotion.promoteAll()])
    expect(promoted.reduce((sum, each) => sum + each, 0)).toBe(40)
    const { rows } = await postgres.pool.query('SELECT DISTINCT status, version FROM orders')
    expect(rows).toEqual([{ status: 'PROCESSING', version: 1 }])
  }, 60_000)

  test('S4-018 race creates with one key while Redis flaps: one order, one event, and no other answer', async () => {
    const cache = await proxied(redis.url, 6_379)
    const flapping = { ...addresses, redis: cache.url }
    await using one = await startOrders(await openPostgresResources(flapping))
    await using two = await startOrders(await openPostgresResources(flapping), instance('1'))
    const subject = `user-${randomUUID()}`
    const [here, there] = [await one.as(subject), await two.as(subject)]
    let isAway = false
    for (let round = 0; round < 30; round++) {
      isAway = !isAway
      if (isAway) cache.proxy.cut()
      const key = { 'x-idempotency-key': `${subject}-${round}` }
      const racing = [here, there, here, there].map((call) => call('POST', '/orders', cart, key))
      const answers = await Promise.all(racing)
      const ids = new Set(answers.filter(({ status }) => status === 201).map(({ body }) => body.id))
      expect([round, ids.size]).toEqual([round, 1])
      for (const { status } of answers) expect([201, 409]).toContain(status)
    }
    const rows = async (text: string) => Number((await postgres.pool.query(text, [subject])).rows[0].count)
    expect(await rows('SELECT COUNT(*) FROM orders WHERE owner_subject = $1')).toBe(30)
    expect(
      await rows(
        'SELECT COUNT(*) FROM outbox_event WHERE aggregate_id IN (SELECT id FROM orders WHERE owner_subject = $1)',
      ),
    ).toBe(30)
    await cache.proxy.stop()
  }, 120_000)

  test('S4-015 S4-018 kill -9 between the commit and its mark: the repeat finds the order, which has one event', async () => {
    await using survivor = await startOrders(await openPostgresResources(addresses), { keys: await demoKeys() })
    await postgres.pool.query(`
      CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(2); RETURN NULL; END $$;
      CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON orders DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW WHEN (NEW.owner_subject LIKE 'killed-%') EXECUTE FUNCTION slow()`)
    const environment = {
      ...process.env,
      DATABASE_URL: postgres.url,
      REDIS_URL: redis.url,
      ORDERS_TOPIC: addresses.topic,
    }
    const main = join(import.meta.dirname, '../src/main.ts')
    const victim = spawn(process.execPath, ['--conditions=@waybill/source', main, 'serve', '--real', '--port', '0'], {
      env: { ...environment, KAFKA_BOOTSTRAP: addresses.kafka },
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    const [line] = (await once(victim.stdout, 'data')) as [Buffer]
    const url = /http:\/\/[\d.:]+/.exec(line.toString())?.[0] ?? ''
    const subject = `killed-${randomUUID()}`
    const token = await demoToken({ subject, role: 'USER', ...survivor.settings })
    const call = survivor.withToken(token)
    const key = randomUUID()
    const lost = fetch(`${url}/orders`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', 'x-idempotency-key': key },
      body: JSON.stringify(cart),
    }).catch(() => 'no answer')
    await eventually(async () => {
      const { rows } = await postgres.pool.query("SELECT 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep'")
      expect(rows).not.toEqual([])
    }, patience)
    victim.kill('SIGKILL')
    expect(await lost).toBe('no answer')
    const repeat = () => call('POST', '/orders', cart, { 'x-idempotency-key': key })
    expect(await repeat()).toMatchObject({ status: 409, body: { code: 'CONFLICT' } })
    const mine = async (): Promise<number> => {
      const { rows } = await postgres.pool.query('SELECT COUNT(*) AS orders FROM orders WHERE owner_subject = $1', [
        subject,
      ])
      return Number(rows[0].orders)
    }
    await eventually(async () => expect(await mine()).toBe(1), patience)
    // The mark of the dead process ends after a minute; here at once.
    const client = new Redis(redis.url)
    for (const mark of await client.keys('global:idempotency:*')) if (mark.includes(key)) await client.del(mark)
    client.disconnect()
    const found = await repeat()
    expect(found.status).toBe(201)
    expect(found.headers.get('idempotency-replayed')).toBe('true')
    expect(await mine()).toBe(1)
    await postgres.pool.query('DROP FUNCTION slow CASCADE')
  }, 120_000)
})
