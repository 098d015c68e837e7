import { describe, expect, test } from 'vitest'
import { findingsIn, treeOf } from '../tree.ts'
import { invariantRule, nobodyRule, openingRule, requirementIdRule } from './words.ts'

const path = 'packages/a/src/a.ts'

describe('the words of a source', () => {
  test.each([
    [openingRule, '/** What it is. */', 'has a comment that opens with "What"'],
    [nobodyRule, '// Nobody knows.', 'speaks of Nobody'],
    [requirementIdRule, '// Kept by S0-151.', 'names S0-151'],
  ] as const)('are refused by the rule "$title" in src and nowhere else', (rule, text, message) => {
    const tree = treeOf({ [path]: text, 'packages/a/test/a.test.ts': text })
    expect(findingsIn(rule, tree)).toEqual([expect.stringContaining(`${path}:1 ${message}`)])
  })
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
