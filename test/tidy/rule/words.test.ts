import { describe, expect, test } from 'vitest'
import { type Finding, findingsIn, treeOf } from '../tree.ts'
import { findAbove, invariantRule } from './words.ts'

const path = 'packages/a/src/a.ts'

const find = (file: string): Finding[] => [{ path: file, line: 1, message: 'is wrong' }]

test('a number of findings is allowed, and one more is not', () => {
  const tree = treeOf({ [path]: 'x', 'packages/b/src/b.ts': 'x', 'packages/b/test/b.ts': 'x' })
  expect(findAbove(tree, find, 2)).toEqual([])
  expect(findAbove(tree, find, 1)).toEqual([
    { path: 'test/tidy/rule/words.ts', line: 1, message: 'allows 1, and there are 2' },
    { path, line: 1, message: 'is wrong' },
    { path: 'packages/b/src/b.ts', line: 1, message: 'is wrong' },
  ])
})

describe('an invariant has a heading', () => {
  test.each([['## I1: settled'], ['### I1 settled'], ['## I1'], ['#### `I1` settled'], ['### I1. Settled']])(
    '%s',
    (heading) => {
      const tree = treeOf({ [path]: '// Keeps I1.', 'docs/explanation/invariants.md': `# Invariants\n\n${heading}\n` })
      expect(findingsIn(invariantRule, tree)).toEqual([])
    },
  )
})

describe('an invariant has no heading', () => {
  test.each([
    ['when another begins with its id', '## I12: settled'],
    ['when only prose names it', 'I1 is settled'],
    ['when there is no page', undefined],
  ])('%s', (_, page) => {
    const tree = treeOf({
      [path]: '\n// Keeps I1.',
      ...(page === undefined ? {} : { 'docs/explanation/invariants.md': page }),
    })
    expect(findingsIn(invariantRule, tree)).toEqual([
      `${path}:2 names I1, which docs/explanation/invariants.md does not explain`,
    ])
  })
})
