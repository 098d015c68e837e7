import { expect, test } from 'vitest'
import { findingsIn, treeOf } from '../tree.ts'
import { barrelRule } from './barrel.ts'

const manifest = JSON.stringify({ exports: { '.': { '@waybill/source': './src/index.ts' } } })

test('an entry lists what is public', () => {
  const tree = treeOf({
    'packages/core/package.json': manifest,
    'packages/core/src/index.ts': "export { a, type B } from './a.ts'\n",
    'packages/core/src/a.ts': "import { c } from './c.ts'\nexport const a = c\nexport { c as B }\n",
  })
  expect(findingsIn(barrelRule, tree)).toEqual([])
})

test('another file re-exports nothing and is not called index.ts', () => {
  const tree = treeOf({
    'packages/core/package.json': manifest,
    'packages/core/src/time/index.ts': "\nexport { a } from './a.ts'\n",
    'packages/core/src/time/all.ts': "export type { A } from './a.ts'\n",
  })
  expect(findingsIn(barrelRule, tree)).toEqual([
    'packages/core/src/time/all.ts:1 re-exports from ./a.ts, but is no entry of its package',
    'packages/core/src/time/index.ts:2 re-exports from ./a.ts, but is no entry of its package',
    'packages/core/src/time/index.ts:1 is called index.ts, but is no entry of its package',
  ])
})

test('no file exports everything, not even an entry', () => {
  const tree = treeOf({
    'packages/core/package.json': manifest,
    'packages/core/src/index.ts': "export * from './a.ts'\n",
  })
  expect(findingsIn(barrelRule, tree)).toEqual([expect.stringContaining('exports everything of ./a.ts')])
})
