import { describe, expect, test } from 'vitest'
import { findingsIn, treeOf } from '../tree.ts'
import { requirementTableRule } from './requirement-table.ts'

const path = 'packages/core/test/a.test.ts'
const head = '| id | meaning | tests |\n|---|---|---|\n'
const accepted = `[it's accepted](../../${path})`

function findings(rows: string): string[] {
  return findingsIn(
    requirementTableRule,
    treeOf({
      'docs/reference/requirements.md': head + rows,
      [path]: "test('it\\'s accepted', run)\ndescribe('one | two [three]', run)\n// refused\n",
      'packages/core/src/a.ts': "'refused'",
    }),
  )
}

test('rows that name existing tests are accepted', () => {
  const rows = ['S1-032', 'C-35', 'I7', 'D21', 'L1'].map((id) => `| ${id} | a limit | ${accepted} |\n`)
  expect(findings(rows.join(''))).toEqual([])
  expect(findings(`| S0-001 | a limit | ${accepted}<br>[one \\| two \\[three\\]](../../${path}) |\n`)).toEqual([])
})

test('a row without tests is accepted', () => {
  expect(findings('| S1-032 | a limit |\n')).toEqual([])
})

describe('a finding is', () => {
  test.each([
    ['a test that does not exist', `| S1-032 | a limit | [refused](../../${path}) |\n`, 'names a test that'],
    ['a file that does not exist', '| S1-032 | a limit | [x](../../b.test.ts) |\n', 'b.test.ts, which does not exist'],
    ['a file that is no test', '| S1-032 | a limit | [refused](../../packages/core/src/a.ts) |\n', 'is no test file'],
    ['an id that is none', `| S1-32 | a limit | ${accepted} |\n`, 'S1-32 is no requirement'],
    ['a row of an id alone', '| S1-032 |\n', 'has 1 cells'],
    ['a row without a meaning', `| S1-032 | | ${accepted} |\n`, 'has no meaning'],
    ['a row with tests where the meaning belongs', `| S1-032 | ${accepted} |\n`, 'has no meaning'],
    ['an empty cell of tests', '| S1-032 | a limit | |\n', 'that is not [title](path)'],
    ['a test that is no link', "| S1-032 | a limit | it's accepted |\n", 'that is not [title](path)'],
    ['a title with a bare bar', `| S1-032 | a limit | [one | two](../../${path}) |\n`, 'has 4 cells'],
    ['a test that is named twice', `| S1-032 | a limit | ${accepted}<br>${accepted} |\n`, 'repeats the test'],
    ['a requirement with two rows', `| S1-032 | a limit | ${accepted} |\n`.repeat(2), 'S1-032 has two rows'],
  ])('%s', (_, rows, reason) => {
    expect(findings(rows)).toEqual([expect.stringContaining(reason)])
  })
})

test('the table itself must exist', () => {
  expect(findingsIn(requirementTableRule, treeOf({}))).toEqual(['docs/reference/requirements.md:1 is missing'])
})
