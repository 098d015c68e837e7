import { execFile } from 'node:child_process'
import { access, constants } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import type { SystemUser } from './service-process.ts'

/** Folders that hold servers but are often not in the PATH of a plain user. */
const serverFolders = ['/usr/sbin', '/usr/local/sbin', '/usr/local/bin', '/opt/homebrew/bin', '/opt/local/sbin']

/** Returns the first of these programs that this machine has, in the PATH or in the usual folders of servers. */
export async function findExecutable(...names: string[]): Promise<string | undefined> {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== ''), ...serverFolders]
  for (const name of names) {
    for (const folder of folders) {
      const path = join(folder, name)
      if (await canExecute(path)) return path
    }
  }
  return undefined
}

/** Returns true when the file exists and may be executed. */
export async function canExecute(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** Options of a run. */
export interface RunOptions {
  readonly folder?: string
  readonly user?: SystemUser
  readonly environment?: Readonly<Record<string, string>>
}

/** Runs a program to completion and returns its output. Throws with the output when it fails. */
export async function run(command: string, args: readonly string[], options: RunOptions = {}): Promise<string> {
  const { stdout, stderr } = await promisify(execFile)(command, args, {
    encoding: 'utf8',
    maxBuffer: 64 * 2 ** 20,
    ...(options.folder === undefined ? {} : { cwd: options.folder }),
    ...(options.environment === undefined ? {} : { env: options.environment }),
    ...options.user,
  })
  return stdout + stderr
}

/**
 * Returns the environment of a service: only the variables to find programs, so that a developer's PGDATA, MYSQL_HOME
 * or JAVA_TOOL_OPTIONS cannot redirect it.
 */
export function plainEnvironment(): Record<string, string> {
  const path = process.env['PATH']
  return { ...(path === undefined ? {} : { PATH: path }), LC_ALL: 'C' }
}
