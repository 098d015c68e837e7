import { mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { parse } from 'yaml'
import { repository } from './fresh-workspace.ts'
import { run } from './run.ts'
import type { UserProject } from './user-project.ts'

/** A git repository inside the project of a user, with the shipped workflow. */
export interface ContractRepository {
  /** Writes files by their paths; undefined deletes one. */
  write(files: Readonly<Record<string, string | undefined>>): Promise<void>
  commit(summary: string): Promise<void>
  git(...args: readonly string[]): Promise<string>
  /** Runs `npx waybill-contract`. Rejects unless it exits with 0. */
  npx(...args: readonly string[]): Promise<string>
  /** Runs the step of the workflow that decides whether contracts changed, and returns what it sets. */
  decide(): Promise<string>
  /** Runs the step of the workflow that checks. Rejects unless it exits with 0. */
  check(): Promise<string>
}

interface Workflow {
  readonly jobs: { readonly contracts: { readonly steps: readonly { readonly id?: string; readonly run?: string }[] } }
}

/** Creates a repository that finds the installed packages of a project. */
export async function createContractRepository(project: UserProject, name: string): Promise<ContractRepository> {
  const root = join(project.root, name)
  await mkdir(root)
  await symlink(join(repository, 'node_modules', 'zod'), join(project.root, 'node_modules', 'zod')).catch(() => {})
  const template = join(project.root, 'node_modules', '@waybill', 'contract', 'template', 'contracts.yml')
  const { steps } = (parse(await readFile(template, 'utf8')) as Workflow).jobs.contracts
  const output = join(root, '.git', 'github-output')
  const runStep = (script: string | undefined): Promise<string> => {
    if (script === undefined) throw new RangeError('the workflow has no such step')
    return run('bash', ['-e', '-c', script], root, { environment: { BASE: 'main', GITHUB_OUTPUT: output } })
  }
  const git = (...args: readonly string[]): Promise<string> =>
    run('git', ['-c', 'user.name=A', '-c', 'user.email=a@example.org', ...args], root)
  const created: ContractRepository = {
    git,
    async write(files) {
      for (const [path, text] of Object.entries(files)) {
        const place = join(root, path)
        await mkdir(dirname(place), { recursive: true })
        await (text === undefined ? rm(place) : writeFile(place, text))
      }
    },
    async commit(summary) {
      await git('add', '--all')
      await git('commit', '--quiet', '--allow-empty', `--message=${summary}`)
    },
    npx: (...args) => run('npx', ['waybill-contract', ...args], root),
    async decide() {
      await writeFile(output, '')
      await runStep(steps.find(({ id }) => id === 'changed')?.run)
      return readFile(output, 'utf8')
    },
    check: () => runStep(steps.at(-1)?.run),
  }
  await git('init', '--quiet', '--initial-branch=main')
  return created
}
