import { existsSync } from 'node:fs'
import { mkdtemp, realpath, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
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
    await linkAllPackages(await realpath(cwd), await realpath(root), place)
    return code
  } catch (error) {
    await code[Symbol.asyncDispose]()
    throw error
  }
}

/** Links the packages of all folders in which Node looks for them: those of the repository, and the nearest one around it. */
async function linkAllPackages(cwd: string, root: string, place: string): Promise<void> {
  for (let folder = cwd; ; folder = dirname(folder)) {
    const inside = relative(root, folder)
    const isInside = !inside.startsWith('..')
    await linkPackages(folder, isInside ? join(place, inside) : dirname(place))
    if (folder === dirname(folder)) return
  }
}

/** Packages are those that are installed now: a base has none. */
async function linkPackages(from: string, to: string): Promise<void> {
  const [installed, link] = [join(from, 'node_modules'), join(to, 'node_modules')]
  if (existsSync(installed) && existsSync(to) && !existsSync(link)) await symlink(installed, link, 'junction')
}
