import { expect, test } from 'vitest'
import { findingsIn, treeOf } from '../tree.ts'
import { exampleImportRule } from './example-import.ts'

const packages = {
  'package.json': '{ "name": "root" }',
  'packages/core/package.json': '{ "name": "@waybill/core" }',
  'scripts/services/package.json': '{ "name": "@waybill/services", "private": true }',
}

function imports(path: string, specifier: string): string[] {
  return findingsIn(exampleImportRule, treeOf({ ...packages, [path]: `import { x } from '${specifier}'` }))
}

test.each([
  ['examples/shop/src/main.ts', '@waybill/core'],
  ['examples/shop/src/main.ts', '@waybill/core/option'],
  ['examples/shop/src/main.ts', './shop.ts'],
  ['examples/shop/src/main.ts', 'fastify'],
  ['examples/shop/test/shop.test.ts', '@waybill/services'],
  ['packages/sim/src/a.ts', '@waybill/core/internal'],
])('%s may import %s', (path, specifier) => {
  expect(imports(path, specifier)).toEqual([])
})

test.each([
  ['@waybill/core/internal', 'is not published'],
  ['@waybill/services', 'a private package'],
])('an example that imports %s is found', (specifier, reason) => {
  expect(imports('examples/shop/src/main.ts', specifier)).toEqual([expect.stringContaining(reason)])
})
