import { loopback } from '../port.ts'
import { findExecutable, plainEnvironment, run } from '../process/executable.ts'
import { asUser, handOver, serverUser } from '../process/system-user.ts'
import { type Answer, ServiceError } from '../service.ts'
import { type Launch, type LaunchRequest, probeTimeoutMs, type ServiceKind } from './service-kind.ts'

const title = 'Redis'
const missing = 'There is no redis-server on this machine.'
const howToInstall = 'Install Redis 7 or later (Debian: apt-get install redis-server).'

/** Redis from the machine's own binary, in memory only. */
export const redis: ServiceKind = {
  title,
  variable: 'REDIS_URL',
  usualPort: 6379,
  urlAt: (port) => `redis://${loopback}:${port}`,
  probe,
  findObstacle: async () =>
    (await findExecutable('redis-server')) === undefined ? `${missing} ${howToInstall}` : undefined,
  prepare,
}

async function probe(url: string): Promise<Answer> {
  // Drivers are loaded by the probe, not by callers that only need an address.
  const { Redis } = await import('ioredis')
  const client = new Redis(url, {
    lazyConnect: true,
    retryStrategy: () => null,
    maxRetriesPerRequest: 0,
    connectTimeout: probeTimeoutMs,
    commandTimeout: probeTimeoutMs,
  })
  let reason: Error | undefined
  // The command fails with "connection is closed"; only this event has the reason.
  client.on('error', (error: Error) => {
    reason = error
  })
  try {
    await client.connect()
    const information = await client.info('server')
    return { version: /^redis_version:(.+?)\r?$/m.exec(information)?.[1] ?? 'unknown' }
  } catch (error) {
    throw reason ?? error
  } finally {
    client.disconnect()
  }
}

async function prepare({ folder, logFile, port }: LaunchRequest): Promise<Launch> {
  const command = await findExecutable('redis-server')
  if (command === undefined) throw new ServiceError(missing, howToInstall)
  const user = await serverUser(title, 'redis')
  await handOver(folder, user)
  const url = redis.urlAt(port)
  const version = /v=(\S+)/.exec(await run(command, ['--version']))?.[1] ?? 'unknown'
  const settings = { port, bind: loopback, dir: folder, save: '', appendonly: 'no', daemonize: 'no' }
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)])
  return {
    url,
    answer: { version },
    processes: [
      {
        label: title,
        command,
        args,
        folder,
        logFile,
        environment: plainEnvironment(),
        ...asUser(user),
        stopSignal: 'SIGTERM',
        probe: () => probe(url),
      },
    ],
  }
}
