import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  cacheFolder,
  createRunFolder,
  endProcess,
  isRunning,
  type ProcessPlan,
  removeRunFolder,
  spawnProcess,
  waitUntilReady,
} from '@waybill/services'
import { eventually } from '@waybill/testkit'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'waybill-process-'))
})
afterEach(() => rm(folder, { recursive: true }))

const plan = (
  script: string,
  probe: ProcessPlan['probe'] = () => Promise.reject(new Error('not yet')),
): ProcessPlan => ({
  label: 'The service',
  command: process.execPath,
  args: ['-e', script],
  folder,
  logFile: join(folder, 'service.log'),
  environment: {},
  stopSignal: 'SIGTERM',
  probe,
})

describe('a process of a service', () => {
  test('is ready once it answers', async () => {
    let asked = 0
    const patient = plan('setInterval(() => {}, 1e6)', async () => {
      if (++asked < 3) throw new Error('not yet')
      return { version: '1' }
    })
    const identity = await spawnProcess(patient)
    expect(await waitUntilReady(patient, identity)).toEqual({ version: '1' })
    await endProcess(identity, 'SIGTERM')
    expect(await isRunning(identity)).toBe(false)
  })

  test('that ends while it starts is reported with the end of its log', async () => {
    const broken = plan('console.error("port is in use"); process.exit(3)')
    await expect(spawnProcess(broken).then((identity) => waitUntilReady(broken, identity))).rejects.toThrow(
      /The service ended while it was starting.*port is in use/s,
    )
  })

  test('that ends while another answers in its place is not taken for ready', async () => {
    const displaced = plan('process.exit(1)', async () => {
      await eventually(async () => expect(await isRunning(identity)).toBe(false))
      return { version: 'of another' }
    })
    const identity = await spawnProcess(displaced)
    await expect(waitUntilReady(displaced, identity)).rejects.toThrow(/ended while it was starting/)
  })

  test('that cannot be started at all is reported with the reason', async () => {
    await expect(spawnProcess({ ...plan(''), command: join(folder, 'nothing') })).rejects.toThrow(/ENOENT/)
  })

  test('that ignores its signal is ended by force at the deadline', async () => {
    const deaf = plan('process.on("SIGTERM", () => {}); console.log("deaf"); setInterval(() => {}, 1e6)', async () => {
      if (!existsSync(join(folder, 'service.log'))) throw new Error('not yet')
      return { version: '1' }
    })
    const identity = await spawnProcess(deaf)
    await waitUntilReady(deaf, identity)
    await endProcess(identity, 'SIGTERM', 50)
    expect(await isRunning(identity)).toBe(false)
  })
})

describe('the folder of a service', () => {
  test('is made anew each time, and can be deleted', async () => {
    const [one, other] = await Promise.all([createRunFolder('redis'), createRunFolder('redis')])
    expect(one).not.toBe(other)
    await Promise.all([removeRunFolder(one), removeRunFolder(other)])
    expect([existsSync(one), existsSync(other)]).toEqual([false, false])
  })

  test('is the only kind that is deleted, whatever a record says', async () => {
    const elsewhere = join(folder, 'waybill-run-redis-x')
    await mkdir(elsewhere)
    for (const path of [folder, elsewhere]) await removeRunFolder(path)
    expect([existsSync(folder), existsSync(elsewhere)]).toEqual([true, true])
  })
})

test.each([
  [{ XDG_CACHE_HOME: '/var/cache/me' }, /^\/var\/cache\/me\/waybill$/],
  [{ XDG_CACHE_HOME: '' }, /\/\.cache\/waybill$/],
  [{}, /\/\.cache\/waybill$/],
])('what is kept between runs is in the cache folder of %j', (environment, expected) => {
  expect(cacheFolder(environment)).toMatch(expected)
})
