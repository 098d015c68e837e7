/**
 * `npm run build`, after the compiler has emitted declarations: bundles the JavaScript of each public package into
 * `dist`, one file for each entry of `exports` and each command of `bin`, and shared files for modules that several of them use.
 *
 * Loading hundreds of small files took most of the time of an import. Dependencies stay imports, including those on
 * sibling packages: two packages then load the same module, and `instanceof` holds. Names are kept and nothing is
 * minified, so that stack traces and profiles read like the sources, to which the source maps lead.
 *
 * Browsers load the console, so its files are minified, and their names have the hash of their content.
 */
import { readFileSync } from 'node:fs'
import { readdir, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { rolldown } from 'rolldown'
import { buildConsole } from './lib/console-build.ts'
import { publicPackages } from './lib/public-packages.ts'

interface Manifest {
  readonly bin?: Readonly<Record<string, string>>
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
  readonly exports: Readonly<Record<string, string | { readonly default: string }>>
}

const repository = join(import.meta.dirname, '..')
/** Another root holds a copy of the packages. */
const root = resolve(process.argv[2] ?? repository)
for (const { folder } of publicPackages(repository)) await bundle(join(root, folder))
await buildConsole(join(root, 'packages', 'admin'))

async function bundle(folder: string): Promise<void> {
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest
  const dist = join(folder, 'dist')
  await removeJavaScript(dist)
  await using build = await rolldown({
    cwd: folder,
    input: entriesOf(manifest, folder),
    platform: 'node',
    external: [/^node:/, ...dependenciesOf(manifest).map((name) => new RegExp(`^${name}(?:/|$)`))],
    transform: { target: 'node22' },
  })
  await build.write({
    dir: dist,
    format: 'esm',
    sourcemap: true,
    keepNames: true,
    entryFileNames: '[name].js',
    chunkFileNames: 'shared/[name].js',
  })
}

/** Returns the sources of entries and commands by output file name: `wire/index` for `./dist/wire/index.js`. */
function entriesOf({ bin = {}, exports }: Manifest, folder: string): Record<string, string> {
  const entries = Object.values(exports).filter((target) => typeof target !== 'string')
  const targets = [...entries.map((target) => target.default), ...Object.values(bin)]
  return Object.fromEntries(
    targets.map((target) => {
      const name = target.replace(/^\.\/dist\//, '').replace(/\.js$/, '')
      return [name, join(folder, 'src', `${name}.ts`)]
    }),
  )
}

function dependenciesOf(manifest: Manifest): string[] {
  return Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies, ...manifest.peerDependencies })
}

/**
 * Removes JavaScript of earlier builds, which may have had other files. Declarations stay: the compiler updates them.
 */
async function removeJavaScript(dist: string): Promise<void> {
  const files = await readdir(dist, { recursive: true })
  await Promise.all(files.filter((path) => /\.js(?:\.map)?$/.test(path)).map((path) => rm(join(dist, path))))
}
