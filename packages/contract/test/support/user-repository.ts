import { execFileSync } from 'node:child_process'
import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { runProgram } from '@waybill/test-support'

/** How a program ended, and everything it printed. */
export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** A git repository of a user, outside this one. */
export interface UserRepository extends AsyncDisposable {
  readonly root: string
  /** Writes files by their paths; undefined deletes one. */
  write(files: Readonly<Record<string, string | undefined>>): Promise<void>
  git(...args: readonly string[]): string
  /** Commits everything. */
  commit(summary: string): void
  /** Runs `waybill-contract` as its own process, at the root. */
  run(...args: readonly string[]): Promise<Ended>
  /** Runs it in a folder of the repository. */
  runIn(folder: string, ...args: readonly string[]): Promise<Ended>
}

const workspace = join(import.meta.dirname, '..', '..', '..', '..')
const command = join(workspace, 'packages', 'contract', 'src', 'command', 'main.ts')

/** Creates an empty repository that finds the packages of this one. */
export async function createUserRepository(): Promise<UserRepository> {
  const root = await realpath(await mkdtemp(join(tmpdir(), 'waybill-contract-')))
  const git = (...args: readonly string[]): string =>
    execFileSync('git', ['-c', 'user.name=A', '-c', 'user.email=a@example.org', ...args], {
      cwd: root,
      encoding: 'utf8',
    })
  await symlink(join(workspace, 'node_modules'), join(root, 'node_modules'))
  git('init', '--quiet', '--initial-branch=main')
  const repository: UserRepository = {
    root,
    git,
    async write(files) {
      for (const [path, text] of Object.entries(files)) {
        const place = join(root, path)
        await mkdir(dirname(place), { recursive: true })
        await (text === undefined ? rm(place) : writeFile(place, text))
      }
    },
    commit(summary) {
      git('add', '--all')
      git('commit', '--quiet', '--allow-empty', `--message=${summary}`)
    },
    run: (...args) => repository.runIn('.', ...args),
    async runIn(folder, ...args) {
      const options = ['--disable-warning=ExperimentalWarning', '--conditions=@waybill/source']
      const ended = await runProgram(process.execPath, [...options, command, ...args], { cwd: join(root, folder) })
      if (ended === undefined) throw new RangeError('Node is gone')
      return ended
    },
    [Symbol.asyncDispose]: () => rm(root, { recursive: true, force: true }),
  }
  await repository.write({ '.gitignore': 'node_modules\n' })
  repository.commit('begin')
  return repository
}
