import { readFileSync } from 'node:fs'
import { findPackageJSON } from 'node:module'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { ArgumentError, type EventCatalog, type Schemas } from '@waybill/core'
import { type ContractFile, contractPath, contractsOf } from '../file/contract-file.ts'
import { canonicalText } from '../schema/json.ts'
import { loadModule } from './load-module.ts'

/** A catalog that a module exports. */
export interface LoadedCatalog {
  readonly path: string
  readonly exportName: string
  readonly catalog: EventCatalog<Schemas>
}

/** Loads all catalogs that modules export. @throws ArgumentError for a module without one */
export async function loadCatalogs(cwd: string, paths: readonly string[]): Promise<readonly LoadedCatalog[]> {
  const loaded: LoadedCatalog[] = []
  for (const path of paths) {
    const found = Object.entries(await loadModule(cwd, path)).flatMap(([exportName, value]) =>
      isCatalog(value) ? [{ path, exportName, catalog: value }] : [],
    )
    if (found.length === 0)
      throw new ArgumentError(`${path} exports no event catalog.`, { hint: 'Export what `defineEvents` returns.' })
    loaded.push(...found.filter(({ catalog }) => !loaded.some((other) => other.catalog === catalog)))
  }
  return loaded
}

/**
 * Returns the contracts of catalogs, with the versions of their libraries. An event may be in several catalogs.
 *
 * @throws ArgumentError if two catalogs declare one version of an event in different ways
 */
export function contractsOfCatalogs(cwd: string, catalogs: readonly LoadedCatalog[]): readonly ContractFile[] {
  const contracts = new Map<string, ContractFile>()
  for (const { path, catalog } of catalogs) {
    const versions = vendorVersions(resolve(cwd, path))
    for (const contract of contractsOf(catalog, versions)) {
      const earlier = contracts.get(contractPath(contract))
      if (earlier !== undefined && canonicalText(earlier) !== canonicalText(contract))
        throw new ArgumentError(
          `Two catalogs declare ${contract.event} version ${contract.version} in different ways.`,
          {
            hint: 'Import the schema of one catalog in the other.',
          },
        )
      contracts.set(contractPath(contract), contract)
    }
  }
  return [...contracts.values()]
}

/** Modules load more than one copy of a package, so the catalog is known by its form. */
export function isCatalog(value: unknown): value is EventCatalog<Schemas> {
  const { definitions, wireFormat } = (value ?? {}) as Partial<EventCatalog<Schemas>>
  return typeof value === 'object' && typeof definitions === 'object' && typeof wireFormat?.decode === 'function'
}

/** The packages of schema libraries, by the vendor that their schemas name. */
const packagesOf: Readonly<Record<string, readonly string[]>> = {
  zod: ['zod'],
  valibot: ['valibot'],
  arktype: ['arktype'],
  typebox: ['typebox', '@sinclair/typebox'],
}

/** Returns the versions of the schema libraries that a module finds. */
function vendorVersions(path: string): Readonly<Record<string, string>> {
  const found = Object.entries(packagesOf).flatMap(([vendor, names]): [string, string][] => {
    const version = names.map((name) => versionOf(name, path)).find((each) => each !== undefined)
    return version === undefined ? [] : [[vendor, version]]
  })
  return Object.fromEntries(found)
}

function versionOf(name: string, path: string): string | undefined {
  try {
    const manifest = findPackageJSON(name, pathToFileURL(path))
    if (manifest === undefined) return undefined
    const { version } = JSON.parse(readFileSync(manifest, 'utf8')) as { version?: unknown }
    return typeof version === 'string' ? version : undefined
  } catch {
    return undefined // Not installed: then no schema of the catalog comes from it.
  }
}
