import { expect, test } from 'vitest'
import { filesPerFolder, folderCyclesOf, folderImportsOf, sharedNamesOf, sourceRootsOf } from './package-folder.ts'
import { treeOf } from './tree.ts'

const root = 'packages/a/src'

function cyclesIn(files: Readonly<Record<string, string>>): string[][] {
  return folderCyclesOf(folderImportsOf(treeOf(files), root))
}

test('the packages of a tree are those with sources', () => {
  const tree = treeOf({
    'packages/b/src/x.ts': '',
    [`${root}/x/y.ts`]: '',
    'test/x.ts': '',
    'packages/c/README.md': '',
  })
  expect(sourceRootsOf(tree)).toEqual([root, 'packages/b/src'])
})

test('an import between folders is reported with both, and says whether it is of types only', () => {
  const tree = treeOf({
    [`${root}/one/a.ts`]: "import './b.ts'\nimport type { C } from '../two/c.ts'\nimport '../two/deep/d.ts'\n",
    [`${root}/e.ts`]: "import 'node:fs'\nimport '@waybill/core'\nimport '../../b/src/f.ts'\nimport './one/a.ts'\n",
  })
  expect(folderImportsOf(tree, root)).toEqual([
    { path: `${root}/e.ts`, line: 4, isTypeOnly: false, from: '', to: 'one' },
    { path: `${root}/one/a.ts`, line: 2, isTypeOnly: true, from: 'one', to: 'two' },
    { path: `${root}/one/a.ts`, line: 3, isTypeOnly: false, from: 'one', to: 'two/deep' },
  ])
})

test('entries of src are in no folder', () => {
  const files = { [`${root}/index.ts`]: "export { a } from './one/a.ts'", [`${root}/one/a.ts`]: "import '../index.ts'" }
  expect(cyclesIn(files)).toEqual([])
})

test('an entry inside a folder is in that folder', () => {
  const files = {
    [`${root}/one/index.ts`]: "export { a } from './deep/a.ts'",
    [`${root}/one/b.ts`]: '',
    [`${root}/one/deep/a.ts`]: "import '../b.ts'",
  }
  expect(cyclesIn(files)).toEqual([['one', 'one/deep']])
})

test('folders whose files form no cycle can form one', () => {
  const files = {
    [`${root}/one/a.ts`]: "import '../two/b.ts'",
    [`${root}/one/c.ts`]: '',
    [`${root}/two/b.ts`]: "import type { C } from '../one/c.ts'",
  }
  expect(cyclesIn(files)).toEqual([['one', 'two']])
})

test('a nested folder and the one around it are two', () => {
  expect(
    cyclesIn({
      [`${root}/one/a.ts`]: "import './deep/b.ts'",
      [`${root}/one/deep/b.ts`]: "import '../c.ts'",
      [`${root}/one/c.ts`]: '',
    }),
  ).toEqual([['one', 'one/deep']])
})

test('files are counted by folder', () => {
  const tree = treeOf({
    [`${root}/index.ts`]: '',
    [`${root}/one/a.ts`]: '',
    [`${root}/one/b.ts`]: '',
    [`${root}/one/deep/c.ts`]: '',
  })
  expect([...filesPerFolder(tree, root)]).toEqual([
    ['', 1],
    ['one', 2],
    ['one/deep', 1],
  ])
})

test('a name that two folders use is shared, unless it is that of an entry', () => {
  const tree = treeOf({
    [`${root}/index.ts`]: '',
    [`${root}/one/index.ts`]: '',
    [`${root}/one/a.ts`]: '',
    [`${root}/two/a.ts`]: '',
    'packages/b/src/b.ts': '',
    [`${root}/b.ts`]: '',
  })
  expect([...sharedNamesOf(tree, root)]).toEqual([['a.ts', [`${root}/one/a.ts`, `${root}/two/a.ts`]]])
})
