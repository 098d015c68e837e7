/**
 * The published packages. Each is packed from a fresh build and installed into an empty project, and all tests here use
 * that project: the sources play no part.
 */
import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { basename, dirname, join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import { readRequirements } from '@waybill/test-support'
import { publint } from 'publint'
import { formatMessage } from 'publint/utils'
import { afterAll, beforeAll, describe, expect, type TestContext, test } from 'vitest'
import { publicPackages } from '../../scripts/lib/public-packages.ts'
import { createContractRepository } from './support/contract-repository.ts'
import { createFreshWorkspace, type FreshWorkspace, repository } from './support/fresh-workspace.ts'
import { importedPackages } from './support/imported-packages.ts'
import { findNode22, type OlderNode } from './support/node-22.ts'
import { run } from './support/run.ts'
import { createUserProject, quickstartFile, type Tarball, type UserProject } from './support/user-project.ts'

const packages = publicPackages(repository)
const tsc = join(repository, 'node_modules', '.bin', 'tsc')
const attw = join(repository, 'node_modules', '.bin', 'attw')

let workspace: FreshWorkspace
let project: UserProject
let node22: OlderNode

beforeAll(async () => {
  workspace = await createFreshWorkspace()
  project = await createUserProject(workspace)
  await writeFile(join(project.root, 'resolve.js'), resolveEntryPoints)
  node22 = await findNode22()
  if ('absent' in node22) process.stderr.write(`The packages are not tried on Node 22: ${node22.absent}\n`)
}, 300_000)

afterAll(async () => {
  await project?.[Symbol.asyncDispose]()
  await workspace?.[Symbol.asyncDispose]()
})

const nodes = [
  { major: 24, find: (): OlderNode => ({ path: process.execPath }) },
  { major: 22, find: (): OlderNode => node22 },
]

/** Prints where each entry point resolves to, once by `import` and once by `require`. */
const resolveEntryPoints = `
  import { createRequire } from 'node:module'
  const require = createRequire(import.meta.url)
  const found = {}
  for (const specifier of process.argv.slice(2)) {
    const names = Object.keys(await import(specifier))
    const missing = names.filter((name) => !(name in require(specifier)))
    found[specifier] = { url: import.meta.resolve(specifier), required: require.resolve(specifier), missing }
  }
  console.log(JSON.stringify(found))
`

function pathOf(node: OlderNode, context: TestContext): string {
  if ('path' in node) return node.path
  if (readRequirements().names.includes('node22')) throw new Error(`${node.absent} WAYBILL_REQUIRE asks for it.`)
  return context.skip(node.absent)
}

function tarballOf(name: string): Tarball {
  const tarball = project.tarballs.get(name)
  if (tarball === undefined) throw new Error(`${name} was not packed.`)
  return tarball
}

/** The files that users load by a name of the package, `dist/wire/index.js`, or run as a command. */
async function entryFilesOf(name: string): Promise<string[]> {
  const path = join(project.root, 'node_modules', name, 'package.json')
  const { exports, bin = {} } = JSON.parse(await readFile(path, 'utf8')) as {
    exports: Readonly<Record<string, string | { readonly default: string }>>
    bin?: Readonly<Record<string, string>>
  }
  const modules = Object.values(exports).flatMap((target) => (typeof target === 'string' ? [] : [target.default]))
  return [...modules, ...Object.values(bin)].map((target) => target.replace('./', ''))
}

/** The files that browsers load from the package. */
async function consoleOf(folder: string): Promise<string[]> {
  const entries = await readdir(join(workspace.root, folder, 'dist', 'console'), {
    recursive: true,
    withFileTypes: true,
  }).catch(() => [])
  return entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => relative(join(workspace.root, folder), join(parentPath, name)))
}

/** The files that users copy from the package. */
async function templatesOf(folder: string): Promise<string[]> {
  const names = await readdir(join(workspace.root, folder, 'template')).catch(() => [])
  return names.map((name) => `template/${name}`)
}

