import { basename, posix } from 'node:path'
import { exportedNamesOf } from '../../test/tidy/entry.ts'
import {
  filesPerFolder,
  folderCyclesOf,
  folderImportsOf,
  sharedNamesOf,
  sourceFilesOf,
} from '../../test/tidy/package-folder.ts'
import { type RoomPlan, roomObjectionsIn, roomPlans } from '../../test/tidy/rule/room-order.ts'
import type { Finding, Tree } from '../../test/tidy/tree.ts'
import { findNobodies, findOpenings, findRequirementIds } from '../../test/tidy/words.ts'
import { publicPackagesOf, sourceCondition, type Workspace } from '../../test/tidy/workspace.ts'

/** The order and the words of one package, in numbers. */
export interface PackageCount {
  readonly name: string
  readonly files: number
  /** Folders with at least one file, src itself included. */
  readonly folders: number
  /** Each cycle as the folders in it: values and types, and values alone. */
  readonly folderCycles: readonly (readonly string[])[]
  readonly folderCyclesOfValues: readonly (readonly string[])[]
  /** Imports against the order of the package's folders; undefined for a package without an order. */
  readonly upwardImports: number | undefined
  readonly upwardImportsOfValues: number | undefined
  /** Files that the order does not place. */
  readonly filesInNoRoom: number | undefined
  readonly filesPerFolder: Readonly<Record<string, number>>
  readonly filesInRoot: number
  readonly sharedNames: Readonly<Record<string, readonly string[]>>
  readonly largestFile: { readonly path: string; readonly lines: number }
  /** Exported names of each entry: `.` is the root. */
  readonly exports: Readonly<Record<string, number>>
  /** Comments that open with What, Who or Whoever. */
  readonly openings: number
  /** Lines that say somebody, nobody or whoever. */
  readonly nobodies: number
  /** Ids of requirements and decisions. */
  readonly ids: number
}

/** Counts every published package of a repository. */
export function countPackages(tree: Tree, plans: readonly RoomPlan[] = roomPlans): PackageCount[] {
  return publicPackagesOf(tree).map((workspace) => countPackage(tree, workspace, plans))
}

/** Returns the rules that a package breaks and that have no exceptions. */
export function brokenRulesOf(count: PackageCount): string[] {
  const broken = {
    'folder cycles': count.folderCycles.length,
    'upward imports': count.upwardImports ?? 0,
    'files in no room': count.filesInNoRoom ?? 0,
    'shared names': Object.keys(count.sharedNames).length,
  }
  return Object.entries(broken).flatMap(([rule, found]) => (found === 0 ? [] : [`${count.name}: ${found} ${rule}`]))
}

function countPackage(tree: Tree, workspace: Workspace, plans: readonly RoomPlan[]): PackageCount {
  const root = posix.join(workspace.folder, 'src')
  const files = sourceFilesOf(tree, root)
  const imports = folderImportsOf(tree, root)
  const perFolder = filesPerFolder(tree, root)
  const plan = plans.find(({ within }) => within === root)
  const objections = plan === undefined ? undefined : roomObjectionsIn(tree, plan)
  const against = objections?.filter(({ kind }) => kind !== 'NO_ROOM')
  const lengths = files.map(([path, text]) => ({ path, lines: text.replace(/\n$/, '').split('\n').length }))
  const found = (find: (path: string, text: string) => readonly Finding[]): number =>
    files.reduce((sum, [path, text]) => sum + find(path, text).length, 0)
  return {
    name: workspace.manifest.name ?? basename(workspace.folder),
    files: files.length,
    folders: perFolder.size,
    folderCycles: folderCyclesOf(imports),
    folderCyclesOfValues: folderCyclesOf(imports.filter(({ isTypeOnly }) => !isTypeOnly)),
    upwardImports: against?.length,
    upwardImportsOfValues: against?.filter(({ isTypeOnly }) => !isTypeOnly).length,
    filesInNoRoom: objections?.filter(({ kind }) => kind === 'NO_ROOM').length,
    filesPerFolder: Object.fromEntries([...perFolder].map(([folder, count]) => [folder === '' ? '.' : folder, count])),
    filesInRoot: perFolder.get('') ?? 0,
    sharedNames: Object.fromEntries(sharedNamesOf(tree, root)),
    largestFile: lengths.toSorted((one, other) => other.lines - one.lines)[0] ?? { path: root, lines: 0 },
    exports: exportsOf(tree, workspace),
    openings: found(findOpenings),
    nobodies: found(findNobodies),
    ids: found(findRequirementIds),
  }
}

function exportsOf(tree: Tree, { folder, manifest }: Workspace): Record<string, number> {
  const entries = Object.entries(manifest.exports ?? {}).flatMap(([entry, target]) =>
    typeof target === 'string' ? [] : [[entry, posix.join(folder, target[sourceCondition] ?? '')] as const],
  )
  return Object.fromEntries(entries.map(([entry, path]) => [entry, exportedNamesOf(tree.get(path) ?? '').length]))
}
