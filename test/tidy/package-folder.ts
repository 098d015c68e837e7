import { posix } from 'node:path'
import { cyclesOf } from './graph.ts'
import { importsOf, isRelative, resolveRelative } from './module-import.ts'
import { filesOf, packageSource, type Tree } from './tree.ts'

/** An import that leads from one folder of a package into another. */
export interface FolderImport {
  readonly path: string
  readonly line: number
  readonly isTypeOnly: boolean
  /** Folder below src of the importing file; empty for src itself. */
  readonly from: string
  readonly to: string
}

/** Returns `packages/core/src` for a file below it. */
export function sourceRootOf(path: string): string {
  return path.split('/').slice(0, 3).join('/')
}

/** Returns the src folder of every package, sorted. */
export function sourceRootsOf(tree: Tree): string[] {
  return [...new Set(filesOf(tree, packageSource).map(([path]) => sourceRootOf(path)))]
}

/** Returns the files of one package's src. */
export function sourceFilesOf(tree: Tree, root: string): (readonly [path: string, text: string])[] {
  return filesOf(tree, packageSource).filter(([path]) => sourceRootOf(path) === root)
}

/** Returns the folder of a file, relative to its package's src: a nested folder is a folder of its own. */
export function folderOf(path: string): string {
  return posix.relative(sourceRootOf(path), posix.dirname(path))
}

/** True for entries of a package, which list what its folders offer. */
export function isEntry(path: string): boolean {
  return /\/(?:index|internal)\.ts$/.test(path)
}

/** True for entries that belong to no folder. */
function isRootEntry(path: string): boolean {
  return isEntry(path) && folderOf(path) === ''
}

/** Returns every import of values or types between two folders of a package. Entries in src itself are left out. */
export function folderImportsOf(tree: Tree, root: string): FolderImport[] {
  return sourceFilesOf(tree, root).flatMap(([path, text]) => {
    if (isRootEntry(path)) return []
    const from = folderOf(path)
    return importsOf(text).flatMap(({ specifier, line, isTypeOnly }): FolderImport[] => {
      const target = specifier !== undefined && isRelative(specifier) ? resolveRelative(path, specifier) : ''
      if (!target.startsWith(`${root}/`) || isRootEntry(target)) return []
      const to = folderOf(target)
      return to === from ? [] : [{ path, line, isTypeOnly, from, to }]
    })
  })
}

/** Returns the sets of folders that import each other, directly or by way of others. */
export function folderCyclesOf(imports: readonly FolderImport[]): string[][] {
  const graph = new Map<string, Set<string>>()
  for (const { from, to } of imports) graph.set(from, (graph.get(from) ?? new Set()).add(to))
  return cyclesOf(graph)
}

/** Counts the files of each folder of a package, entries included, in the order of their paths. */
export function filesPerFolder(tree: Tree, root: string): Map<string, number> {
  const counts = new Map<string, number>()
  for (const [path] of sourceFilesOf(tree, root)) counts.set(folderOf(path), (counts.get(folderOf(path)) ?? 0) + 1)
  return counts
}

/** Base names that several folders may use, and why. */
const repeatableNames: ReadonlyMap<string, string> = new Map([
  ['index.ts', 'an entry of the package: the exports map names it by its folder'],
])

/** Returns the base names that more than one file of a package has, each with these files. */
export function sharedNamesOf(tree: Tree, root: string): Map<string, string[]> {
  const byName = Map.groupBy(
    sourceFilesOf(tree, root).map(([path]) => path),
    (path) => posix.basename(path),
  )
  return new Map([...byName].filter(([name, paths]) => paths.length > 1 && !repeatableNames.has(name)))
}