describe.each(packages)('$name', ({ name, shortName, folder, dependencies, entries }) => {
  test('ships bundles, declarations, sources, the README and the license, and nothing else', async () => {
    const sources = (await readdir(join(workspace.root, folder, 'src'), { recursive: true }))
      .filter((path) => path.endsWith('.ts'))
      .map((path) => path.replace(/\.ts$/, ''))
    const { files } = tarballOf(name)
    const shared = files.filter((path) => /^dist\/shared\/[^/]+\.js$/.test(path))
    const bundles = [...(await entryFilesOf(name)), ...shared]
    const code = await Promise.all(
      bundles.map((path) => readFile(join(project.root, 'node_modules', name, path), 'utf8')),
    )
    // An entry that only re-exports has no code of its own to map.
    const mapped = bundles.filter((_, index) => code[index]?.includes('sourceMappingURL'))
    const shipped = [
      ...sources.flatMap((path) => [`src/${path}.ts`, `dist/${path}.d.ts`, `dist/${path}.d.ts.map`]),
      ...bundles,
      ...mapped.map((path) => `${path}.map`),
    ]
    expect(new Set(files)).toEqual(
      new Set([
        'package.json',
        'README.md',
        'LICENSE',
        ...(await templatesOf(folder)),
        ...(await consoleOf(folder)),
        ...shipped,
      ]),
    )
    for (const path of shared) expect(code.join('\n')).toContain(`/${basename(path)}"`)
  })

  test('says where it lives', async () => {
    const manifest: unknown = JSON.parse(
      await readFile(join(project.root, 'node_modules', name, 'package.json'), 'utf8'),
    )
    expect(manifest).toMatchObject({
      homepage: expect.stringContaining(`/${folder}#readme`) as unknown,
      repository: { type: 'git', directory: folder },
    })
  })

  test('ships the repository’s own licence', async () => {
    const shipped = await readFile(join(project.root, 'node_modules', name, 'LICENSE'), 'utf8')
    expect(shipped, `copy LICENSE to ${folder}/LICENSE: npm packs only what lies in the package's folder`).toBe(
      await readFile(join(repository, 'LICENSE'), 'utf8'),
    )
  })

  test('ships every source that its maps lead to', async () => {
    const installed = join(project.root, 'node_modules', name)
    const { files } = tarballOf(name)
    const maps = files.filter((path) => path.endsWith('.map'))
    expect(maps).not.toEqual([])
    for (const map of maps) {
      const { sources } = JSON.parse(await readFile(join(installed, map), 'utf8')) as { sources: string[] }
      expect(files).toEqual(expect.arrayContaining(sources.map((source) => join(dirname(map), source))))
    }
  })

  test('does not depend on a package that it does not import', async () => {
    const imported = new Set<string>()
    for (const path of tarballOf(name).files.filter((each) => /^dist\/.*\.(js|d\.ts)$/.test(each))) {
      const code = await readFile(join(project.root, 'node_modules', name, path), 'utf8')
      for (const each of importedPackages(code)) imported.add(each)
    }
    expect(Object.keys(dependencies).filter((dependency) => !imported.has(dependency))).toEqual([])
  })

  test('passes publint', async () => {
    const content = await readFile(tarballOf(name).path)
    const { messages, pkg } = await publint({ pack: { tarball: new Uint8Array(content).buffer }, strict: true })
    expect(messages.map((message) => formatMessage(message, pkg, { color: false }))).toEqual([])
  })

  test('passes attw as a package of ES modules', async () => {
    const report = await run(attw, [tarballOf(name).path, '--profile', 'esm-only', '--no-color'], project.root)
    for (const { specifier } of entries) expect(report).toContain(`"${specifier}"`)
  })

  describe.each(nodes)('on Node $major', ({ major, find }) => {
    test('runs the quickstart of its README, which prints what it says', async (context) => {
      const node = pathOf(find(), context)
      const quickstart = project.quickstarts.get(name)
      if (quickstart === undefined) throw new Error(`${folder}/README.md has no \`ts\` block to begin with.`)
      expect(await run(node, ['--version'], project.root)).toMatch(`v${major}.`)
      const printed = await run(node, [quickstartFile(shortName)], project.root)
      expect(printed).toBe(quickstart.prints ?? printed) // A README need not show its output.
    })

    test('is imported and required from dist', async (context) => {
      const node = pathOf(find(), context)
      const specifiers = entries.map(({ specifier }) => specifier)
      const found: unknown = JSON.parse(await run(node, ['resolve.js', ...specifiers], project.root))
      const expected = entries.map(({ specifier, types }) => {
        const required = join(project.root, 'node_modules', name, types.replace(/\.d\.ts$/, '.js'))
        return [specifier, { url: pathToFileURL(required).href, required, missing: [] }]
      })
      expect(found).toEqual(Object.fromEntries(expected))
    })
  })
})

describe.each(nodes)('waybill-contract on Node $major', ({ find }) => {
  test('writes and checks the contracts of a TypeScript catalog in a repository of its user', {
    timeout: 300_000,
  }, async (context) => {
    const node = pathOf(find(), context)
    const root = join(project.root, `contracts-${node.length}-${Number(node === process.execPath)}`)
    await mkdir(root)
    await symlink(join(repository, 'node_modules', 'zod'), join(project.root, 'node_modules', 'zod')).catch(() => {})
    const git = (...args: string[]): Promise<string> =>
      run('git', ['-c', 'user.name=A', '-c', 'user.email=a@example.org', ...args], root)
    const command = (...args: string[]): Promise<string> =>
      run(node, [join(project.root, 'node_modules', '.bin', 'waybill-contract'), ...args], root)
    await git('init', '--quiet', '--initial-branch=main')
    await writeFile(join(root, 'events.ts'), contractCatalog(1, 'z.string()'))
    expect(await command('write', '--catalog', 'events.ts')).toBe('written schemas/OrderPlaced/v1.json\n')
    await git('add', '.')
    await git('commit', '--quiet', '--message=declare OrderPlaced')
    expect(await command('check', '--against', 'git:main', '--catalog', 'events.ts')).toContain('passed')
    await writeFile(join(root, 'events.ts'), contractCatalog(2, 'z.number()'))
    await command('write', '--catalog', 'events.ts')
    const failed = command('check', '--against', 'git:main', '--catalog', 'events.ts', '--format', 'github')
    await expect(failed).rejects.toMatchObject({
      cause: { code: 3 },
      message: expect.stringContaining('::error file=') as unknown,
    })
  })
})

