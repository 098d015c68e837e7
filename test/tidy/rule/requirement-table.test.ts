import { describe, expect, test } from 'vitest'
import { findingsIn, treeOf } from '../tree.ts'
import { requirementTableRule } from './requirement-table.ts'

const path = 'packages/core/test/a.test.ts'
const head = '| requirement | test | title |\n|---|---|---|\n'

function findings(rows: string): string[] {
  return findingsIn(
    requirementTableRule,
    treeOf({
      'docs/reference/requirements.md': head + rows,
      [path]: "test('it\\'s accepted', run)\ndescribe('one | two', run)\n// refused\n",
      'packages/core/src/a.ts': "'refused'",
    }),
  )
}

test('rows that name an existing test are fine', () => {
  const rows = ['S1-032', 'C-35', 'I7', 'D21', 'L1'].map((id) => `| ${id} | ${path} | it's accepted |\n`)
  expect(findings(rows.join(''))).toEqual([])
  expect(findings(`| S0-001 | [${path}](../../${path}) | one \\| two |\n`)).toEqual([])
})

describe('a finding is', () => {
  test.each([
    ['a test that does not exist', `| S1-032 | ${path} | refused |\n`, 'names a test that'],
    ['a file that does not exist', "| S1-032 | b.test.ts | it's accepted |\n", 'b.test.ts, which does not exist'],
    ['a file that is no test', '| S1-032 | packages/core/src/a.ts | refused |\n', 'which is no test file'],
    ['an id that is none', `| S1-32 | ${path} | it's accepted |\n`, 'S1-32 is no requirement'],
    ['a row that is cut short', `| S1-032 | ${path} |\n`, 'has 2 cells'],
    ['a title with a bare bar', `| S1-032 | ${path} | one | two |\n`, 'has 4 cells'],
    ['a row that stands twice', `| S1-032 | ${path} | it's accepted |\n`.repeat(2), 'repeats the row'],
  ])('%s', (_, rows, reason) => {
    expect(findings(rows)).toEqual([expect.stringContaining(reason)])
  })
})

test('the table itself must exist', () => {
  expect(findingsIn(requirementTableRule, treeOf({}))).toEqual(['docs/reference/requirements.md:1 is missing'])
})
