import { expect, test } from 'vitest'
import { findingsIn, treeOf } from '../tree.ts'
import { fileSizeRule, sourceSizeRule } from './size.ts'

test('a source file has at most 500 lines', () => {
  const tree = treeOf({
    'packages/core/src/long.ts': 'a\n'.repeat(501),
    'packages/core/src/full.ts': 'a\n'.repeat(500),
    'packages/core/test/long.test.ts': 'a\n'.repeat(501),
  })
  expect(findingsIn(sourceSizeRule, tree)).toEqual(['packages/core/src/long.ts:501 has 501 lines'])
})

test('a file has at most 500 kB', () => {
  const tree = treeOf({ 'docs/large.svg': 'a'.repeat(500_001), 'docs/full.svg': 'a'.repeat(500_000) })
  expect(findingsIn(fileSizeRule, tree)).toEqual(['docs/large.svg:1 has 501 kB'])
})
