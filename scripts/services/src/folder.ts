import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { homedir, tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'

/**
 * Returns the folder kept between runs, for all clones of this user: downloads, logs, and records of started services.
 */
export function cacheFolder(environment: NodeJS.ProcessEnv = process.env): string {
  const base = environment['XDG_CACHE_HOME']
  return join(base === undefined || base === '' ? join(homedir(), '.cache') : base, 'waybill')
}

const runFolderPrefix = 'waybill-run-'

/**
 * Creates a folder for one service's data. It is in the temporary folder and not in the cache, because a home folder is
 * closed to the user that a server runs as under root, and because socket paths end at about 100 characters.
 */
export async function createRunFolder(service: string): Promise<string> {
  await mkdir(tmpdir(), { recursive: true })
  return mkdtemp(join(tmpdir(), `${runFolderPrefix}${service}-`))
}

/** Deletes a folder made by {@link createRunFolder}, and no other: the path comes from a file anyone can edit. */
export async function removeRunFolder(folder: string): Promise<void> {
  if (dirname(folder) !== tmpdir() || !basename(folder).startsWith(runFolderPrefix)) return
  // A killed process may still be creating files.
  await rm(folder, { recursive: true, force: true, maxRetries: 5 })
}
