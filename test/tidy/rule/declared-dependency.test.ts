import { describe, expect, test } from 'vitest'
import { findingsIn, treeOf } from '../tree.ts'
import { declaredDependencyRule } from './declared-dependency.ts'

const packages = {
  'package.json': '{ "devDependencies": { "vitest": "1" } }',
  'packages/admin/package.json': JSON.stringify({
    name: '@waybill/admin',
    dependencies: { '@waybill/core': '1', fastify: '1' },
    peerDependencies: { 'prom-client': '1' },
    devDependencies: { undici: '1' },
  }),
  'packages/core/package.json': '{ "name": "@waybill/core" }',
}

function imports(path: string, specifier: string): string[] {
  return findingsIn(declaredDependencyRule, treeOf({ ...packages, [path]: `import { x } from '${specifier}'` }))
}

describe('an import is declared', () => {
  test.each([
    ['packages/admin/src/a.ts', 'fastify/plugin'],
    ['packages/admin/src/a.ts', 'prom-client'],
    ['packages/admin/src/a.ts', '@waybill/core'],
    ['packages/admin/src/a.ts', 'node:sqlite'],
    ['packages/admin/src/a.ts', './b.ts'],
    ['packages/admin/test/a.test.ts', 'undici'],
    ['packages/admin/test/a.test.ts', 'vitest'],
    ['packages/core/test/a.test.ts', '@waybill/admin'],
    ['scripts/a.ts', 'vitest'],
  ])('when %s takes %s', (path, specifier) => {
    expect(imports(path, specifier)).toEqual([])
  })
})

describe('an import is not declared', () => {
  test.each([
    ['packages/admin/src/a.ts', 'undici', 'imports undici, which its package.json does not declare'],
    ['packages/admin/src/a.ts', 'vitest', 'imports vitest, which its package.json does not declare'],
    ['packages/core/src/a.ts', '@waybill/admin', 'imports @waybill/admin, which its package.json does not declare'],
    ['packages/core/test/a.test.ts', 'undici', 'imports undici, which its package.json does not declare'],
    ['packages/core/src/a.ts', 'fs', 'write node:fs'],
    ['packages/core/src/a.ts', 'fs/promises', 'write node:fs/promises'],
  ])('when %s takes %s', (path, specifier, reason) => {
    expect(imports(path, specifier)).toEqual([expect.stringContaining(reason)])
  })
})
