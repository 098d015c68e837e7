import { posix } from 'node:path'
import { importsOf } from '../module-import.ts'
import { anySource, type Finding, filesOf, type Rule } from '../tree.ts'
import { entriesOf, workspacesOf } from '../workspace.ts'

/** Checks that re-exports are in package entries only, and written name by name. */
export const barrelRule: Rule = {
  title: 'only package entries re-export, and they do it name by name',
  why:
    'An inner barrel hides where a thing lives and makes import cycles; `export *` publishes every name added ' +
    'to a file. Import from the file that declares the name; list what is public in the entry that the exports map ' +
    'of package.json names.',
  find: (tree) => {
    const entries = new Set(workspacesOf(tree).flatMap(entriesOf))
    return filesOf(tree, anySource).flatMap(([path, text]) => {
      const findings = importsOf(text).flatMap(({ kind, specifier, line }): Finding[] => {
        if (kind === 'EXPORT_ALL')
          return [{ path, line, message: `exports everything of ${specifier}: list the names` }]
        if (kind !== 'EXPORT_NAMES' || entries.has(path)) return []
        return [{ path, line, message: `re-exports from ${specifier}, but is no entry of its package` }]
      })
      if (posix.basename(path) !== 'index.ts' || entries.has(path)) return findings
      return [...findings, { path, line: 1, message: 'is called index.ts, but is no entry of its package' }]
    })
  },
}
