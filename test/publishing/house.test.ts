import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { brokenRulesOf, countPackages, type PackageCount } from '../../scripts/lib/house-count.ts'
import { houseText } from '../../scripts/lib/house-table.ts'
import { measureImports, median } from '../../scripts/lib/import-cost.ts'
import { treeOf } from '../tidy/tree.ts'

const manifest = JSON.stringify({
  name: '@waybill/a',
  exports: {
    '.': { '@waybill/source': './src/index.ts' },
    './internal': { '@waybill/source': './src/internal.ts' },
    './package.json': './package.json',
  },
})
const plans = [{ within: 'packages/a/src', rooms: ['one', 'two'] }]

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
    exports: { '.': 2, './internal': 1 },
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

test('the text has a row for each package and for the sum', () => {
  const text = houseText([count({})], [{ name: '@waybill/a', built: { importMs: 12, rssMb: 50 } }])
  expect(text).toMatch(/^ {2}@waybill\/a +4 +3 +2 +2 +0 +0 +0 +0 {2}3 two\/c\.ts$/m)
  expect(text).toMatch(/^ {2}@waybill\/a +2 +1 +0 +1 +1 +1$/m)
  expect(text).toMatch(/^ {2}all +2 +1 +0 +1 +1 +1$/m)
  expect(text).toMatch(/^ {2}@waybill\/a +12 +50 +- +-$/m)
})

test('an import is measured in a process of its own', async () => {
  const root = join(import.meta.dirname, '..', '..')
  const subjects = [{ specifier: undefined }, { specifier: '@waybill/core', conditions: ['@waybill/source'] }]
  const [nothing, core] = await measureImports(subjects, { root, rounds: 1 })
  expect(nothing?.rssMb).toBeGreaterThan(10)
  expect(core?.importMs).toBeGreaterThan(nothing?.importMs as number)
})

test('an import that fails is an error, not a cost', async () => {
  const measured = measureImports([{ specifier: '@waybill/nowhere' }], { root: import.meta.dirname, rounds: 1 })
  await expect(measured).rejects.toThrow('@waybill/nowhere')
})

test('the median is the middle of the sorted values', () => {
  expect(median([5, 1, 10])).toBe(5)
  expect(() => median([])).toThrow('Measure at least once')
})
