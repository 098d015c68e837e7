import { importsOf, isRelative, packageNameOf, resolveRelative } from '../module-import.ts'
import { anySource, type Finding, filesOf, packageSource, type Rule } from '../tree.ts'
import { type Workspace, workspaceOf, workspacesOf } from '../workspace.ts'

/** Checks that a package is imported through its exports map, never through a path. */
export const packageBoundaryRule: Rule = {
  title: 'a package is entered by its name and its exports map, never by a path into it',
  why:
    'A path into another package skips its public surface: it works here and breaks for those who install it. Import ' +
    'the package by name, export what is missing from its entry, and inside a package use relative paths that stay ' +
    'in its src.',
  find: (tree) => {
    const workspaces = workspacesOf(tree)
    return filesOf(tree, anySource).flatMap(([path, text]) => {
      const home = workspaceOf(workspaces, path)
      return importsOf(text).flatMap(({ specifier, line }): Finding[] => {
        if (specifier === undefined) return []
        const message = isRelative(specifier)
          ? objectionToPath(workspaces, home, path, resolveRelative(path, specifier))
          : objectionToName(workspaces, home, path, specifier)
        return message === undefined ? [] : [{ path, line, message }]
      })
    })
  },
}

function objectionToPath(
  workspaces: readonly Workspace[],
  home: Workspace | undefined,
  path: string,
  target: string,
): string | undefined {
  // Contracts with other languages belong to no package; tests check every implementation against them.
  if (target.startsWith('contracts/') && !packageSource.test(path)) return undefined
  const owner = workspaceOf(workspaces, target)
  if (owner !== home)
    return `reaches into ${owner?.manifest.name ?? 'another package'} by the path ${target}: import it by name`
  if (packageSource.test(path) && !packageSource.test(target))
    return `leaves src for ${target}: it would not be shipped`
  return undefined
}

function objectionToName(
  workspaces: readonly Workspace[],
  home: Workspace | undefined,
  path: string,
  specifier: string,
): string | undefined {
  const name = packageNameOf(specifier)
  const target = workspaces.find(({ manifest }) => manifest.name === name)
  if (name === undefined) return undefined
  if (target === undefined)
    return name.startsWith('@waybill/') ? `imports ${name}, and no package here has that name` : undefined
  if (target === home && packageSource.test(path)) return `imports its own package by name: use a relative path`
  const entry = `.${specifier.slice(name.length)}`
  if (Object.hasOwn(target.manifest.exports ?? {}, entry)) return undefined
  return `imports ${specifier}, which the exports map of ${name} does not offer`
}
