import { join } from 'node:path'
import { linkFiles } from '../download.ts'
import { findJava } from '../java.ts'
import { loopback } from '../port.ts'
import { plainEnvironment } from '../process/executable.ts'
import { asUser, handOver, serverUser } from '../process/system-user.ts'
import {
  applicationFolder,
  hasApplication,
  provideApplication,
  registryVersion,
  runnerJar,
} from '../registry/application.ts'
import { type Answer, obstacleTo, reasonOf, ServiceError } from '../service.ts'
import { type Launch, type LaunchRequest, probeTimeoutMs, type ServiceKind } from './service-kind.ts'

const title = 'Apicurio Registry'
const registryUser = () => serverUser(title, 'apicurio')

/** Where Apicurio serves the API of Confluent's Schema Registry. */
const confluentApi = '/apis/ccompat/v7'

/** Apicurio Registry from its Maven artifact, on the machine's own Java, in memory only. */
export const registry: ServiceKind = {
  title,
  variable: 'SCHEMA_REGISTRY_URL',
  usualPort: 8081,
  urlAt: (port) => `http://${loopback}:${port}${confluentApi}`,
  probe,
  async findObstacle() {
    const noJava = await obstacleTo(() => findJava(title, registryUser))
    if (noJava !== undefined) return noJava
    return (await hasApplication())
      ? undefined
      : `${title} ${registryVersion} is not downloaded yet. \`npm run services up registry\` does it (${applicationFolder()}).`
  },
  prepare,
}

/** Any registry with Confluent's API answers; the version is known of Apicurio alone. */
async function probe(url: string): Promise<Answer> {
  const subjects = await read(`${url.replace(/\/$/, '')}/subjects`)
  if (!Array.isArray(subjects)) throw new ServiceError(`${url} is not the API of a schema registry.`)
  if (!url.endsWith(confluentApi)) return { version: 'unknown' }
  const information = (await read(url.replace(confluentApi, '/apis/registry/v3/system/info'))) as { version?: unknown }
  return { version: typeof information.version === 'string' ? information.version : 'unknown' }
}

async function read(url: string): Promise<unknown> {
  const response = await fetch(url, { signal: AbortSignal.timeout(probeTimeoutMs) }).catch((error: unknown) => {
    // "fetch failed" says nothing; its cause does.
    throw new ServiceError(reasonOf(error instanceof Error ? (error.cause ?? error) : error), undefined, error)
  })
  if (!response.ok) throw new ServiceError(`${url} answered with status ${response.status}.`)
  return response.json()
}

async function prepare({ folder, logFile, port, progress }: LaunchRequest): Promise<Launch> {
  const java = await findJava(title, registryUser)
  const user = await registryUser()
  const application = await provideApplication(progress)
  await handOver(folder, user)
  const jars = user === undefined ? application : await linkFiles(application, join(folder, 'application'))
  const url = registry.urlAt(port)
  return {
    url,
    answer: { version: registryVersion },
    processes: [
      {
        label: title,
        command: java,
        args: [
          '-Xmx384m',
          '-XX:+UseSerialGC',
          '-XX:TieredStopAtLevel=1',
          '-Xshare:auto',
          `-Djava.io.tmpdir=${folder}`,
          '-Dquarkus.log.level=WARN', // One line for each request otherwise.
          `-Dquarkus.http.host=${loopback}`,
          `-Dquarkus.http.port=${port}`,
          '-jar',
          join(jars, runnerJar),
        ],
        folder,
        logFile,
        environment: plainEnvironment(),
        ...asUser(user),
        stopSignal: 'SIGTERM',
        readyDeadlineMs,
        probe: () => probe(url),
      },
    ],
  }
}

/** It needs 12 s of processor time to start, and the other services start beside it. */
const readyDeadlineMs = 300_000
