import { expect, test } from 'vitest'
import { findingsIn, treeOf } from '../tree.ts'
import { cycleRule } from './cycle.ts'

test('a diamond is no circle', () => {
  const tree = treeOf({
    'src/a.ts': "import './b.ts'\nimport './c.ts'",
    'src/b.ts': "import './d.ts'",
    'src/c.ts': "import './d.ts'",
    'src/d.ts': '',
  })
  expect(findingsIn(cycleRule, tree)).toEqual([])
})

test('a circle is reported once, by its shortest way round', () => {
  const tree = treeOf({
    'src/a.ts': "import './b.ts'",
    'src/b.ts': "import './sub/c.ts'",
    'src/sub/c.ts': "import '../a.ts'\nimport '../d.ts'",
    'src/d.ts': "import './a.ts'",
  })
  expect(findingsIn(cycleRule, tree)).toEqual([
    'src/a.ts:1 imports itself: src/a.ts -> src/b.ts -> src/sub/c.ts -> src/a.ts',
    'src/d.ts:1 imports itself: src/d.ts -> src/a.ts -> src/b.ts -> src/sub/c.ts -> src/d.ts',
  ])
})

test.each([
  ["import type { A } from './a.ts'", 'of types'],
  ["export { a } from './a.ts'", 'by way of a re-export'],
  ["const a = await import('./a.ts')", 'by a dynamic import'],
])('%j closes a circle %s', (text) => {
  expect(findingsIn(cycleRule, treeOf({ 'a.ts': "import './b.ts'", 'b.ts': text }))).toHaveLength(1)
})

test('a file that imports itself is a circle of one', () => {
  expect(findingsIn(cycleRule, treeOf({ 'a.ts': "import './a.ts'" }))).toEqual(['a.ts:1 imports itself: a.ts -> a.ts'])
})
