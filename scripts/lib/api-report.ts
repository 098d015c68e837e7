import { dirname, join } from 'node:path'
import { type DeclarationModule, parseDeclarations } from './declaration-module.ts'
import type { EntryPoint, PublicPackage } from './public-packages.ts'

/** Reads a file by its path from the package's folder. */
export type ReadDeclarations = (path: string) => string

/** A name with the declaration behind it. */
interface Declared {
  readonly name: string
  readonly text: string
  /** The declaring module; undefined for a declaration of another package. */
  readonly module: string | undefined
}

/**
 * Describes the API of a package as Markdown to commit and compare: every exported name of every entry point with its
 * declaration, and the declarations these refer to without exporting them, since a change there changes the API too.
 */
export function apiReport({ name, entries }: Pick<PublicPackage, 'name' | 'entries'>, read: ReadDeclarations): string {
  const modules = createModuleReader(read)
  const exportedBy = new Map(entries.map((entry) => [entry, exportedDeclarations(entry, modules)]))
  const known = new Set([...exportedBy.values()].flat().map(keyOf))
  const sections = [...exportedBy].map(
    ([{ specifier }, exported]) => `## ${specifier}\n\n${codeBlock(exported, leanedOn(exported, known, modules))}`,
  )
  return [
    `# API of ${name}`,
    'Written by `npm run api` from the emitted declarations. A difference is a change of the public API: review it by the\nrules of [versioning](../docs/reference/versioning.md).',
    ...sections,
  ]
    .join('\n\n')
    .concat('\n')
}

function exportedDeclarations({ types }: EntryPoint, modules: ModuleReader): Declared[] {
  return modules.exportedNames(types).map((name) => modules.find(types, name))
}

/** Returns all unexported declarations that the given ones mention, directly or not, sorted. */
function leanedOn(exported: readonly Declared[], known: ReadonlySet<string>, modules: ModuleReader): Declared[] {
  const seen = new Set(known)
  const hidden: Declared[] = []
  const waiting = [...exported]
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    for (const mentioned of modules.mentionedIn(next)) {
      if (seen.has(keyOf(mentioned))) continue
      seen.add(keyOf(mentioned))
      hidden.push(mentioned)
      waiting.push(mentioned)
    }
  }
  return hidden.toSorted((one, other) => (keyOf(one) < keyOf(other) ? -1 : 1))
}

function keyOf({ name, module }: Declared): string {
  return `${name} ${module ?? ''}`
}

interface ModuleReader {
  /** Returns the exports of a module, sorted. */
  exportedNames(module: string): string[]
  /** Finds the declaration of an exported name through any chain of re-exports. */
  find(module: string, exportedName: string): Declared
  /** Returns the declarations of this package that a declaration mentions. */
  mentionedIn(declared: Declared): Declared[]
}

function createModuleReader(read: ReadDeclarations): ModuleReader {
  const parsed = new Map<string, DeclarationModule>()
  const moduleAt = (path: string): DeclarationModule => {
    const known = parsed.get(path)
    if (known !== undefined) return known
    const module = parseDeclarations(read(path), path)
    parsed.set(path, module)
    return module
  }

  const local = (path: string, name: string): Declared => {
    const { declared, imported, augmentations } = moduleAt(path)
    const text = declared.get(name)
    // A file's augmentations of other modules come with every declaration taken from it.
    if (text !== undefined) return { name, text: [text, ...augmentations].join('\n\n'), module: path }
    const origin = imported.get(name)
    if (origin?.from === undefined) throw new Error(`${path} exports ${name}, which it neither declares nor imports.`)
    return follow(path, origin.from, origin.name, name)
  }
  const follow = (path: string, from: string, name: string, as: string): Declared =>
    from.startsWith('.')
      ? find(besides(path, from), name)
      : { name: as, text: `{ ${name === as ? name : `${name} as ${as}`} } from '${from}'`, module: undefined }
  const find = (path: string, exportedName: string): Declared => {
    const origin = moduleAt(path).exported.get(exportedName)
    if (origin === undefined) throw new Error(`${path} does not export ${exportedName}.`)
    const found =
      origin.from === undefined ? local(path, origin.name) : follow(path, origin.from, origin.name, exportedName)
    return found.name === exportedName ? found : { ...found, text: `${found.text} // as ${exportedName}` }
  }

  const mentionedIn = ({ text, module }: Declared): Declared[] => {
    if (module === undefined) return []
    const { declared, imported } = moduleAt(module)
    const words = new Set(text.replace(/'[^']*'|"[^"]*"/g, '').match(/[A-Za-z_$][\w$]*/g))
    return [...words].flatMap((word) => {
      const isOurs = declared.has(word) || imported.get(word)?.from?.startsWith('.')
      return isOurs === true ? [local(module, word)] : []
    })
  }
  return { exportedNames: (path) => [...moduleAt(path).exported.keys()].toSorted(), find, mentionedIn }
}

/** Resolves a specifier to its declaration file: `./errors.ts` and `./errors.js` both lead to `errors.d.ts`. */
function besides(path: string, specifier: string): string {
  return join(dirname(path), specifier).replace(/\.[jt]s$/, '.d.ts')
}

function codeBlock(exported: readonly Declared[], hidden: readonly Declared[]): string {
  const declarations = [
    ...exported.map(({ text }) => `export ${text}`),
    ...(hidden.length === 0 ? [] : ['// Not exported, but part of a declaration above.']),
    ...hidden.map(({ text }) => text),
  ]
  return ['```ts', declarations.join('\n\n'), '```'].join('\n')
}
