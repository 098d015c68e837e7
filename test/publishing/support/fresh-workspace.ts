import { cp, mkdir, mkdtemp, readdir, realpath, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type PublicPackage, publicPackages } from '../../../scripts/lib/public-packages.ts'
import { run } from './run.ts'

/** The root of the repository. */
export const repository: string = join(import.meta.dirname, '..', '..', '..')

/** The repository's packages, copied without earlier build output and built anew, as a release does. */
export interface FreshWorkspace extends AsyncDisposable {
  readonly root: string
  readonly packages: readonly PublicPackage[]
}

/**
 * Builds outside the repository: a leftover in `dist` cannot pass for a build, and concurrent tests, editors and builds
 * do not conflict.
 */
export async function createFreshWorkspace(): Promise<FreshWorkspace> {
  const root = await createTemporaryFolder()
  const packages = publicPackages(repository)
  for (const file of ['package.json', 'tsconfig.json', 'tsconfig.base.json'])
    await cp(join(repository, file), join(root, file))
  for (const { folder } of packages) await copyPackage(folder, root)
  await linkDependencies(packages, root)
  await run(join(repository, 'node_modules', '.bin', 'tsc'), ['-b'], root)
  await run(process.execPath, [join(repository, 'scripts', 'bundle.ts'), root], root)
  return { root, packages, [Symbol.asyncDispose]: () => rm(root, { recursive: true, force: true }) }
}

/** Creates a temporary folder and returns its real path, so that resolved paths can be compared with it. */
export async function createTemporaryFolder(): Promise<string> {
  return realpath(await mkdtemp(join(tmpdir(), 'waybill-publishing-')))
}

function copyPackage(folder: string, root: string): Promise<void> {
  const from = join(repository, folder)
  const leftBehind = ['dist', 'test', 'node_modules'].map((name) => join(from, name))
  return cp(from, join(root, folder), { recursive: true, filter: (path) => !leftBehind.includes(path) })
}

async function linkDependencies(packages: readonly PublicPackage[], root: string): Promise<void> {
  const modules = join(root, 'node_modules')
  await mkdir(join(modules, '@waybill'), { recursive: true })
  for (const name of await readdir(join(repository, 'node_modules'))) {
    if (name !== '@waybill') await symlink(join(repository, 'node_modules', name), join(modules, name))
  }
  for (const { name, folder } of packages) await symlink(join(root, folder), join(modules, name))
}
