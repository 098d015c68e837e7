import { importsOf, packageNameOf } from '../module-import.ts'
import { type Finding, filesOf, type Rule } from '../tree.ts'
import { workspacesOf } from '../workspace.ts'

const exampleSource = /^examples\/[^/]+\/src\/.*\.ts$/

/** Checks that examples use what users can install. */
export const exampleImportRule: Rule = {
  title: 'examples import published entry points only',
  why:
    'Users copy examples. An `/internal` entry or a private package is not theirs to import: export what the example ' +
    'needs from a published entry, or write the example without it.',
  find: (tree) => {
    const isPrivate = new Map(workspacesOf(tree).map(({ manifest }) => [manifest.name, manifest.private === true]))
    return filesOf(tree, exampleSource).flatMap(([path, text]) =>
      importsOf(text).flatMap(({ specifier = '', line }): Finding[] => {
        if (!specifier.startsWith('@waybill/')) return []
        if (specifier.endsWith('/internal'))
          return [{ path, line, message: `imports ${specifier}, which is not published` }]
        const name = packageNameOf(specifier)
        return isPrivate.get(name) === true ? [{ path, line, message: `imports ${specifier}, a private package` }] : []
      }),
    )
  },
}
