import { importsOf, isRelative, packageNameOf, resolveRelative } from '../module-import.ts'
import { type Finding, filesOf, packageSource, type Rule } from '../tree.ts'

/** The modules that a package may import besides Node's own and its declared third-party dependencies. */
interface PackageRow {
  readonly folder: string
  readonly name: string
  /** A package name opens all its entries, a longer path only that entry. */
  readonly imports: readonly string[]
}

const core = '@waybill/core'
const outbox = '@waybill/outbox'
const kafka = '@waybill/kafka'
const connector = '@waybill/connector'

/**
 * The packages and the direction of their imports. A package that is not here cannot be imported, nor import. Tests,
 * scripts and examples combine the packages and are not in the table.
 */
export const packageTable: readonly PackageRow[] = [
  { folder: 'packages/core', name: core, imports: [] },
  { folder: 'packages/outbox', name: outbox, imports: [core] },
  { folder: 'packages/sql', name: '@waybill/sql', imports: [core, outbox] },
  { folder: 'packages/kafka', name: kafka, imports: [core] },
  { folder: 'packages/connector', name: connector, imports: [core, kafka] },
  // Its own entry, for services that have these packages anyway; the command and the main entry stay without them.
  { folder: 'packages/contract/src/waiting', name: '@waybill/contract', imports: [core, outbox, kafka, connector] },
  { folder: 'packages/contract', name: '@waybill/contract', imports: [core] },
  { folder: 'packages/projection', name: '@waybill/projection', imports: [core, kafka, connector] },
  { folder: 'packages/sim', name: '@waybill/sim', imports: [core, outbox, `${kafka}/wire`] },
  { folder: 'packages/testkit', name: '@waybill/testkit', imports: [core, outbox, kafka, connector, '@waybill/sim'] },
  { folder: 'packages/telemetry', name: '@waybill/telemetry', imports: [core] },
  { folder: 'packages/admin', name: '@waybill/admin', imports: [core, kafka, connector] },
  {
    folder: 'packages/cli',
    name: 'waybill',
    imports: [core, outbox, '@waybill/sql', kafka, connector, '@waybill/sim', '@waybill/testkit', '@waybill/admin'],
  },
]

/** Folders of one package that must not import each other. */
const strangers: readonly { readonly within: string; readonly folders: readonly string[]; readonly why: string }[] = [
  {
    within: 'packages/core/src',
    folders: ['projection', 'schema', 'idempotency'],
    why: 'features of core stand alone; what two of them share belongs to event/ or a primitive',
  },
]

/** Third-party packages that only one folder may import. */
const confined: readonly { readonly library: RegExp; readonly folder: string; readonly why: string }[] = [
  {
    library: /^(?:@platformatic\/wasm-utils|@node-rs\/crc32)(?:\/|$)/,
    folder: 'packages/kafka/src/wire/records/',
    why: 'only the record codec computes checksums and compresses, and it loads these when a batch first needs them',
  },
]

/** Files that import names which only a run knows. */
const loaders: readonly { readonly path: string; readonly why: string }[] = [
  { path: 'packages/contract/src/repository/load-module.ts', why: "a command loads the user's catalog by its path" },
]

/** Checks the direction of imports between packages, and between the folders of one. */
export const importTableRule: Rule = {
  title: 'packages and folders import only what the import table allows',
  why:
    'The table keeps core free of dependencies, outbox and sql free of Kafka, and simulation out of production. ' +
    'Move the code to where its imports are allowed, or pass what it needs as a port; change the table in ' +
    'test/tidy/rule/import-table.ts only together with ARCHITECTURE.md.',
  find: (tree) =>
    filesOf(tree, packageSource).flatMap(([path, text]) =>
      importsOf(text).flatMap(({ specifier, line }): Finding[] => {
        const message =
          specifier === undefined
            ? loaders.some((loader) => loader.path === path)
              ? undefined
              : 'imports a computed name, which no rule can see: write it as a literal'
            : objectionTo(path, specifier)
        return message === undefined ? [] : [{ path, line, message }]
      }),
    ),
}

function objectionTo(path: string, specifier: string): string | undefined {
  if (isRelative(specifier)) return objectionToFolder(path, resolveRelative(path, specifier))
  const row = packageTable.find(({ folder }) => path.startsWith(`${folder}/`))
  if (row === undefined) return 'belongs to a package that has no row in the import table'
  const name = packageNameOf(specifier)
  if (name === undefined) return undefined
  const isOurs = name.startsWith('@waybill/') || packageTable.some((other) => other.name === name)
  if (isOurs && name !== row.name) return objectionToPackage(row, specifier)
  if (!isOurs && row.imports.length === 0) return `imports ${specifier}, but ${row.name} may import Node's modules only`
  const confinement = confined.find(({ library, folder }) => library.test(specifier) && !path.startsWith(folder))
  if (confinement !== undefined) return `imports ${specifier} outside ${confinement.folder}: ${confinement.why}`
  return undefined
}

function objectionToPackage(row: PackageRow, specifier: string): string | undefined {
  const isAllowed = row.imports.some((allowed) => specifier === allowed || specifier.startsWith(`${allowed}/`))
  if (isAllowed) return undefined
  const allowed = row.imports.length === 0 ? "Node's modules only" : row.imports.join(', ')
  return `imports ${specifier}, but ${row.name} may import ${allowed}`
}

function objectionToFolder(path: string, target: string): string | undefined {
  for (const { within, folders, why } of strangers) {
    const from = folders.find((folder) => path.startsWith(`${within}/${folder}/`))
    const to = folders.find((folder) => target.startsWith(`${within}/${folder}/`))
    if (from !== undefined && to !== undefined && from !== to) return `imports ${to}/ from ${from}/: ${why}`
  }
  return undefined
}
