import { run } from './executable.ts'
import type { SystemUser } from './service-process.ts'

/** True when this process may do everything, which several servers refuse to run with. */
export function isRoot(): boolean {
  return process.getuid?.() === 0
}

/** The first of these users that this machine has. */
export async function findUser(...names: string[]): Promise<SystemUser | undefined> {
  for (const name of names) {
    try {
      const [uid, gid] = await Promise.all([run('id', ['-u', name]), run('id', ['-g', name])])
      return { uid: Number.parseInt(uid, 10), gid: Number.parseInt(gid, 10) }
    } catch {
      // No such user: the next one.
    }
  }
  return undefined
}
