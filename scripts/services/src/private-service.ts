import { removeRunFolder } from './folder.ts'
import { leash } from './process/leash.ts'
import type { ProcessIdentity } from './process/process-identity.ts'
import { endProcess, type ProcessPlan, spawnProcess, waitUntilReady } from './process/service-process.ts'
import type { ServiceName } from './service.ts'
import { startService } from './start-service.ts'

/** Options of {@link startPrivateService}. */
export interface PrivateServiceOptions {
  /**
   * Kafka only. With three, internal topics have three replicas and any one broker may die.
   *
   * @defaultValue 1
   */
  readonly brokers?: number
  readonly progress?: (text: string) => void
}

/** One process of a private service, which a test may stop, kill and start. */
export interface PrivateProcess {
  /** Its process id while it runs. */
  readonly pid: number | undefined
  readonly logFile: string
  /** Starts it again with the same address and data, and waits until it can be used. Does nothing while it runs. */
  start(): Promise<void>
  /** Stops it gracefully, and waits for its end. */
  stop(): Promise<void>
  /** Kills it as a crash would. */
  kill(): Promise<void>
}

/** A private service, on a free port and empty. Disposing stops it and deletes its data. */
export interface PrivateService extends PrivateProcess, AsyncDisposable {
  readonly name: ServiceName
  readonly url: string
  readonly version: string
  /** Its processes: one, or one for each Kafka broker in the order of their ids. */
  readonly processes: readonly PrivateProcess[]
}

/**
 * Starts a private service: `await using redis = await startPrivateService('redis')`. It ends with this process at the
 * latest, even when that is killed.
 */
export async function startPrivateService(
  name: ServiceName,
  { brokers = 1, progress = () => {} }: PrivateServiceOptions = {},
): Promise<PrivateService> {
  let guard: Disposable | undefined
  const guardNow = (running: readonly { readonly pid: number | undefined }[], folder: string): void => {
    const former = guard
    guard = leash(
      running.flatMap(({ pid }) => pid ?? []),
      folder,
    )
    former?.[Symbol.dispose]()
  }
  const { record, launch } = await startService(name, {
    port: 'FREE',
    brokers,
    progress,
    onSpawned: async (spawned) => guardNow(spawned.processes, spawned.folder),
  }).catch((error: unknown) => {
    guard?.[Symbol.dispose]()
    throw error
  })
  const onChange = (): void => guardNow(processes, record.folder)
  const processes = launch.processes.map((plan, at) => controlProcess(plan, record.processes[at], onChange))
  const all = async (work: (one: PrivateProcess) => Promise<void>): Promise<void> => {
    await Promise.all(processes.map(work))
  }
  return {
    name,
    url: record.url,
    version: record.version,
    processes,
    get pid() {
      return processes[0]?.pid
    },
    logFile: processes[0]?.logFile ?? '',
    start: () => all((one) => one.start()),
    stop: () => all((one) => one.stop()),
    kill: () => all((one) => one.kill()),
    async [Symbol.asyncDispose]() {
      await all((one) => one.kill())
      await removeRunFolder(record.folder)
      guard?.[Symbol.dispose]()
    },
  }
}

function controlProcess(plan: ProcessPlan, first: ProcessIdentity | undefined, onChange: () => void): PrivateProcess {
  let running = first
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    if (running === undefined) return
    await endProcess(running, signal)
    running = undefined
    onChange()
  }
  return {
    get pid() {
      return running?.pid
    },
    logFile: plan.logFile,
    async start() {
      if (running !== undefined) return
      running = await spawnProcess(plan)
      onChange()
      await waitUntilReady(plan, running)
    },
    stop: () => end(plan.stopSignal),
    kill: () => end('SIGKILL'),
  }
}
