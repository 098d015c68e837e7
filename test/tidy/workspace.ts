import { posix } from 'node:path'
import type { Tree } from './tree.ts'

/** The fields of a package.json that rules read. */
export interface Manifest {
  readonly name?: string
  readonly version?: string
  readonly private?: boolean
  readonly type?: string
  readonly license?: string
  readonly sideEffects?: boolean
  readonly files?: readonly string[]
  readonly engines?: Readonly<Record<string, string>>
  readonly exports?: Readonly<Record<string, string | Readonly<Record<string, string>>>>
  readonly bin?: string | Readonly<Record<string, string>>
  readonly workspaces?: readonly string[]
  readonly dependencies?: Readonly<Record<string, string>>
  readonly devDependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

/** A folder with a package.json. */
export interface Workspace {
  /** Path from the root, empty for the root itself. */
  readonly folder: string
  readonly path: string
  readonly manifest: Manifest
}

/** Returns all workspaces of the tree, the root included, by folder. */
export function workspacesOf(tree: Tree): Workspace[] {
  return [...tree]
    .filter(([path]) => posix.basename(path) === 'package.json')
    .map(([path, text]) => ({
      folder: posix.dirname(path).replace(/^\.$/, ''),
      path,
      manifest: JSON.parse(text) as Manifest,
    }))
    .toSorted((one, other) => (one.folder < other.folder ? -1 : 1))
}

/** Returns the packages that are published. */
export function publicPackagesOf(tree: Tree): Workspace[] {
  return workspacesOf(tree).filter(
    ({ folder, manifest }) => /^packages\/[^/]+$/.test(folder) && manifest.private !== true,
  )
}

/** Returns the workspace of a file: the nearest one above it. */
export function workspaceOf(workspaces: readonly Workspace[], path: string): Workspace | undefined {
  return workspaces.findLast(({ folder }) => folder === '' || path.startsWith(`${folder}/`))
}

/** The condition that leads to a package's sources; only this repository sets it. */
export const sourceCondition = '@waybill/source'

/** Returns the source files that a package exports: the targets of its exports map. */
export function entriesOf({ folder, manifest }: Workspace): string[] {
  return Object.values(manifest.exports ?? {})
    .map((target) => (typeof target === 'string' ? target : (target[sourceCondition] ?? '')))
    .filter((target) => target.endsWith('.ts'))
    .map((target) => posix.join(folder, target))
}

/** Returns the source files of a package's commands: `dist/main.js` is built from `src/main.ts`. */
export function commandsOf({ folder, manifest }: Workspace): string[] {
  const targets = typeof manifest.bin === 'string' ? [manifest.bin] : Object.values(manifest.bin ?? {})
  return targets.map((target) => posix.join(folder, target.replace(/dist\/(.*)\.js$/, 'src/$1.ts')))
}
