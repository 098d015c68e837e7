import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'

/** A process that can be distinguished from a later one with the same id: systems reuse ids. */
export interface ProcessIdentity {
  readonly pid: number
  /** Its start time as the system reports it. Compared, never parsed. */
  readonly startedAt: string
}

/** Returns the process with this id; undefined when there is none. */
export async function identify(pid: number): Promise<ProcessIdentity | undefined> {
  if (!Number.isInteger(pid) || pid <= 0) return undefined
  const startedAt = process.platform === 'linux' ? await startInProc(pid) : await startInPs(pid)
  return startedAt === undefined ? undefined : { pid, startedAt }
}

/** Returns true when the recorded process still runs. */
export async function isRunning(recorded: ProcessIdentity): Promise<boolean> {
  const current = await identify(recorded.pid)
  return current !== undefined && current.startedAt === recorded.startedAt
}

async function startInProc(pid: number): Promise<string | undefined> {
  try {
    const [stat, bootId] = await Promise.all([
      readFile(`/proc/${pid}/stat`, 'utf8'),
      readFile('/proc/sys/kernel/random/boot_id', 'utf8'),
    ])
    // The name in brackets may contain brackets and spaces; the fields after it are plain.
    const [state, ...fields] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    const [threads, start] = [fields[16], fields[18]]
    // Dead, but not reaped by its parent yet. While it has other threads they still hold its sockets.
    if ((state === 'Z' || state === 'X') && Number(threads) <= 1) return undefined
    return `${start}@${bootId.trim()}`
  } catch {
    return undefined
  }
}

async function startInPs(pid: number): Promise<string | undefined> {
  try {
    const { stdout } = await promisify(execFile)('ps', ['-o', 'stat=,lstart=', '-p', String(pid)])
    const [state = 'Z', ...start] = stdout.trim().split(/\s+/)
    return state.startsWith('Z') ? undefined : start.join(' ')
  } catch {
    return undefined
  }
}
