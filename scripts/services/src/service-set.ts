import { join } from 'node:path'
import { type Absence, decide, type Location, locate, type Unsuitable } from './decide.ts'
import { cacheFolder, removeRunFolder } from './folder.ts'
import { kinds } from './kinds.ts'
import { withLock } from './lock.ts'
import { observe } from './observation.ts'
import { type Progress, reasonOf, type ServiceName } from './service.ts'
import { endService, startService } from './start-service.ts'
import { StateFile } from './state-file.ts'

/** The report of a command about one service. */
export type ServiceReport = { readonly service: ServiceName } & (
  | Location
  | Absence
  | Unsuitable
  | { readonly state: 'STOPPED'; readonly url: string }
  | { readonly state: 'LEFT_ALONE'; readonly reason: string }
)

/** Options of {@link ServiceSet}. */
export interface ServiceSetOptions {
  /**
   * SHARED uses running services and starts missing ones, on the usual ports. PRIVATE starts everything, on free ports,
   * for tests that stop, kill or cripple it.
   *
   * @defaultValue SHARED
   */
  readonly scope?: 'SHARED' | 'PRIVATE'
  /**
   * The folder for records of started services, their logs and the lock.
   *
   * @defaultValue in the user's cache folder
   */
  readonly folder?: string
  /**
   * Variables with addresses.
   *
   * @defaultValue process.env
   */
  readonly environment?: NodeJS.ProcessEnv
  readonly progress?: Progress
}

/** The services of this machine: their addresses, and which of them were started here and may be stopped here. */
export class ServiceSet {
  readonly #scope: 'SHARED' | 'PRIVATE'
  readonly #environment: NodeJS.ProcessEnv | 'PRIVATE'
  readonly #progress: Progress
  readonly #folder: string

  constructor({ scope = 'SHARED', folder, environment = process.env, progress = () => {} }: ServiceSetOptions = {}) {
    this.#scope = scope
    this.#environment = scope === 'PRIVATE' ? 'PRIVATE' : environment
    this.#progress = progress
    this.#folder = join(folder ?? join(cacheFolder(environment), 'services'), scope.toLowerCase())
  }

  /** Returns where a service is now. Changes nothing. */
  async find(service: ServiceName): Promise<Location | Absence> {
    const record = await this.#stateOf(service).read()
    return locate(kinds[service], await observe(kinds[service], record, this.#environment))
  }

  /** Returns where each service is now. Changes nothing. */
  status(names: readonly ServiceName[]): Promise<ServiceReport[]> {
    return Promise.all(names.map((service) => reportOn(service, () => this.find(service))))
  }

  /** Makes each service available. A failure is reported, and does not affect the others. */
  up(names: readonly ServiceName[], brokers?: number): Promise<ServiceReport[]> {
    return this.#alone(() =>
      Promise.all(names.map((service) => reportOn(service, () => this.#bringUp(service, brokers)))),
    )
  }

  /** Stops the services started here, and no others. */
  down(names: readonly ServiceName[]): Promise<ServiceReport[]> {
    return this.#alone(() => Promise.all(names.map((service) => this.#takeDown(service))))
  }

  async #bringUp(service: ServiceName, brokers: number | undefined): Promise<Location | Absence | Unsuitable> {
    const state = this.#stateOf(service)
    const record = await state.read()
    const observation = await observe(kinds[service], record, this.#environment)
    if (record !== undefined && observation.started === undefined) {
      await removeRunFolder(record.folder) // It was killed, or died with the machine.
      await state.remove()
    }
    const decision = decide(kinds[service], observation, { brokers, endWith: this.#downCommand(service) })
    switch (decision.action) {
      case 'USE':
        return decision.location
      case 'FAIL':
        return decision.because
      case 'START':
        return this.#start(service, decision.port, brokers ?? 1)
    }
  }

  async #start(service: ServiceName, port: number | 'FREE', brokers: number): Promise<Location> {
    const state = this.#stateOf(service)
    try {
      const { record, launch } = await startService(service, {
        port,
        brokers,
        logFile: join(this.#folder, `${service}.log`),
        progress: (text) => this.#progress(service, text),
        onSpawned: (spawned) => state.write(spawned),
      })
      this.#progress(service, 'ready')
      return { state: 'STARTED', url: record.url, answer: launch.answer, record }
    } catch (error) {
      await state.remove()
      throw error
    }
  }

  async #takeDown(service: ServiceName): Promise<ServiceReport> {
    const state = this.#stateOf(service)
    const record = await state.read()
    if (record === undefined) return { service, state: 'LEFT_ALONE', reason: 'it was not started here' }
    this.#progress(service, `stopping ${record.url}`)
    await endService(record)
    await state.remove()
    return { service, state: 'STOPPED', url: record.url }
  }

  #downCommand(service: ServiceName): string {
    return this.#scope === 'PRIVATE'
      ? `npm run services -- down --private ${service}`
      : `npm run services down ${service}`
  }

  #stateOf(service: ServiceName): StateFile {
    return new StateFile(join(this.#folder, `${service}.json`))
  }

  /** Runs alone: two concurrent starts would both find no service, and both start one. */
  #alone<T>(work: () => Promise<T>): Promise<T> {
    return withLock(join(this.#folder, 'lock'), work, () =>
      process.stderr.write('Another `npm run services` is running on this machine; waiting for it to end.\n'),
    )
  }
}

async function reportOn(
  service: ServiceName,
  work: () => Promise<Location | Absence | Unsuitable>,
): Promise<ServiceReport> {
  try {
    return { service, ...(await work()) }
  } catch (error) {
    return { service, state: 'ABSENT', reason: error instanceof Error ? error.message : reasonOf(error) }
  }
}
