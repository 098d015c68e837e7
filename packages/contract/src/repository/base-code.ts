import { existsSync } from 'node:fs'
import { mkdtemp, realpath, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { folderInRepository, resolveCommit } from './git-base.ts'
import { runGit } from './run-git.ts'

/** The files of a revision in a folder of their own, until it is disposed. */
export interface BaseCode extends AsyncDisposable {
  /** The counterpart of the working folder. */
  readonly cwd: string
}

/**
 * Checks a revision out into a temporary worktree, with the installed packages of the working tree. Index, branch and files of
 * the repository stay as they are, and no hook runs.
 *
 * @throws StateError if git does not have the revision
 */
export async function checkOutBase(cwd: string, base: string): Promise<BaseCode> {
  const commit = await resolveCommit(cwd, base.slice('git:'.length))
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'waybill-base-')))
  const place = join(folder, 'base')
  const code: BaseCode = {
    cwd: join(place, await folderInRepository(cwd)),
    async [Symbol.asyncDispose]() {
      await rm(folder, { recursive: true, force: true })
      await runGit(cwd, ['worktree', 'prune'])
    },
  }
  try {
    const root = (await runGit(cwd, ['rev-parse', '--show-toplevel'])).toString('utf8').trim()
    const add = ['worktree', 'add', '--quiet', '--detach', place, commit]
    await runGit(root, ['-c', 'core.hooksPath=/dev/null', ...add])
    await linkPackages(root, place)
    await linkPackages(cwd, code.cwd)
    return code
  } catch (error) {
    await code[Symbol.asyncDispose]()
    throw error
  }
}

/** Packages are those that are installed now: a base has none. */
async function linkPackages(from: string, to: string): Promise<void> {
  const [installed, link] = [join(from, 'node_modules'), join(to, 'node_modules')]
  if (existsSync(installed) && existsSync(to) && !existsSync(link)) await symlink(installed, link, 'junction')
}
