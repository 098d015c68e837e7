import { readFileSync } from 'node:fs'
import { basename, join } from 'node:path'

/** A workspace package that goes to the registry. */
export interface PublicPackage {
  readonly name: string
  readonly version: string
  /** Path from the root of the repository: `packages/core`. */
  readonly folder: string
  /** The name of its API snapshot: `core`. */
  readonly shortName: string
  readonly dependencies: Readonly<Record<string, string>>
  readonly entries: readonly EntryPoint[]
}

/** A module that users import. */
export interface EntryPoint {
  /** The import specifier: `@waybill/core/option`. */
  readonly specifier: string
  /** The emitted declarations, from the package's folder: `dist/option/index.d.ts`. */
  readonly types: string
}

interface Manifest {
  readonly name: string
  readonly version: string
  readonly private?: boolean
  readonly workspaces?: readonly string[]
  readonly dependencies?: Readonly<Record<string, string>>
  readonly exports?: Readonly<Record<string, string | { readonly types: string }>>
}

/** Returns the public packages, each after its dependencies: the order in which they can be published. */
export function publicPackages(root: string): readonly PublicPackage[] {
  const found = (manifestOf(root).workspaces ?? [])
    .map((folder) => ({ folder, manifest: manifestOf(join(root, folder)) }))
    .filter(({ manifest }) => manifest.private !== true)
    .map(({ folder, manifest }) => describe(folder, manifest))
  return dependenciesFirst(found)
}

function manifestOf(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest
}

function describe(folder: string, { name, version, dependencies = {}, exports = {} }: Manifest): PublicPackage {
  const entries = Object.entries(exports).flatMap(([subpath, target]) =>
    typeof target === 'string' || subpath === './internal'
      ? []
      : [{ specifier: name + subpath.slice(1), types: target.types }],
  )
  return { name, version, folder, shortName: basename(folder), dependencies, entries }
}

/**
 * Sorts packages by dependency. npm refuses a cycle among workspaces long before this runs, so none is detected here.
 */
export function dependenciesFirst<P extends Pick<PublicPackage, 'name' | 'dependencies'>>(packages: readonly P[]): P[] {
  const byName = new Map(packages.map((one) => [one.name, one]))
  const ordered = new Set<P>()
  const add = (one: P): void => {
    for (const name of Object.keys(one.dependencies)) {
      const dependency = byName.get(name)
      if (dependency !== undefined) add(dependency)
    }
    ordered.add(one)
  }
  for (const one of packages) add(one)
  return [...ordered]
}
