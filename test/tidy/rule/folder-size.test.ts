import { expect, test } from 'vitest'
import { findingsIn, treeOf } from '../tree.ts'
import { findSmallFolders, rootFileRule, sharedNameRule, smallFolderRule } from './folder-size.ts'

const src = 'packages/a/src'

function files(...paths: readonly string[]): Record<string, string> {
  return Object.fromEntries(paths.map((path) => [`${src}/${path}`, '']))
}

test('a folder of three files needs no reason', () => {
  expect(findingsIn(smallFolderRule, treeOf(files('index.ts', 'one/a.ts', 'one/b.ts', 'one/c.ts')))).toEqual([])
})

test('the src itself needs no reason to have few files', () => {
  expect(findingsIn(smallFolderRule, treeOf(files('a.ts', 'one/b.ts', 'one/c.ts', 'one/d.ts')))).toEqual([])
})

test('a folder of two files and an entry needs a reason', () => {
  expect(findingsIn(smallFolderRule, treeOf(files('one/a.ts', 'one/b.ts', 'one/index.ts')))).toEqual([
    `${src}/one:1 has at most 2 files and no reason`,
  ])
})

test('a folder of an entry alone needs no reason', () => {
  expect(
    findingsIn(smallFolderRule, treeOf(files('one/index.ts', 'one/deep/a.ts', 'one/deep/b.ts', 'one/deep/c.ts'))),
  ).toEqual([])
})

test('a reason is accepted while the folder is small', () => {
  const explained = [{ folder: `${src}/one`, why: 'because' }]
  expect(findSmallFolders(treeOf(files('one/a.ts')), explained)).toEqual([])
  expect(findSmallFolders(treeOf(files('one/a.ts', 'one/b.ts', 'one/c.ts')), explained)).toEqual([
    { path: `${src}/one`, line: 1, message: 'has a reason to be small and is not' },
  ])
})

test('more than a handful of files beside the folders is a finding', () => {
  const handful = files('index.ts', 'internal.ts', 'a.ts', 'b.ts', 'c.ts')
  expect(findingsIn(rootFileRule, treeOf(handful))).toEqual([])
  expect(findingsIn(rootFileRule, treeOf({ ...handful, ...files('d.ts') }))).toEqual([`${src}:1 has 6 files`])
})

test('a name that two files of a package share is a finding', () => {
  expect(findingsIn(sharedNameRule, treeOf(files('one/a.ts', 'two/a.ts', 'two/b.ts')))).toEqual([
    `${src}/one/a.ts:1 shares its name with ${src}/two/a.ts`,
  ])
})
