import { rm } from 'node:fs/promises'
import { createRunFolder, removeRunFolder } from './folder.ts'
import type { Launch } from './kind/service-kind.ts'
import { kinds } from './kinds.ts'
import { findFreePort } from './port.ts'
import { endProcess, spawnProcess, waitUntilReady } from './process/service-process.ts'
import type { ServiceName } from './service.ts'
import type { StartedProcess, StartedService } from './state-file.ts'

/** Parameters of a start. */
export interface StartRequest {
  readonly port: number | 'FREE'
  readonly brokers: number
  readonly progress: (text: string) => void
  /** File for its log; without it the log is in the service's folder, and deleted with it. */
  readonly logFile?: string
  /** Called as soon as a process exists, long before it is ready: an interrupted start can be cleaned up. */
  readonly onSpawned?: (record: StartedService) => Promise<void>
}

/** A started service, and a function that restarts its processes. */
export interface StartResult {
  readonly record: StartedService
  readonly launch: Launch
}

/** Starts a service and waits until it can be used. A failed start leaves nothing but its log. */
export async function startService(name: ServiceName, request: StartRequest): Promise<StartResult> {
  const { progress, brokers, onSpawned = async () => {} } = request
  const folder = await createRunFolder(name)
  const logFile = request.logFile ?? `${folder}/${name}.log`
  const processes: StartedProcess[] = []
  try {
    await rm(logFile, { force: true })
    const port = request.port === 'FREE' ? await findFreePort() : request.port
    const launch = await kinds[name].prepare({ folder, logFile, port, brokers, progress })
    const record: StartedService = { url: launch.url, version: launch.answer.version, folder, processes }
    progress(`starting on ${launch.url}`)
    for (const plan of launch.processes) {
      const { stopSignal, logFile: log } = plan
      processes.push({ ...(await spawnProcess(plan)), stopSignal, logFile: log })
    }
    await onSpawned(record)
    await Promise.all(launch.processes.map((plan, at) => waitUntilReady(plan, processes[at] as StartedProcess)))
    return { record, launch }
  } catch (error) {
    await Promise.all(processes.map((started) => endProcess(started, 'SIGKILL')))
    await removeRunFolder(folder)
    throw error
  }
}

/** Stops every process of a service gracefully and deletes its data. */
export async function endService(record: StartedService): Promise<void> {
  await Promise.all(record.processes.map((started) => endProcess(started, started.stopSignal)))
  await removeRunFolder(record.folder)
}
