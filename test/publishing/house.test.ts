import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { brokenRulesOf, countPackages, type PackageCount } from '../../scripts/lib/house-count.ts'
import { houseText } from '../../scripts/lib/house-table.ts'
import { type ImportCost, measureImports, median } from '../../scripts/lib/import-cost.ts'
import { treeOf } from '../tidy/tree.ts'

const manifest = JSON.stringify({
  name: '@waybill/a',
  exports: {
    '.': { '@waybill/source': './src/index.ts' },
    './internal': { '@waybill/source': './src/internal.ts' },
    './one': { '@waybill/source': './src/one/a.ts' },
    './package.json': './package.json',
  },
})
const plans = [{ within: 'packages/a/src', rooms: ['one', 'two'] }]

interface HouseLine {
  readonly house: string
  readonly built: ImportCost
  readonly source?: ImportCost
}

const cost = { importMs: expect.any(Number) as number, rssMb: expect.any(Number) as number }
/** The memory that the source of the package takes, and its built module does not. */
const sourceMb = 300

function packageFiles(name: string, sources: Readonly<Record<string, string>>): Record<string, string> {
  const described = {
    name: `@waybill/${name}`,
    type: 'module',
    exports: { '.': { '@waybill/source': './src/index.ts', default: './dist/index.js' } },
  }
  return {
    [`packages/${name}/package.json`]: JSON.stringify(described),
    [`packages/${name}/dist/index.js`]: '',
    ...Object.fromEntries(Object.entries(sources).map(([path, text]) => [`packages/${name}/src/${path}`, text])),
  }
}

/** Creates a root with two packages, of which one has the given sources, and runs the command on it. */
async function createHouse(sources: Readonly<Record<string, string>>) {
  const root = await mkdtemp(join(tmpdir(), 'waybill-house-'))
  const files = {
    '.gitignore': 'dist/\nnode_modules/\n',
    ...packageFiles('a', { 'index.ts': `export const kept = Buffer.alloc(${sourceMb}e6, 1)`, ...sources }),
    ...packageFiles('b', { 'index.ts': '' }),
  }
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(root, path)), { recursive: true })
    await writeFile(join(root, path), text)
  }
  await mkdir(join(root, 'node_modules', '@waybill'), { recursive: true })
  for (const name of ['a', 'b'])
    await symlink(join(root, 'packages', name), join(root, 'node_modules', '@waybill', name))
  return {
    run: async (...flags: readonly string[]) => {
      const script = join(import.meta.dirname, '..', '..', 'scripts', 'house.ts')
      const [code, stdout, stderr] = await new Promise<readonly [unknown, string, string]>((settle) =>
        execFile(process.execPath, ['--no-warnings', script, root, ...flags], (error, out, err) =>
          settle([error?.code ?? 0, out, err]),
        ),
      )
      return { code, stdout, stderr }
    },
    [Symbol.asyncDispose]: () => rm(root, { recursive: true }),
  }
}

function count(files: Readonly<Record<string, string>>): PackageCount {
  const [found] = countPackages(
    treeOf({
      'packages/a/package.json': manifest,
      'packages/a/src/index.ts': "export { a, type B } from './one/a.ts'\n",
      'packages/a/src/internal.ts': "export { c } from './two/c.ts'\n",
      'packages/a/src/one/a.ts': '/** What a is (D7). */\nexport const a = 1 // somebody\n',
      'packages/a/src/two/c.ts': "import { a } from '../one/a.ts'\nexport const c = a\n\n",
      ...files,
    }),
    plans,
  )
  return found as PackageCount
}

test('a package is counted', () => {
  expect(count({})).toEqual({
    name: '@waybill/a',
    files: 4,
    folders: 3,
    folderCycles: [],
    folderCyclesOfValues: [],
    upwardImports: 0,
    upwardImportsOfValues: 0,
    filesInNoRoom: 0,
    filesPerFolder: { '.': 2, one: 1, two: 1 },
    filesInRoot: 2,
    sharedNames: {},
    largestFile: { path: 'packages/a/src/two/c.ts', lines: 3 },
    exports: { '.': 2, './internal': 1, './one': 1 },
    openings: 1,
    nobodies: 1,
    ids: 1,
  })
})

test('a package that keeps the rules breaks none', () => {
  expect(brokenRulesOf(count({}))).toEqual([])
})

describe('a broken rule is named', () => {
  test.each([
    [
      'a cycle of types',
      { 'packages/a/src/one/d.ts': "import type { C } from '../two/c.ts'\n" },
      ['@waybill/a: 1 folder cycles', '@waybill/a: 1 upward imports'],
    ],
    ['a file in no room', { 'packages/a/src/three/d.ts': '' }, ['@waybill/a: 1 files in no room']],
    ['a shared name', { 'packages/a/src/two/a.ts': '' }, ['@waybill/a: 1 shared names']],
  ])('%s', (_, files, broken) => {
    expect(brokenRulesOf(count(files))).toEqual(broken)
  })
})

