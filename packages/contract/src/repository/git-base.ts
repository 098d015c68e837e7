import { StateError } from '@waybill/core'
import { runGit } from './run-git.ts'

/** Files of a commit, by their paths from the working folder. */
export type GitFiles = ReadonlyMap<string, string>

/** Resolves a revision. @throws StateError if git does not have it */
export async function resolveCommit(cwd: string, revision: string): Promise<string> {
  const name = `${revision}^{commit}`
  try {
    const found = await runGit(cwd, ['rev-parse', '--verify', '--quiet', '--end-of-options', name])
    return found.toString('utf8').trim()
  } catch (cause) {
    throw new StateError(`git does not have the revision ${revision}.`, {
      cause,
      hint: await fetchHint(cwd, revision),
    })
  }
}

/** Returns how to get a revision that is missing. A shallow clone has one commit of one branch. */
async function fetchHint(cwd: string, revision: string): Promise<string> {
  if (await isShallow(cwd))
    return `This is a shallow clone. In GitHub Actions, check out with fetch-depth: 0; elsewhere, run \`git fetch --unshallow\`.`
  const branch = /^origin\/(.+)$/.exec(revision)?.[1]
  if (branch === undefined)
    return 'Name a branch, tag or commit that this clone has; `git fetch` gets those of a remote.'
  return `Fetch it first: \`git fetch origin ${branch}:refs/remotes/origin/${branch}\`.`
}

/** Tells whether a clone has only a part of the history. */
export async function isShallow(cwd: string): Promise<boolean> {
  try {
    return (await runGit(cwd, ['rev-parse', '--is-shallow-repository'])).toString('utf8').trim() === 'true'
  } catch {
    return false // Without a repository nothing is shallow; what needs one says so itself.
  }
}

/** Reads the JSON files in a folder of a commit; none if it has no such folder. */
export async function readGitFolder(cwd: string, commit: string, folder: string): Promise<GitFiles> {
  const listed = await runGit(cwd, ['ls-tree', '-r', '-z', '--name-only', commit, '--', `${folder}/`])
  const paths = listed
    .toString('utf8')
    .split('\0')
    // A line end in a name would end a request to cat-file; a contract file has none.
    .filter((path) => path.endsWith('.json') && !path.includes('\n'))
  if (paths.length === 0) return new Map()
  const answers = await runGit(cwd, ['cat-file', '--batch'], paths.map((path) => `${commit}:./${path}\n`).join(''))
  return new Map(splitBatch(answers).map((text, index) => [paths[index] ?? '', text]))
}

/** Returns the commit at which HEAD left a revision; undefined in a shallow clone, or if the two are not related. */
export async function mergeBase(cwd: string, commit: string): Promise<string | undefined> {
  try {
    return (await runGit(cwd, ['merge-base', commit, 'HEAD'])).toString('utf8').trim()
  } catch {
    return undefined // Nothing is known then, which the caller takes into account.
  }
}

/** Returns the path of a folder from the root of its repository; empty without a repository. */
export async function folderInRepository(cwd: string): Promise<string> {
  try {
    return (await runGit(cwd, ['rev-parse', '--show-prefix'])).toString('utf8').replace(/\n$/, '')
  } catch {
    return '' // Without git, paths are those from the working folder.
  }
}

/** An answer is `{id} blob {size}`, a line end, the content and a line end. */
function splitBatch(answers: Buffer): string[] {
  const texts: string[] = []
  for (let at = 0; at < answers.length; ) {
    const end = answers.indexOf('\n', at)
    const header = answers.toString('utf8', at, end)
    const size = Number(/ blob (\d+)$/.exec(header)?.[1])
    if (!Number.isInteger(size)) throw new StateError(`git cat-file answered ${JSON.stringify(header)}.`)
    texts.push(answers.toString('utf8', end + 1, end + 1 + size))
    at = end + 1 + size + 1
  }
  return texts
}
