import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { ProcessIdentity } from './process/process-identity.ts'
import { ServiceError } from './service.ts'

/** A started process, and how it stops gracefully. */
export interface StartedProcess extends ProcessIdentity {
  readonly stopSignal: NodeJS.Signals
  readonly logFile: string
}

/** A started service: what another process needs to use it and to end it, even days later. */
export interface StartedService {
  readonly url: string
  readonly version: string
  readonly folder: string
  readonly processes: readonly StartedProcess[]
}

const format = 1

/** The record of one started service. It is a file, because another process may end the service. */
export class StateFile {
  readonly path: string

  constructor(path: string) {
    this.path = path
  }

  /** Reads the started service, dead or alive by now; undefined when there is none. */
  async read(): Promise<StartedService | undefined> {
    try {
      return parse(await readFile(this.path, 'utf8'), this.path)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
      throw error
    }
  }

  /** Writes to a temporary name first: a reader never sees half of it, and a crash leaves the old one. */
  async write(started: StartedService): Promise<void> {
    await mkdir(dirname(this.path), { recursive: true })
    const draft = `${this.path}.${process.pid}`
    await writeFile(draft, `${JSON.stringify({ format, ...started }, undefined, 2)}\n`)
    await rename(draft, this.path)
  }

  async remove(): Promise<void> {
    await rm(this.path, { force: true })
  }
}

function parse(text: string, path: string): StartedService {
  const content = parseJson(text)
  if (content['format'] === format && isStarted(content)) return content
  throw new ServiceError(
    `The record of a started service, ${path}, cannot be read.`,
    'The file was not changed. Stop the service by hand if it still runs, and delete the file.',
  )
}

function parseJson(text: string): Record<string, unknown> {
  try {
    return (JSON.parse(text) ?? {}) as Record<string, unknown>
  } catch {
    return {}
  }
}

function isStarted(content: unknown): content is StartedService {
  const { url, version, folder, processes } = content as Record<string, unknown>
  return (
    [url, version, folder].every((part) => typeof part === 'string') &&
    Array.isArray(processes) &&
    processes.every((entry: unknown) => {
      const { pid, startedAt, stopSignal, logFile } = (entry ?? {}) as Record<string, unknown>
      return Number.isInteger(pid) && [startedAt, stopSignal, logFile].every((part) => typeof part === 'string')
    })
  )
}
