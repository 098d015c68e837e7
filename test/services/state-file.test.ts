import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  endProcess,
  identify,
  isRunning,
  kinds,
  observe,
  type ProcessIdentity,
  ServiceSet,
  type StartedService,
  StateFile,
} from '@waybill/services'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'waybill-state-'))
})
afterEach(() => rm(folder, { recursive: true }))

const started = (...processes: ProcessIdentity[]): StartedService => ({
  url: 'redis://127.0.0.1:1',
  version: '7',
  folder: join(tmpdir(), 'waybill-run-redis-none'),
  processes: processes.map((one) => ({ ...one, stopSignal: 'SIGTERM', logFile: 'x.log' })),
})

/** Starts a process that does nothing until it is killed. */
async function startIdle(): Promise<{ identity: ProcessIdentity } & AsyncDisposable> {
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1e6)'], { stdio: 'ignore' })
  await once(child, 'spawn')
  const identity = await identify(child.pid ?? 0)
  if (identity === undefined) throw new Error('The process that was just started cannot be seen.')
  return {
    identity,
    async [Symbol.asyncDispose]() {
      if (child.exitCode !== null || child.signalCode !== null) return
      child.kill('SIGKILL')
      await once(child, 'exit')
    },
  }
}

/** The record of an earlier process whose id the system has reused. */
const successorOf = ({ pid }: ProcessIdentity): ProcessIdentity => ({ pid, startedAt: 'long ago' })

describe('the record of a started service', () => {
  test('is read as it was written', async () => {
    const file = new StateFile(join(folder, 'deep', 'redis.json'))
    await file.write(started({ pid: 12, startedAt: 'noon' }))
    expect(await file.read()).toMatchObject(started({ pid: 12, startedAt: 'noon' }))
    expect(await readdir(join(folder, 'deep'))).toEqual(['redis.json'])
  })

  test('is nothing when nothing was started, or it was removed', async () => {
    const file = new StateFile(join(folder, 'redis.json'))
    expect(await file.read()).toBeUndefined()
    await file.write(started())
    await file.remove()
    await file.remove()
    expect(await file.read()).toBeUndefined()
  })

  test.each([
    ['is no JSON', '{'],
    ['is JSON of another kind', 'null'],
    ['has another format', JSON.stringify({ ...started(), format: 2 })],
    ['lacks a field', JSON.stringify({ ...started(), format: 1, url: undefined })],
    ['has a broken process', JSON.stringify({ ...started(), format: 1, processes: [{ pid: 'x' }] })],
  ])('is refused and left as it is when it %s', async (_, text) => {
    const file = new StateFile(join(folder, 'redis.json'))
    await writeFile(file.path, text)
    await expect(file.read()).rejects.toThrow(/cannot be read. The file was not changed/)
    expect(await readdir(folder)).toEqual(['redis.json'])
  })
})

describe('a recorded process', () => {
  test('runs until it ends', async () => {
    await using idle = await startIdle()
    expect(await isRunning(idle.identity)).toBe(true)
    await endProcess(idle.identity, 'SIGTERM')
    expect(await isRunning(idle.identity)).toBe(false)
  })

  test('is gone when another process has its number, and that one is not touched', async () => {
    await using idle = await startIdle()
    const recorded = successorOf(idle.identity)
    expect(await isRunning(recorded)).toBe(false)
    await endProcess(recorded, 'SIGKILL')
    expect(await isRunning(idle.identity)).toBe(true)
  })

  test.each([0, -1, 1.5, Number.NaN, 2 ** 30])('number %s is nobody', async (pid) => {
    expect(await identify(pid)).toBeUndefined()
  })

  test('that is dead is not looked for at its address', async () => {
    await using idle = await startIdle()
    const record = started(successorOf(idle.identity))
    expect(await observe(kinds.redis, record, 'PRIVATE')).toEqual({})
  })

  test('that lives but does not answer is seen as such', async () => {
    await using idle = await startIdle()
    const record = started(idle.identity)
    const { started: seen } = await observe(kinds.redis, record, 'PRIVATE')
    expect(seen).toMatchObject({ url: record.url, refusal: expect.stringContaining('ECONNREFUSED') })
  })
})

describe('a set of services', () => {
  test('takes down what a stale record names without touching the process that has its number now', async () => {
    await using idle = await startIdle()
    const services = new ServiceSet({ scope: 'PRIVATE', folder })
    const file = new StateFile(join(folder, 'private', 'redis.json'))
    await file.write(started(successorOf(idle.identity)))
    expect(await services.down(['redis'])).toEqual([{ service: 'redis', state: 'STOPPED', url: 'redis://127.0.0.1:1' }])
    expect(await isRunning(idle.identity)).toBe(true)
    expect(await file.read()).toBeUndefined()
  })

  test('leaves alone what it did not start', async () => {
    const services = new ServiceSet({ scope: 'SHARED', folder })
    expect(await services.down(['postgres'])).toEqual([
      { service: 'postgres', state: 'LEFT_ALONE', reason: 'it was not started here' },
    ])
  })

  test('reports a record it cannot read instead of starting a second service', async () => {
    const services = new ServiceSet({ scope: 'PRIVATE', folder })
    const file = new StateFile(join(folder, 'private', 'redis.json'))
    await file.write(started())
    await writeFile(file.path, 'broken')
    expect(await services.up(['redis'])).toEqual([
      { service: 'redis', state: 'ABSENT', reason: expect.stringContaining('cannot be read') },
    ])
  })
})
