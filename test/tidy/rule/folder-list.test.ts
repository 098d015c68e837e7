import { describe, expect, test } from 'vitest'
import { findingsIn, treeOf } from '../tree.ts'
import { findIn, folderListRule } from './folder-list.ts'

const workspace = { folder: 'packages/a', path: 'packages/a/package.json', manifest: {} }
const plans = [{ within: 'packages/a/src', rooms: ['errors.ts', 'one', 'one/deep'] }]
const intro = '# @waybill/a\n\nYou need `@waybill/a` to test.\n\n'

function list(...folders: readonly string[]): string {
  const rows = folders.map((folder) => `| \`${folder}\` | a phrase |\n`).join('')
  return `## Folders, in order\n\nWords.\n\n| folder | decides |\n|---|---|\n${rows}`
}

function findings(readme: string): string[] {
  return findIn(treeOf({ 'packages/a/README.md': readme }), workspace, plans).map(
    ({ line, message }) => `${line} ${message}`,
  )
}

test('a README that says who needs the package and lists its folders in order is accepted', () => {
  const other = '\n## Other\n\n| `two/` | not in the list |\n|---|---|\n| `three/` | neither |\n'
  expect(findings(intro + list('errors.ts', 'one/', 'one/deep/') + other)).toEqual([])
})

describe('a finding is', () => {
  test.each([
    [
      'a first paragraph without an audience',
      intro.replace('You need', 'Use') + list('errors.ts', 'one/', 'one/deep/'),
      '3 does not start its first paragraph with "You need", and for what',
    ],
    [
      'an audience below the first paragraph',
      intro.replace('You need', 'Use') + list('errors.ts', 'one/', 'one/deep/') + 'You need more.\n',
      '3 does not start its first paragraph with "You need", and for what',
    ],
    ['a missing section', intro, '1 has no section "## Folders, in order"'],
    ['a missing folder', intro + list('errors.ts', 'one/'), '5 lists nothing where the order has one/deep/'],
    ['a wrong order', intro + list('one/', 'errors.ts', 'one/deep/'), '11 lists one/ where the order has errors.ts'],
    [
      'a folder too many',
      intro + list('errors.ts', 'one/', 'one/deep/', 'two/'),
      '14 lists two/, which the order does not have',
    ],
  ])('%s', (_, readme, expected) => {
    expect(findings(readme)).toEqual([expected])
  })

  test('a package whose folders have no order', () => {
    const tree = treeOf({ 'packages/a/README.md': intro })
    expect(findIn(tree, workspace, [])).toEqual([
      expect.objectContaining({ message: expect.stringContaining('no order') }),
    ])
  })

  test('a package without a README', () => {
    expect(findIn(treeOf({}), workspace, plans)).toEqual([expect.objectContaining({ message: 'is missing' })])
  })
})

test('the rule reads the README of every published package, and of no other', () => {
  const tree = treeOf({
    'packages/core/package.json': '{}',
    'packages/private/package.json': '{ "private": true }',
  })
  expect(findingsIn(folderListRule, tree)).toEqual(['packages/core/README.md:1 is missing'])
})