test('types and values are counted apart', () => {
  const { folderCycles, folderCyclesOfValues, upwardImports, upwardImportsOfValues } = count({
    'packages/a/src/one/d.ts': "import type { C } from '../two/c.ts'\n",
  })
  expect({ folderCycles, folderCyclesOfValues, upwardImports, upwardImportsOfValues }).toEqual({
    folderCycles: [['one', 'two']],
    folderCyclesOfValues: [],
    upwardImports: 1,
    upwardImportsOfValues: 0,
  })
})

test('a package without an order of folders has no counts of its order', () => {
  const files = { 'packages/b/package.json': JSON.stringify({ name: '@waybill/b' }), 'packages/b/src/one/a.ts': '' }
  const [unordered] = countPackages(treeOf(files), plans)
  expect(unordered).toMatchObject({ upwardImports: undefined, filesInNoRoom: undefined })
  expect(brokenRulesOf(unordered as PackageCount)).toEqual([])
  expect(houseText([unordered as PackageCount], [])).toMatch(/^ {2}@waybill\/b +1 +1 +1 +0 +0 +- +- +0 {2}/m)
})

test('the text has a row for each package and for the sum', () => {
  const built = { importMs: 12, rssMb: 50 }
  const costs = [
    { name: '@waybill/a', built },
    { name: '@waybill/b', built, source: { importMs: 34, rssMb: 60 } },
  ]
  const text = houseText([count({})], costs)
  expect(text).toMatch(/^ {2}@waybill\/a +4 +3 +2 +2 +0 +0 +0 +0 {2}3 two\/c\.ts$/m)
  expect(text).toMatch(/^ {2}@waybill\/a +2 +1 +1 +1 +1 +1$/m)
  expect(text).toMatch(/^ {2}all +2 +1 +1 +1 +1 +1$/m)
  expect(text).toMatch(/^ {2}@waybill\/a +12 +50 +- +-$/m)
  expect(text).toMatch(/^ {2}@waybill\/b +12 +50 +34 +60$/m)
})

test('an import is measured in a process of its own', async () => {
  const root = join(import.meta.dirname, '..', '..')
  const subjects = [{ specifier: undefined }, { specifier: '@waybill/core', conditions: ['@waybill/source'] }]
  const [nothing, core] = await measureImports(subjects, { root, rounds: 1 })
  expect(nothing?.rssMb).toBeGreaterThan(10)
  expect(core?.importMs).toBeGreaterThan(nothing?.importMs as number)
})

test('an import is measured once in each round, with its conditions', async () => {
  const file = join(await mkdtemp(join(tmpdir(), 'waybill-house-')), 'rounds')
  const program = `import { appendFileSync } from 'node:fs'
    appendFileSync(${JSON.stringify(file)}, process.execArgv[0] + ' ')`
  const specifier = `data:text/javascript,${encodeURIComponent(program)}`
  await measureImports([{ specifier, conditions: ['a'] }], { root: import.meta.dirname, rounds: 2 })
  expect(await readFile(file, 'utf8')).toBe('--conditions=a --conditions=a ')
  await rm(dirname(file), { recursive: true })
})

test('an import that fails is an error, not a cost', async () => {
  const measured = measureImports([{ specifier: '@waybill/nowhere' }], { root: import.meta.dirname, rounds: 1 })
  await expect(measured).rejects.toThrow('@waybill/nowhere')
})

// It starts a process for each measurement.
describe('the command', { timeout: 120_000 }, () => {
  test('prints a line for each module, with the costs of its own sources, and fails when a rule is broken', async () => {
    await using house = await createHouse({ 'two/c.ts': "import '../one/a.ts'", 'one/a.ts': "import '../two/c.ts'" })
    const { code, stdout, stderr } = await house.run('--json', '--source')
    expect([code, stderr]).toEqual([1, '@waybill/a: 1 folder cycles\n'])
    const lines = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as HouseLine)
    expect(lines.map((line) => line.house)).toEqual(['@waybill/a', '@waybill/b', 'node'])
    const [large, small, node] = lines as [HouseLine, HouseLine, HouseLine]
    expect(large).toMatchObject({ files: 3, built: cost, source: cost })
    expect(node).not.toHaveProperty('source')
    expect(large.source?.rssMb).toBeGreaterThanOrEqual(sourceMb)
    expect(large.built.rssMb).toBeLessThan(sourceMb)
    expect(small.source?.rssMb).toBeLessThan(sourceMb)
  })

  test('prints tables and succeeds when no rule is broken', async () => {
    await using house = await createHouse({})
    const { code, stdout, stderr } = await house.run()
    expect([code, stderr]).toEqual([0, ''])
    expect(stdout).toMatch(/^ {2}@waybill\/a +1 +1 /m)
  })
})

test('the median is the middle of the sorted values', () => {
  expect(median([5, 1, 10])).toBe(5)
  expect(() => median([])).toThrow('Measure at least once')
})
