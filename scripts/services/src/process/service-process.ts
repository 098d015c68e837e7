import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, open, readFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { systemClock, systemTimers } from '@waybill/core/internal'
import { type Answer, reasonOf, ServiceError } from '../service.ts'
import { identify, isRunning, type ProcessIdentity } from './process-identity.ts'

/** How one process of a service is started and ended. */
export interface ProcessPlan {
  /** Its name in sentences: `broker 2`. */
  readonly label: string
  readonly command: string
  readonly args: readonly string[]
  readonly folder: string
  readonly logFile: string
  readonly environment: Readonly<Record<string, string>>
  /** The user to run as, where the current one is root. */
  readonly user?: SystemUser
  /** The signal that stops it gracefully. */
  readonly stopSignal: NodeJS.Signals
  /** @defaultValue 90 s: enough for three brokers that start at once on a busy machine */
  readonly readyDeadlineMs?: number
  /** Throws until the process can be used. */
  readonly probe: () => Promise<Answer>
}

/** A user of the operating system. */
export interface SystemUser {
  readonly uid: number
  readonly gid: number
}

const usualReadyDeadlineMs = 90_000
/** Enough for a database that flushes its data on a busy machine. */
const stopDeadlineMs = 20_000

/** Starts the process in a session of its own: it outlives this one, and Ctrl-C in the terminal does not reach it. */
export async function spawnProcess(plan: ProcessPlan): Promise<ProcessIdentity> {
  await mkdir(dirname(plan.logFile), { recursive: true })
  const log = await open(plan.logFile, 'a')
  try {
    const child = spawn(plan.command, plan.args, {
      cwd: plan.folder,
      env: plan.environment,
      detached: true,
      stdio: ['ignore', log.fd, log.fd],
      ...plan.user,
    })
    child.unref()
    await once(child, 'spawn') // Rejects with the reason when the system cannot start it.
    const identity = await identify(child.pid ?? 0)
    if (identity === undefined) throw await earlyEnd(plan)
    return identity
  } finally {
    await log.close()
  }
}

/** Resolves with its answer once the process can be used; throws with the end of its log when it dies or hangs. */
export async function waitUntilReady(plan: ProcessPlan, identity: ProcessIdentity): Promise<Answer> {
  const { readyDeadlineMs = usualReadyDeadlineMs } = plan
  const endAt = systemClock.monotonic() + readyDeadlineMs
  for (;;) {
    try {
      const answer = await plan.probe()
      // Another service may respond there, and be the reason why this one could not start.
      if (await isRunning(identity)) return answer
    } catch (error) {
      if (systemClock.monotonic() > endAt)
        throw new ServiceError(
          `${plan.label} runs as process ${identity.pid} but did not become ready in ${readyDeadlineMs / 1000} s: ${reasonOf(error)}.`,
          `Its log is ${plan.logFile}.`,
          error,
        )
    }
    if (!(await isRunning(identity))) throw await earlyEnd(plan)
    await systemTimers.sleep(100)
  }
}

/**
 * Ends a recorded process: with its own signal, and by force after the deadline. A later process with the same id is
 * left alone. Resolves when it is gone.
 */
export async function endProcess(
  recorded: ProcessIdentity,
  signal: NodeJS.Signals,
  deadlineMs: number = stopDeadlineMs,
): Promise<void> {
  const forceAt = systemClock.monotonic() + deadlineMs
  let next: NodeJS.Signals | undefined = signal
  while (await isRunning(recorded)) {
    if (next !== undefined) send(recorded.pid, next)
    next = systemClock.monotonic() > forceAt ? 'SIGKILL' : undefined
    await systemTimers.sleep(20)
  }
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch (error) {
    // It may have ended since the check.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

async function earlyEnd(plan: ProcessPlan): Promise<ServiceError> {
  const log = await readFile(plan.logFile, 'utf8').catch(() => '')
  const lines = log.trimEnd().split('\n').slice(-12)
  const help = log === '' ? 'It wrote no log.' : `The end of its log, ${plan.logFile}:\n    ${lines.join('\n    ')}`
  return new ServiceError(`${plan.label} ended while it was starting.`, help)
}
