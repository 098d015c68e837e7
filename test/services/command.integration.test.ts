import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { kinds } from '@waybill/services'
import { afterEach, beforeEach, describe, expect, inject, test } from 'vitest'

const main = fileURLToPath(new URL('../../scripts/services/main.ts', import.meta.url))

let cache: string
beforeEach(async () => {
  cache = await mkdtemp(join(tmpdir(), 'waybill-cache-'))
})
afterEach(() => rm(cache, { recursive: true }))

interface Line {
  readonly service: string
  readonly state: string
  readonly url?: string
  readonly pids?: readonly number[]
}

/** Runs `npm run services -- ...` with its own state folder, so that it neither sees nor stops the services here. */
function runServices(
  args: readonly string[],
  environment: NodeJS.ProcessEnv = {},
): Promise<{ code: number; stdout: string; stderr: string; reports: () => Line[] }> {
  const variables = Object.values(kinds).map(({ variable }) => variable)
  const inherited = Object.entries(process.env).filter(
    ([key]) => !variables.includes(key) && !key.startsWith('npm_config'),
  )
  const env = { ...Object.fromEntries(inherited), XDG_CACHE_HOME: cache, ...environment }
  return new Promise((resolve) =>
    execFile(process.execPath, ['--conditions=@waybill/source', main, ...args], { env }, (error, stdout, stderr) =>
      resolve({
        code: typeof error?.code === 'number' ? error.code : 0,
        stdout,
        stderr,
        reports: () =>
          stdout
            .trimEnd()
            .split('\n')
            .map((line) => JSON.parse(line) as Line),
      }),
    ),
  )
}

describe('npm run services', () => {
  test('status says of every service where it is, and fails exactly when one is missing', async () => {
    const { code, reports } = await runServices(['status', '--json'])
    expect(reports().map(({ service }) => service)).toEqual(['kafka', 'postgres', 'mysql', 'redis'])
    for (const { state } of reports()) expect(['FOUND', 'ABSENT']).toContain(state)
    expect(code).toBe(reports().some(({ state }) => state === 'ABSENT') ? 1 : 0)
  })

  test('status fails for a named service that does not answer, and says why', async () => {
    const { code, stdout } = await runServices(['status', 'redis'], { REDIS_URL: 'redis://127.0.0.1:1' })
    expect(stdout).toMatch(/^redis {2}absent {2}what REDIS_URL names cannot be used \(connect ECONNREFUSED/)
    expect(code).toBe(1)
  })

  test('up does not start a stand-in for a named service elsewhere, and the others still come up', async () => {
    const environment = { MYSQL_URL: 'mysql://someone@127.0.0.1:1/orders', REDIS_URL: inUse('redis') }
    const { code, stdout } = await runServices(
      ['up', 'mysql', ...(environment.REDIS_URL === '' ? [] : ['redis'])],
      environment,
    )
    expect(stdout).toMatch(/mysql +absent .*MYSQL_URL .*unset MYSQL_URL/)
    if (environment.REDIS_URL !== '') expect(stdout).toMatch(/redis +found/)
    expect(code).toBe(1)
  })

  test('a service whose program is not installed is reported with what to install', async () => {
    const { code, stdout } = await runServices(['up', 'kafka', '--private'], { PATH: cache, JAVA_HOME: '' })
    expect(stdout).toMatch(/kafka +absent +Apache Kafka needs Java, .* Install a Java runtime/)
    expect(code).toBe(1)
  })

  test('help is printed, and a mistake is answered with it', async () => {
    const help = await runServices(['--help'])
    expect([help.code, help.stdout]).toEqual([0, expect.stringContaining('--brokers')])
    const mistake = await runServices(['stauts'])
    expect([mistake.code, mistake.stdout]).toEqual([2, ''])
    expect(mistake.stderr).toMatch(/Did you mean status\?/)
  })
})

describe('npm run services up, for a service that is not there', () => {
  beforeEach(({ skip }) => {
    const { obstacle, isRequired } = inject('services').redis
    skip(obstacle !== undefined && !isRequired, obstacle)
  })
  afterEach(async () => {
    await Promise.all([runServices(['down', 'redis']), runServices(['down', 'redis', '--private'])])
  })

  test('starts a private one, finds it again, and down stops it', async () => {
    const flags = ['redis', '--private', '--json']
    const [one, other] = await Promise.all([runServices(['up', ...flags]), runServices(['up', ...flags])])
    const [started] = one.reports()
    expect(started).toMatchObject({ service: 'redis', state: 'STARTED' })
    expect(other.reports()).toEqual(one.reports())
    expect((await runServices(['up', ...flags])).reports()).toEqual(one.reports())
    expect(await kinds.redis.probe(started?.url ?? '')).toMatchObject({ version: expect.any(String) })
    expect((await runServices(['status', ...flags])).code).toBe(0)

    expect((await runServices(['down', ...flags])).reports()).toMatchObject([{ state: 'STOPPED' }])
    await expect(kinds.redis.probe(started?.url ?? '')).rejects.toThrow(/ECONNREFUSED/)
    expect((await runServices(['status', ...flags])).code).toBe(1)
    expect((await runServices(['down', ...flags])).reports()).toMatchObject([{ state: 'LEFT_ALONE' }])
  })

  test('starts it again when it was killed', async () => {
    const flags = ['redis', '--private', '--json']
    const [first] = (await runServices(['up', ...flags])).reports()
    const pid = first?.pids?.[0]
    if (pid === undefined) throw new Error('The service that was just started has no process.')
    process.kill(pid, 'SIGKILL')
    const [second] = (await runServices(['up', ...flags])).reports()
    expect(second).toMatchObject({ state: 'STARTED' })
    expect(second?.pids).not.toEqual(first?.pids)
  })

  test('starts it where the environment still points to one of ours', async () => {
    const [{ url = '' } = {}] = (await runServices(['up', 'redis', '--private', '--json'])).reports()
    await runServices(['down', 'redis', '--private'])
    const [again] = (await runServices(['up', 'redis', '--json'], { REDIS_URL: url })).reports()
    expect(again).toMatchObject({ state: 'STARTED', url })
    expect((await runServices(['down', 'redis', '--json'])).reports()).toMatchObject([{ state: 'STOPPED', url }])
  })
})

/** The address of the shared service, or nothing. */
function inUse(service: 'redis'): string {
  const { shared } = inject('services')[service]
  return shared.state === 'PRESENT' ? shared.url : ''
}
