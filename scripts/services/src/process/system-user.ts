import { chown } from 'node:fs/promises'
import { ServiceError } from '../service.ts'
import { run } from './executable.ts'
import type { SystemUser } from './service-process.ts'

/**
 * Returns the user to run a server as. A server never runs as root: some refuse to, and its port would give access to the
 * whole machine. If this process is root, the server runs as the user of its package, or else as `nobody`. Otherwise it
 * runs as the user of this process, and the result is undefined.
 */
export async function serverUser(title: string, user: string): Promise<SystemUser | undefined> {
  if (process.getuid?.() !== 0) return undefined
  for (const name of [user, 'nobody']) {
    try {
      const [uid, gid] = await Promise.all([run('id', ['-u', name]), run('id', ['-g', name])])
      return { uid: Number.parseInt(uid, 10), gid: Number.parseInt(gid, 10) }
    } catch {
      // No such user: tries the next one.
    }
  }
  throw new ServiceError(
    `${title} must not run as root, and this machine has no user "${user}" or "nobody" to run it as.`,
    'Add one, or run this as another user.',
  )
}

/** Gives a folder to the user of a server. */
export async function handOver(folder: string, user: SystemUser | undefined): Promise<void> {
  if (user !== undefined) await chown(folder, user.uid, user.gid)
}

/** Returns the option of a process or a run: absent without a user. */
export function asUser(user: SystemUser | undefined): { readonly user?: SystemUser } {
  return user === undefined ? {} : { user }
}
