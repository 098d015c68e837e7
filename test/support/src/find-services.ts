import {
  kinds,
  type PrivateService,
  reasonOf,
  type ServiceName,
  ServiceSet,
  serviceNames,
  startPrivateService,
} from '@waybill/services'
import type { Availability, ServiceInRun, ServicesInRun } from './availability.ts'
import { readRequirements } from './requirement.ts'

/** The services of a run. Disposing stops those that were started for it. */
export interface RunServices extends AsyncDisposable {
  readonly services: ServicesInRun
}

/**
 * Looks once for every service, at its address in the environment and on its usual port. PostgreSQL comes with the
 * dependencies, so it is started if there is none. The others are used only if present.
 */
export async function findServices(
  environment: NodeJS.ProcessEnv = process.env,
  find: (name: ServiceName) => Promise<Availability> = (name) => findShared(name, environment),
): Promise<RunServices> {
  const required = readRequirements(environment).names
  const started: PrivateService[] = []
  const entries = await Promise.all(
    serviceNames.map(async (name): Promise<[ServiceName, ServiceInRun]> => {
      const [found, obstacle] = await Promise.all([find(name), kinds[name].findObstacle()])
      // An address in the environment is a choice: it is never replaced by another service.
      const isNamed = (environment[kinds[name].variable] ?? '') !== ''
      const shared = found.state === 'ABSENT' && name === 'postgres' && !isNamed ? await startPostgres(started) : found
      return [name, { shared, isRequired: required.includes(name), ...(obstacle === undefined ? {} : { obstacle }) }]
    }),
  )
  return {
    services: Object.fromEntries(entries) as ServicesInRun,
    async [Symbol.asyncDispose]() {
      for (const service of started) await service[Symbol.asyncDispose]()
    },
  }
}

async function findShared(name: ServiceName, environment: NodeJS.ProcessEnv): Promise<Availability> {
  const location = await new ServiceSet({ environment }).find(name)
  if (location.state === 'ABSENT') return location
  return { state: 'PRESENT', url: location.url, version: location.answer.version, origin: 'FOUND' }
}

async function startPostgres(started: PrivateService[]): Promise<Availability> {
  try {
    const service = await startPrivateService('postgres')
    started.push(service)
    return { state: 'PRESENT', url: service.url, version: service.version, origin: 'STARTED_FOR_THIS_RUN' }
  } catch (error) {
    return { state: 'ABSENT', reason: reasonOf(error) }
  }
}
