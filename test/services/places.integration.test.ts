import type { ServiceName } from '@waybill/services'
import { describeWith, exchangeRecord, loadPlaceKind, type Places } from '@waybill/test-support'
import { describe, expect, inject, test } from 'vitest'

/** Opens a place for one test, and closes it afterward unless the test did. */
async function openPlace<N extends ServiceName>(service: N, name: string): Promise<Places[N]> {
  const { shared } = inject('services')[service]
  if (shared.state === 'ABSENT') throw new Error(shared.reason)
  const place = (await loadPlaceKind(service)).create(shared.url, name)
  await place.open()
  return place
}

let sequence = 0
/** A valid name that no active run uses: the tests of sweeping delete exactly these. */
const uniqueName = (): string =>
  `waybill_test_${(1_000_000_000_000 + sequence++).toString(36)}_${process.pid.toString(16).padStart(8, '0')}`

const addSchema = async (url: string, subject: string): Promise<void> => {
  const body = JSON.stringify({ schema: '"string"' })
  const headers = { 'content-type': 'application/vnd.schemaregistry.v1+json' }
  const response = await fetch(`${url}/subjects/${subject}/versions`, { method: 'POST', headers, body })
  expect(response.status).toBe(200)
}

describeWith('postgres')('a schema of its own', ({ postgres }) => {
  test('is where unqualified names lead', async () => {
    await postgres.pool.query('create table orders (id int)')
    await postgres.pool.query('insert into orders values (7)')
    const { rows } = await postgres.pool.query(`select id from "${postgres.schema}".orders`)
    expect(rows).toEqual([{ id: 7 }])
  })

  test('is not seen from another place', async () => {
    const other = await openPlace('postgres', uniqueName())
    await postgres.pool.query('create table mine (id int)')
    await expect(other.pool.query('select * from mine')).rejects.toThrow(/does not exist/)
    await other.close()
  })

  test('is gone when it is closed, with everything in it', async () => {
    const place = await openPlace('postgres', uniqueName())
    await place.pool.query('create table t as select 1 as id')
    await place.close()
    expect(await schemasNamed(place.schema)).toBe(0)
  })

  test('is gone although a transaction was left open in it, and the leak is told', async () => {
    const place = await openPlace('postgres', uniqueName())
    await place.pool.query('create table t (id int)')
    const leaked = await place.pool.connect()
    await leaked.query('begin; lock table t in access exclusive mode')
    await expect(place.close()).rejects.toThrow(/1 of the pool's clients were never released/)
    expect(await schemasNamed(place.schema)).toBe(0)
  })

  test('is swept when a killed run left it, and no other is', async () => {
    const stale = await openPlace('postgres', uniqueName())
    await (await loadPlaceKind('postgres')).sweep(sharedUrl('postgres'), (name) => name === stale.schema)
    expect(await schemasNamed(stale.schema)).toBe(0)
    expect(await schemasNamed(postgres.schema)).toBe(1)
    await stale.close()
  })

  const schemasNamed = async (name: string): Promise<number> =>
    (await postgres.pool.query('select from pg_namespace where nspname = $1', [name])).rowCount ?? 0
})

describeWith('mysql')('a database of its own', ({ mysql }) => {
  test('is where unqualified names lead', async () => {
    await mysql.pool.query('create table orders (id int)')
    await mysql.pool.query('insert into orders values (7)')
    const [rows] = await mysql.pool.query(`select id from ${mysql.database}.orders`)
    expect(rows).toEqual([{ id: 7 }])
  })

  test('is not seen from another place', async () => {
    const other = await openPlace('mysql', uniqueName())
    await mysql.pool.query('create table mine (id int)')
    await expect(other.pool.query('select * from mine')).rejects.toThrow(/doesn't exist/)
    await other.close()
  })

  test('is gone when it is closed, although a transaction was left open in it', async () => {
    const place = await openPlace('mysql', uniqueName())
    await place.pool.query('create table t (id int)')
    const leaked = await place.pool.getConnection()
    await leaked.query('begin')
    await leaked.query('insert into t values (1)')
    await place.close()
    expect(await databasesNamed(place.database)).toEqual([])
  })

  test('is swept when a killed run left it, and no other is', async () => {
    const stale = await openPlace('mysql', uniqueName())
    await (await loadPlaceKind('mysql')).sweep(sharedUrl('mysql'), (name) => name === stale.database)
    expect(await databasesNamed(stale.database)).toEqual([])
    expect(await databasesNamed(mysql.database)).toHaveLength(1)
    await stale.close()
  })

  const databasesNamed = async (name: string): Promise<unknown> =>
    (await mysql.pool.query('select schema_name from information_schema.schemata where schema_name = ?', [name]))[0]
})

describeWith('redis')('keys of its own', ({ redis }) => {
  test('begin with its prefix, which its client adds', async () => {
    await redis.client.set('cart', '3')
    expect(await redis.client.get('cart')).toBe('3')
    expect(await keysWith(redis.prefix)).toEqual([`${redis.prefix}cart`])
  })

  test('are not seen from another place', async () => {
    const other = await openPlace('redis', uniqueName())
    await redis.client.set('mine', '1')
    expect(await other.client.get('mine')).toBeNull()
    await other.close()
  })

  test('are gone when it is closed, and those of others are not', async () => {
    const place = await openPlace('redis', uniqueName())
    await redis.client.set('kept', '1')
    await Promise.all(Array.from({ length: 2_500 }, (_, at) => place.client.set(`k${at}`, at)))
    await place.close()
    expect(await keysWith(place.prefix)).toEqual([])
    expect(await redis.client.get('kept')).toBe('1')
  })

  test('are swept when a killed run left them', async () => {
    const stale = await openPlace('redis', uniqueName())
    await stale.client.set('left', '1')
    await (await loadPlaceKind('redis')).sweep(sharedUrl('redis'), (key) => key.startsWith(stale.prefix))
    expect(await keysWith(stale.prefix)).toEqual([])
    await stale.close()
  })

  const keysWith = (prefix: string): Promise<string[]> => redis.client.keys(`${prefix}*`)
})

describeWith('registry')('subjects of its own', ({ registry }) => {
  test('are gone when it is closed, and those of others are not', async () => {
    const place = await openPlace('registry', uniqueName())
    await addSchema(place.url, place.name('orders-value'))
    await addSchema(registry.url, registry.name('orders-value'))
    await place.close()
    expect(await subjects()).not.toContain(place.name('orders-value'))
    expect(await subjects()).toContain(registry.name('orders-value'))
  })

  test('are swept when a killed run left them', async () => {
    const stale = await openPlace('registry', uniqueName())
    await addSchema(stale.url, stale.name('left'))
    await (await loadPlaceKind('registry')).sweep(stale.url, (name) => stale.name('left').startsWith(name))
    expect(await subjects()).not.toContain(stale.name('left'))
  })

  const subjects = async (): Promise<string[]> => (await (await fetch(`${registry.url}/subjects`)).json()) as string[]
})

describeWith('kafka')('topics of its own', ({ kafka }) => {
  test('carry records', async () => {
    const topic = await kafka.createTopic('orders', { partitions: 3, config: { 'retention.ms': '60000' } })
    expect(topic).toBe(kafka.named('orders'))
    expect(await exchangeRecord(kafka.bootstrap, topic, 'order placed')).toBe('order placed')
  })

  test('do not come into being by a misspelt name', async () => {
    await expect(exchangeRecord(kafka.bootstrap, kafka.named('ordres'), 'x')).rejects.toThrow(/./)
  })

  test('have other names in another place', async () => {
    const other = await openPlace('kafka', uniqueName())
    const [mine, its] = await Promise.all([kafka.createTopic('same'), other.createTopic('same')])
    expect(mine).not.toBe(its)
    await exchangeRecord(kafka.bootstrap, mine, 'mine')
    expect(await exchangeRecord(kafka.bootstrap, its, 'its')).toBe('its')
    await other.close()
  })

  test('are gone when it is closed, also those the code under test made, and those of others are not', async () => {
    const place = await openPlace('kafka', uniqueName())
    const kept = await kafka.createTopic('kept')
    await place.createTopic('orders')
    await place.createTopic('orders.retry-1')
    await place.close()
    expect(await place.topics()).toEqual([])
    expect(await kafka.topics()).toContain(kept)
  })

  test('are swept when a killed run left them', async () => {
    const stale = await openPlace('kafka', uniqueName())
    await stale.createTopic('left')
    await (await loadPlaceKind('kafka')).sweep(sharedUrl('kafka'), (name) => name.startsWith(stale.prefix))
    expect(await stale.topics()).toEqual([])
  })
})

const used: string[] = []
describeWith('postgres')('a first group of tests', ({ postgres }) => {
  test('has a place', async () => {
    await postgres.pool.query('create table t (id int)')
    used.push(postgres.schema)
  })
})

describeWith('postgres')('a later group of tests', ({ postgres }) => {
  test('has another one, and finds that of the first deleted', async () => {
    expect(used).toHaveLength(1)
    expect(used).not.toContain(postgres.schema)
    const { rowCount } = await postgres.pool.query('select from pg_namespace where nspname = any($1)', [used])
    expect(rowCount).toBe(0)
  })
})

describe('several services', () => {
  describeWith('postgres', 'redis')('in one group of tests', ({ postgres, redis }) => {
    test('each give their place', async () => {
      await redis.client.set('schema', postgres.schema)
      expect(await redis.client.get('schema')).toBe(postgres.schema)
    })
  })
})

function sharedUrl(service: ServiceName): string {
  const { shared } = inject('services')[service]
  return shared.state === 'PRESENT' ? shared.url : ''
}
