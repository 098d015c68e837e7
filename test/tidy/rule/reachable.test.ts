import { expect, test } from 'vitest'
import { findingsIn, treeOf } from '../tree.ts'
import { reachableRule } from './reachable.ts'

const tree = {
  'packages/cli/package.json': JSON.stringify({
    exports: { '.': { '@waybill/source': './src/index.ts' } },
    bin: { waybill: './dist/main.js' },
  }),
  'packages/cli/src/index.ts': "export { a } from './a.ts'",
  'packages/cli/src/a.ts': "const child = new URL('./child/child.ts', import.meta.url)",
  'packages/cli/src/child/child.ts': "await import('./grandchild.ts')",
  'packages/cli/src/child/grandchild.ts': '',
  'packages/cli/src/main.ts': '',
}

test('entries, commands, what they import and the files they name are reached', () => {
  expect(findingsIn(reachableRule, treeOf(tree))).toEqual([])
})

test('a file that only its test imports is found', () => {
  const orphan = {
    'packages/cli/src/orphan.ts': "import { a } from './a.ts'",
    'packages/cli/test/orphan.test.ts': "import { b } from '../src/orphan.ts'",
  }
  expect(findingsIn(reachableRule, treeOf({ ...tree, ...orphan }))).toEqual([
    'packages/cli/src/orphan.ts:1 is reached from no entry and no command of its package',
  ])
})
