import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { identify, isRunning, kinds, type PrivateService, startPrivateService } from '@waybill/services'
import { describeWithPrivate, exchangeRecord, loadPlaceKind } from '@waybill/test-support'
import { eventually } from '@waybill/testkit'
import { expect, test } from 'vitest'

const answers = (service: PrivateService): Promise<unknown> => kinds[service.name].probe(service.url)

/** Returns the ids of the users that the processes of a service run as. */
async function usersOf({ processes }: PrivateService): Promise<string[]> {
  const uids = processes.map(({ pid }) => promisify(execFile)('ps', ['-o', 'uid=', '-p', String(pid)]))
  return (await Promise.all(uids)).map(({ stdout }) => stdout.trim())
}

describeWithPrivate('redis')('a private Redis', (redis) => {
  test('does not run as root', async () => expect(await usersOf(redis())).toEqual([expect.stringMatching(/^[1-9]/)]))

  test('is another than the shared one, and says so', async () => {
    expect(redis().url).not.toBe(kinds.redis.urlAt(kinds.redis.usualPort))
    expect(await answers(redis())).toEqual({ version: redis().version })
  })

  test.each(['stop', 'kill'] as const)('no longer answers after %s, and does again after start', async (end) => {
    const before = redis().pid
    await redis()[end]()
    await redis()[end]()
    expect(redis().pid).toBeUndefined()
    await expect(answers(redis())).rejects.toThrow(/ECONNREFUSED/)
    await redis().start()
    await redis().start()
    expect(redis().pid).not.toBe(before)
    await answers(redis())
  })

  test('is gone with its folder when it is disposed, also after it was stopped', async () => {
    const own = await startPrivateService('redis')
    const folder = dirname(own.logFile)
    expect(existsSync(folder)).toBe(true)
    await own.stop()
    await own[Symbol.asyncDispose]()
    await own[Symbol.asyncDispose]()
    expect(existsSync(folder)).toBe(false)
  })

  test('dies with the process that started it, also when that is killed', async () => {
    const script = new URL('./fixture/hold-private-redis.ts', import.meta.url).pathname
    const holder = spawn(process.execPath, ['--conditions=@waybill/source', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const [line] = (await once(createInterface({ input: holder.stdout }), 'line')) as [string]
    const { pid, folder } = JSON.parse(line) as { pid: number; folder: string }
    const identity = await identify(pid)
    if (identity === undefined) throw new Error('The Redis that was just started cannot be seen.')
    holder.kill('SIGKILL')
    await eventually(async () => {
      expect(await isRunning(identity)).toBe(false)
      expect(existsSync(folder)).toBe(false)
    })
  })
})

describeWithPrivate('postgres')('a private PostgreSQL', (postgres) => {
  test('does not run as root', async () => expect(await usersOf(postgres())).toEqual([expect.stringMatching(/^[1-9]/)]))

  test('still has what was committed after it was killed', async () => {
    const place = (await loadPlaceKind('postgres')).create(postgres().url, 'kept')
    await place.open()
    await place.pool.query('create table orders as select 7 as id')
    await postgres().kill()
    await expect(place.pool.query('select 1')).rejects.toThrow(/terminat|clos|ECONN|lost/i)
    await postgres().start()
    expect((await place.pool.query('select id from orders')).rows).toEqual([{ id: 7 }])
    await place.close()
  })
})

describeWithPrivate('mysql')('a private MariaDB', (mysql) => {
  test('does not run as root', async () => expect(await usersOf(mysql())).toEqual([expect.stringMatching(/^[1-9]/)]))

  test('still has what was committed after it was killed', async () => {
    const place = (await loadPlaceKind('mysql')).create(mysql().url, 'kept')
    await place.open()
    await place.pool.query('create table orders as select 7 as id')
    await mysql().kill()
    await expect(place.pool.query('select 1')).rejects.toThrow(/terminat|clos|ECONN|lost/i)
    await mysql().start()
    expect((await place.pool.query('select id from orders'))[0]).toEqual([{ id: 7 }])
    await place.close()
  })
})

describeWithPrivate('kafka')('a private Kafka', (kafka) => {
  test('does not run as root', async () => expect(await usersOf(kafka())).toEqual([expect.stringMatching(/^[1-9]/)]))

  test('carries a record, and still does after it was killed', async () => {
    const place = (await loadPlaceKind('kafka')).create(kafka().url, 'own')
    const topic = await place.createTopic('orders')
    expect(await exchangeRecord(place.bootstrap, topic, 'before')).toBe('before')
    await kafka().kill()
    await expect(answers(kafka())).rejects.toThrow(/ECONNREFUSED/)
    await kafka().start()
    expect(await exchangeRecord(place.bootstrap, topic, 'after')).toBe('after')
  }, 120_000)
})

describeWithPrivate('kafka', { brokers: 3 })('a private Kafka of three brokers', (kafka) => {
  test('goes on without one of them, also in the partition that it led', async () => {
    // A broker answers before the metadata names all of them.
    await eventually(async () => expect(await answers(kafka())).toMatchObject({ brokers: 3 }))
    const place = (await loadPlaceKind('kafka')).create(kafka().url, 'own')
    // As many partitions as brokers: each leads one.
    const topic = await place.createTopic('orders', {
      partitions: 3,
      replicas: 3,
      config: { 'min.insync.replicas': '2' },
    })
    await kafka().processes[0]?.kill()
    // The cluster replaces a killed broker once its session has expired, after four seconds.
    for (const partition of [0, 1, 2])
      await eventually(
        async () => expect(await exchangeRecord(place.bootstrap, topic, 'with two', partition)).toBe('with two'),
        { deadlineMs: 90_000 },
      )
  }, 120_000)
})
