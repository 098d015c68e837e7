import { builtinModules } from 'node:module'
import { importsOf, isRelative, packageNameOf } from '../module-import.ts'
import { anySource, type Finding, filesOf, packageSource, type Rule } from '../tree.ts'
import { type Manifest, type Workspace, workspaceOf, workspacesOf } from '../workspace.ts'

/** What is imported is declared, where those who install the package will see it. */
export const declaredDependencyRule: Rule = {
  title: 'an imported package is declared in the package.json that ships with the import',
  why:
    'Workspaces hoist, so an undeclared import works here and fails in the project of whoever installs the package. ' +
    "Declare it under dependencies or peerDependencies for src, under devDependencies for tests, and write Node's " +
    'own modules as node:name.',
  find: (tree) => {
    const workspaces = workspacesOf(tree)
    return filesOf(tree, anySource).flatMap(([path, text]) => {
      const declared = declaredFor(workspaces, path)
      return importsOf(text).flatMap(({ specifier, line }): Finding[] => {
        if (specifier === undefined || isRelative(specifier)) return []
        if (!specifier.startsWith('node:') && builtinModules.includes(specifier))
          return [{ path, line, message: `imports ${specifier}: write node:${specifier}` }]
        const name = packageNameOf(specifier)
        if (name === undefined || declared.has(name)) return []
        return [{ path, line, message: `imports ${name}, which its package.json does not declare` }]
      })
    })
  },
}

function declaredFor(workspaces: readonly Workspace[], path: string): ReadonlySet<string> {
  const home = workspaceOf(workspaces, path)
  const shipped = shippedWith(home?.manifest ?? {})
  if (packageSource.test(path)) return new Set(shipped)
  // Tests, scripts and examples run inside the workspace, where its tools and packages are always there.
  const root = workspaces.find(({ folder }) => folder === '')?.manifest
  const ours = workspaces.map(({ manifest }) => manifest.name ?? '')
  const tools = [home?.manifest, root].flatMap((manifest) => Object.keys(manifest?.devDependencies ?? {}))
  return new Set([...shipped, ...ours, ...tools])
}

function shippedWith({ dependencies, peerDependencies, optionalDependencies }: Manifest): string[] {
  return Object.keys({ ...dependencies, ...peerDependencies, ...optionalDependencies })
}
