import { run } from './executable.ts'
import type { SystemUser } from './service-process.ts'

/** Returns true when this process is root, which several servers refuse. */
export function isRoot(): boolean {
  return process.getuid?.() === 0
}

/** Returns the first of these users that this machine has. */
export async function findUser(...names: string[]): Promise<SystemUser | undefined> {
  for (const name of names) {
    try {
      const [uid, gid] = await Promise.all([run('id', ['-u', name]), run('id', ['-g', name])])
      return { uid: Number.parseInt(uid, 10), gid: Number.parseInt(gid, 10) }
    } catch {
      // No such user: tries the next one.
    }
  }
  return undefined
}
