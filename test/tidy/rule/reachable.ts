import { posix } from 'node:path'
import { importedFilesOf, isRelative, resolveRelative } from '../module-import.ts'
import { sourceOf } from '../source.ts'
import { filesOf, packageSource, type Rule, type Tree } from '../tree.ts'
import { commandsOf, entriesOf, publicPackagesOf } from '../workspace.ts'

/** Nothing ships that nobody can reach. */
export const reachableRule: Rule = {
  title: 'every source file of a package is reached from one of its entries',
  why:
    'A file that no entry leads to is code nobody can run, kept alive by its own tests. Export what it is for, or ' +
    'delete it.',
  find: (tree) => {
    const reached = reachedFrom(
      tree,
      publicPackagesOf(tree).flatMap((workspace) => [...entriesOf(workspace), ...commandsOf(workspace)]),
    )
    return filesOf(tree, packageSource)
      .filter(([path]) => !reached.has(path))
      .map(([path]) => ({ path, line: 1, message: 'is reached from no entry and no command of its package' }))
  },
}

function reachedFrom(tree: Tree, entries: readonly string[]): ReadonlySet<string> {
  const reached = new Set(entries)
  for (const path of reached) {
    for (const next of [...importedFilesOf(tree, path), ...namedFilesOf(tree, path)]) reached.add(next)
  }
  return reached
}

/** Files named in a string, as `new URL('./child.ts', import.meta.url)` does for a child process. */
function namedFilesOf(tree: Tree, path: string): string[] {
  return [...sourceOf(tree.get(path) ?? '').literals.values()]
    .filter(({ value }) => isRelative(value) && posix.extname(value) === '.ts')
    .map(({ value }) => resolveRelative(path, value))
}
