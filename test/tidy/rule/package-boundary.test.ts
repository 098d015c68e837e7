import { describe, expect, test } from 'vitest'
import { findingsIn, treeOf } from '../tree.ts'
import { packageBoundaryRule } from './package-boundary.ts'

const packages = {
  'package.json': '{ "name": "root" }',
  'packages/core/package.json': '{ "name": "@waybill/core", "exports": { ".": {}, "./option": {} } }',
  'packages/sim/package.json': '{ "name": "@waybill/sim", "exports": { ".": {} } }',
}

function imports(path: string, specifier: string): string[] {
  return findingsIn(packageBoundaryRule, treeOf({ ...packages, [path]: `import { x } from '${specifier}'` }))
}

describe('a package is entered', () => {
  test.each([
    ['packages/sim/src/a.ts', '@waybill/core'],
    ['packages/sim/src/a.ts', '@waybill/core/option'],
    ['packages/core/src/deep/a.ts', '../errors.ts'],
    ['packages/core/test/a.test.ts', '../src/errors.ts'],
    ['packages/core/test/a.test.ts', '@waybill/core'],
    ['packages/core/test/a.test.ts', '../../../contracts/vectors.json'],
    ['test/a.test.ts', './tidy/tree.ts'],
    ['packages/sim/src/a.ts', 'node:fs'],
    ['packages/sim/src/a.ts', 'fastify'],
  ])('by %s as %s', (path, specifier) => {
    expect(imports(path, specifier)).toEqual([])
  })
})

describe('a package is not entered', () => {
  test.each([
    ['packages/sim/src/a.ts', '../../core/src/errors.ts', 'reaches into @waybill/core by the path'],
    ['packages/sim/test/a.test.ts', '../../core/src/errors.ts', 'reaches into @waybill/core by the path'],
    ['test/a.test.ts', '../packages/core/src/errors.ts', 'reaches into @waybill/core by the path'],
    ['packages/sim/src/a.ts', '@waybill/core/src/errors.ts', 'the exports map of @waybill/core does not offer'],
    ['packages/sim/src/a.ts', '@waybill/core/dist/errors.js', 'the exports map of @waybill/core does not offer'],
    ['packages/sim/src/a.ts', '@waybill/nowhere', 'no package here has that name'],
    ['packages/core/src/a.ts', '@waybill/core', 'imports its own package by name'],
    ['packages/core/src/a.ts', '../test/support.ts', 'leaves src'],
    ['packages/core/src/a.ts', '../../../contracts/vectors.json', 'reaches into root by the path'],
  ])('by %s as %s', (path, specifier, reason) => {
    expect(imports(path, specifier)).toEqual([expect.stringContaining(reason)])
  })
})
