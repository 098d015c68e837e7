import { mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { PublicPackage } from '../../../scripts/lib/public-packages.ts'
import { createTemporaryFolder, type FreshWorkspace, repository } from './fresh-workspace.ts'
import { importedPackages } from './imported-packages.ts'
import { type Quickstart, quickstartOf } from './quickstart.ts'
import { run } from './run.ts'

/** A package as the registry would have it. */
export interface Tarball {
  readonly path: string
  /** The packed files. */
  readonly files: readonly string[]
}

/**
 * Packs the installed third-party dependencies, so that no test waits for a registry. Returns npm `overrides` that
 * replace the registry's versions by these tarballs.
 */
async function packThirdParties(
  packages: readonly PublicPackage[],
  destination: string,
): Promise<Readonly<Record<string, string>>> {
  const ours = new Set(packages.map(({ name }) => name))
  const needed = new Set<string>()
  const need = async (dependencies: Readonly<Record<string, string>> = {}): Promise<void> => {
    for (const name of Object.keys(dependencies)) {
      if (ours.has(name) || needed.has(name)) continue
      needed.add(name)
      const manifest = await readFile(join(repository, 'node_modules', name, 'package.json'), 'utf8')
      await need((JSON.parse(manifest) as Partial<Pick<PublicPackage, 'dependencies'>>).dependencies)
    }
  }
  for (const { dependencies } of packages) await need(dependencies)
  if (needed.size === 0) return {}
  await mkdir(destination)
  const folders = [...needed].map((name) => join(repository, 'node_modules', name))
  return Object.fromEntries([...(await pack(folders, destination))].map(([name, { path }]) => [name, `file:${path}`]))
}

async function pack(folders: readonly string[], destination: string): Promise<ReadonlyMap<string, Tarball>> {
  const args = ['pack', ...folders, '--json', '--ignore-scripts', '--pack-destination', destination]
  const packed = JSON.parse(await run('npm', args, destination)) as {
    name: string
    filename: string
    files: { path: string }[]
  }[]
  return new Map(
    packed.map(({ name, filename, files }) => [
      name,
      { path: join(destination, filename), files: files.map(({ path }) => path) },
    ]),
  )
}

/** An empty project with the packages freshly installed and their quickstarts pasted. */
export interface UserProject extends AsyncDisposable {
  readonly root: string
  readonly tarballs: ReadonlyMap<string, Tarball>
  /** By the name of the package; a package whose README begins with no program has none. */
  readonly quickstarts: ReadonlyMap<string, Quickstart>
}

/** Compiler options of such a project: Node's types, and strict checks that include libraries. */
const compilerOptions = {
  module: 'nodenext',
  moduleResolution: 'nodenext',
  target: 'es2023',
  lib: ['es2023'],
  types: ['node'],
  strict: true,
  noUncheckedIndexedAccess: true,
  verbatimModuleSyntax: true,
  skipLibCheck: false,
  noEmit: true,
}

/** Packs, installs without the network, and writes `quickstart-<package>.ts` for each package. */
export async function createUserProject(workspace: FreshWorkspace): Promise<UserProject> {
  const root = await createTemporaryFolder()
  const tarballs = await pack(
    workspace.packages.map(({ folder }) => join(workspace.root, folder)),
    root,
  )
  const overrides = await packThirdParties(workspace.packages, join(root, 'third-party'))
  await writeJson(join(root, 'package.json'), { private: true, type: 'module', overrides })
  const offline = ['install', '--offline', '--ignore-scripts', '--no-audit', '--no-fund', '--no-package-lock']
  await run('npm', [...offline, ...[...tarballs.values()].map(({ path }) => path)], root)

  const quickstarts = new Map<string, Quickstart>()
  for (const { name, shortName } of workspace.packages) {
    const readme = await readFile(join(root, 'node_modules', name, 'README.md'), 'utf8').catch(() => '')
    const quickstart = quickstartOf(readme)
    if (quickstart === undefined) continue
    quickstarts.set(name, quickstart)
    await writeFile(join(root, quickstartFile(shortName)), quickstart.code)
  }
  const needs = [...quickstarts.values()].flatMap((quickstart) => quickstart.needs)
  const peers = await Promise.all(workspace.packages.map(({ name }) => importedPeers(join(root, 'node_modules', name))))
  await linkFromRepository(new Set(['@types/node', ...needs, ...peers.flat()]), root)
  await writeFile(join(root, 'entry-points.ts'), importsOf(workspace.packages))
  await writeJson(join(root, 'tsconfig.json'), { compilerOptions, include: ['*.ts'] })
  return { root, tarballs, quickstarts, [Symbol.asyncDispose]: () => rm(root, { recursive: true, force: true }) }
}

/** Returns the path of a package's quickstart in a user's project. */
export function quickstartFile(shortName: string): string {
  return `quickstart-${shortName}.ts`
}

/** Returns the optional peers that an entry of the installed package imports: its users have them. */
async function importedPeers(folder: string): Promise<string[]> {
  const manifest = await readFile(join(folder, 'package.json'), 'utf8')
  const { peerDependencies = {} } = JSON.parse(manifest) as { peerDependencies?: Readonly<Record<string, string>> }
  const files = await readdir(join(folder, 'dist'), { recursive: true })
  const modules = files.filter((path) => /\.(?:js|d\.ts)$/.test(path))
  const code = await Promise.all(modules.map((path) => readFile(join(folder, 'dist', path), 'utf8')))
  return code.flatMap(importedPackages).filter((name) => name in peerDependencies && !name.startsWith('@waybill/'))
}

function importsOf(packages: readonly PublicPackage[]): string {
  const specifiers = packages.flatMap(({ entries }) => entries.map(({ specifier }) => specifier))
  return specifiers.map((specifier, index) => `export * as entry${index} from '${specifier}'\n`).join('')
}

async function linkFromRepository(names: ReadonlySet<string>, root: string): Promise<void> {
  for (const name of names) {
    const place = join(root, 'node_modules', name)
    await mkdir(dirname(place), { recursive: true })
    await symlink(join(repository, 'node_modules', name), place)
  }
}

function writeJson(path: string, content: object): Promise<void> {
  return writeFile(path, JSON.stringify(content, undefined, 2))
}