describe.each(nodes)('waybill-admin on Node $major', ({ find }) => {
  test('lists its options, and says which brokers do not answer', async (context) => {
    const node = pathOf(find(), context)
    const command = (...args: string[]): Promise<string> =>
      run(node, [join(project.root, 'node_modules', '.bin', 'waybill-admin'), ...args], project.root)
    expect(await command('--help')).toContain('--brokers HOST:PORT')
    await expect(command('--port', '0')).rejects.toMatchObject({
      cause: { code: 2 },
      message: expect.stringContaining('--brokers is required') as unknown,
    })
    // A port that no service has: TCP refuses it at once.
    await expect(command('--brokers', '127.0.0.1:1', '--port', '0')).rejects.toMatchObject({
      cause: { code: 1 },
      message: expect.stringContaining('127.0.0.1:1') as unknown,
    })
  })
})

function contractCatalog(version: number, id: string): string {
  return `import { defineEvents } from '@waybill/core'
import { z } from 'zod'
export const events = defineEvents({
  OrderPlaced: { topic: 'orders', version: ${version}, schema: z.object({ id: ${id} }), key: (order): string => String(order.id) },
})
`
}

const listedCatalog = (version: number, priorities: string): string => `import { defineEvents } from '@waybill/core'
import { z } from 'zod'
export const events = defineEvents({
  OrderPlaced: {
    topic: 'orders',
    version: ${version},
    schema: z.object({ id: z.string(), priority: z.enum([${priorities}]).default('normal') }),
    key: ({ id }: { id: string }): string => id,
  },
})
`
const consumers = `import { handleEvents } from '@waybill/connector'
import { events } from './catalog.ts'
export const billing = handleEvents(events, { OrderPlaced() {} })
`

describe('S2-060 the workflow of the packed package, in a repository of its user', () => {
  test('passes without a change, fails on what only --strict refuses, and passes with a waiver until its last day', {
    timeout: 300_000,
  }, async () => {
    const user = await createContractRepository(project, 'gate')
    await user.write({ 'events/catalog.ts': listedCatalog(1, "'normal'"), 'events/consumers.ts': consumers })
    expect(await user.npx('write', '--catalog', 'events/catalog.ts')).toBe('written schemas/OrderPlaced/v1.json\n')
    await user.commit('declare OrderPlaced')
    await user.git('update-ref', 'refs/remotes/origin/main', 'HEAD')
    await user.git('switch', '--quiet', '--create', 'change')
    expect(await user.decide()).toBe('')
    await user.check()

    await user.write({ 'events/catalog.ts': listedCatalog(2, "'normal', 'high'") })
    await user.npx('write', '--catalog', 'events/catalog.ts')
    await user.commit('add a priority')
    expect(await user.decide()).toBe('contracts=true\n')
    const failure = {
      cause: { code: 3 },
      message: expect.stringMatching(/::error file=schemas.OrderPlaced.v2/) as unknown,
    }
    await expect(user.check()).rejects.toMatchObject(failure)
    const lenient = ['check', '--against', 'git:origin/main', '--catalog', 'events/catalog.ts']
    expect(await user.npx(...lenient)).toContain('WARNING WB-C205')

    const accepted = ['WB-C205', 'WB-C501'].map((code) => ({ code, event: 'OrderPlaced', reason: 'rolled out' }))
    const waived = (until: string): Record<string, string> => ({
      'schemas/waivers.json': JSON.stringify(accepted.map((waiver) => ({ ...waiver, until }))),
    })
    await user.write(waived('9999-12-31'))
    expect(await user.check()).toContain('::notice file=schemas/OrderPlaced/v2.json')
    await user.write(waived('2020-01-01'))
    await expect(user.check()).rejects.toMatchObject({
      cause: { code: 3 },
      message: expect.stringContaining('title=WB-C010::The waiver of WB-C205 for OrderPlaced expired') as unknown,
    })
  })
})

test('quickstarts and every declaration type-check strictly', async () => {
  expect(await run(tsc, ['-p', '.'], project.root)).toBe('')
})

test('types come from dist', async () => {
  const read = (await run(tsc, ['-p', '.', '--listFilesOnly'], project.root)).split('\n')
  const ours = read.filter((path) => path.includes('/node_modules/@waybill/'))
  expect(ours.filter((path) => !/\/@waybill\/[^/]+\/dist\/.*\.d\.ts$/.test(path))).toEqual([])
  for (const { name, entries } of packages) {
    const installed = entries.map(({ types }) => join(project.root, 'node_modules', name, types))
    expect(ours).toEqual(expect.arrayContaining(installed))
  }
})
