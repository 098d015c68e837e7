import { posix } from 'node:path'
import { type Finding, findMissing, type Rule, type Tree } from '../tree.ts'
import { type Manifest, publicPackagesOf, sourceCondition, type Workspace, workspacesOf } from '../workspace.ts'

/** Checks that published packages have uniform manifests. */
export const manifestRule: Rule = {
  title: 'every published package has the same manifest',
  why:
    'Users who install the packages meet every accidental difference. The source condition comes first ' +
    'because the first one that matches wins; types before default for the same reason; src is shipped because ' +
    'declaration maps point at it; all packages share one version, so that they are tested as they are installed.',
  find: (tree) => {
    const packages = publicPackagesOf(tree)
    return packages.flatMap((workspace) =>
      [
        ...objectionsTo(workspace.manifest),
        ...objectionsToExports(tree, workspace),
        ...objectionsToVersions(workspace, packages),
        ...objectionsToDependencies(tree, workspace),
        ...objectionsToPlace(tree, workspace),
      ].map((message): Finding => ({ path: workspace.path, line: 1, message })),
    )
  },
}

const required: Pick<Manifest, 'type' | 'license' | 'sideEffects' | 'engines'> = {
  type: 'module',
  license: 'Apache-2.0',
  sideEffects: false,
  engines: { node: '>=22.22.0' },
}

function objectionsTo(manifest: Manifest): string[] {
  // A negated pattern leaves out build output: for example, the compiler's incremental state.
  const shipped = (manifest.files ?? []).filter((pattern) => !pattern.startsWith('!'))
  const isUsual = ['dist,src', 'dist,src,template'].includes(shipped.join())
  const files = isUsual
    ? []
    : ['must have "files": ["dist", "src"], then "template" if it has one, and exclusions after them']
  const fields = Object.entries(required).flatMap(([key, value]) => {
    const wanted = JSON.stringify(value)
    return JSON.stringify(manifest[key as keyof Manifest]) === wanted ? [] : [`must have "${key}": ${wanted}`]
  })
  return [...files, ...fields]
}

function objectionsToExports(tree: Tree, { folder, manifest }: Workspace): string[] {
  const { './package.json': own, ...entries } = manifest.exports ?? {}
  const missing = own === './package.json' ? [] : ['must export "./package.json": tools read it']
  const wrong = Object.entries(entries).flatMap(([entry, target]) => {
    if (typeof target === 'string') return [`must export "${entry}" with conditions`]
    const conditions = Object.keys(target).join(', ')
    if (conditions !== `${sourceCondition}, types, default`)
      return [`must export "${entry}" with ${sourceCondition}, types, default in this order, not ${conditions}`]
    const source = target[sourceCondition] ?? ''
    const built = source.replace(/^\.\/src\/(.*)\.ts$/, './dist/$1')
    if (target['types'] !== `${built}.d.ts` || target['default'] !== `${built}.js`)
      return [`must export "${entry}" as what is built from ${source}: ${built}.d.ts, ${built}.js`]
    return tree.has(posix.join(folder, source)) ? [] : [`exports "${entry}" from ${source}, which does not exist`]
  })
  return [...missing, ...wrong]
}

function objectionsToVersions({ manifest }: Workspace, packages: readonly Workspace[]): string[] {
  const first = packages[0]?.manifest
  const versions = manifest.version === first?.version ? [] : [`must have the version of ${first?.name}: all share one`]
  const names = new Set(packages.map((workspace) => workspace.manifest.name))
  const ranges = Object.entries({ ...manifest.dependencies, ...manifest.peerDependencies })
    .filter(([name, range]) => names.has(name) && range !== manifest.version)
    .map(([name, range]) => `must depend on ${name} ${manifest.version}, not ${range}`)
  return [...versions, ...ranges]
}

function objectionsToDependencies(tree: Tree, { folder, manifest }: Workspace): string[] {
  const { dependencies, optionalDependencies, peerDependencies, peerDependenciesMeta } = manifest
  const installed = Object.keys({ ...dependencies, ...optionalDependencies })
  if (manifest.name === '@waybill/core') {
    const demanded = Object.keys(peerDependencies ?? {}).filter(
      (name) => peerDependenciesMeta?.[name]?.optional !== true,
    )
    return [...installed, ...demanded].map((name) => `must not depend on ${name}: core depends on nothing`)
  }
  const readme = tree.get(`${folder}/README.md`) ?? ''
  return installed
    .filter((name) => !name.startsWith('@waybill/') && !readme.includes(name))
    .map((name) => `depends on ${name}: ${folder}/README.md must say what for`)
}

function objectionsToPlace(tree: Tree, { folder }: Workspace): string[] {
  const root = workspacesOf(tree).find((workspace) => workspace.folder === '')
  if (root === undefined)
    return findMissing(tree, 'package.json').map(({ message }) => `the root package.json ${message}`)
  const isListed = (root.manifest.workspaces ?? []).some((pattern) => posix.matchesGlob(folder, pattern))
  return isListed ? [] : [`must be listed under workspaces in the root package.json`]
}
