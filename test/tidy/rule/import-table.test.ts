import { describe, expect, test } from 'vitest'
import { findingsIn, treeOf } from '../tree.ts'
import { importTableRule, packageTable } from './import-table.ts'

function imports(path: string, specifier: string): string[] {
  return findingsIn(importTableRule, treeOf({ [path]: `import { x } from '${specifier}'` }))
}

describe('the table allows', () => {
  test.each([
    ['packages/core/src/a.ts', 'node:crypto'],
    ['packages/core/src/idempotency/a.ts', '../event/b.ts'],
    ['packages/core/src/idempotency/a.ts', './b.ts'],
    ['packages/core/src/index.ts', './idempotency/a.ts'],
    ['packages/sql/src/a.ts', '@waybill/core'],
    ['packages/sql/src/a.ts', '@waybill/outbox'],
    ['packages/connector/src/a.ts', '@waybill/kafka/internal'],
    ['packages/sim/src/a.ts', '@waybill/kafka/wire'],
    ['packages/kafka/src/wire/records/a.ts', '@platformatic/wasm-utils'],
    ['packages/testkit/src/a.ts', '@waybill/sim'],
    ['packages/admin/src/a.ts', 'fastify'],
    ['packages/cli/src/a.ts', '@waybill/testkit'],
    ['packages/core/test/a.test.ts', '@waybill/sim'],
    ['examples/demo/src/main.ts', '@waybill/sim'],
  ])('%s to import %s', (path, specifier) => {
    expect(imports(path, specifier)).toEqual([])
  })
})

describe('the table forbids', () => {
  test.each([
    ['packages/core/src/a.ts', '@waybill/kafka', "@waybill/core may import Node's modules only"],
    ['packages/core/src/a.ts', 'zod', "@waybill/core may import Node's modules only"],
    ['packages/sql/src/a.ts', '@waybill/kafka', '@waybill/sql may import @waybill/core'],
    ['packages/kafka/src/a.ts', '@waybill/sql', '@waybill/kafka may import @waybill/core'],
    ['packages/kafka/src/a.ts', '@waybill/sim', '@waybill/kafka may import @waybill/core'],
    ['packages/admin/src/a.ts', '@waybill/testkit', '@waybill/admin may import @waybill/core, @waybill/kafka'],
    ['packages/kafka/src/a.ts', '@waybill/connector', '@waybill/kafka may import @waybill/core'],
    ['packages/outbox/src/a.ts', '@waybill/kafka', '@waybill/outbox may import @waybill/core'],
    ['packages/connector/src/a.ts', '@waybill/outbox', '@waybill/connector may import @waybill/core, @waybill/kafka'],
    [
      'packages/sim/src/a.ts',
      '@waybill/kafka',
      '@waybill/sim may import @waybill/core, @waybill/outbox, @waybill/kafka/wire',
    ],
    [
      'packages/sim/src/a.ts',
      '@waybill/kafka/wired',
      '@waybill/sim may import @waybill/core, @waybill/outbox, @waybill/kafka/wire',
    ],
    ['packages/testkit/src/a.ts', 'waybill', '@waybill/testkit may import'],
    ['packages/sql/src/a.ts', '@waybill/test-support', '@waybill/sql may import @waybill/core'],
    ['packages/kafka/src/client/a.ts', '@node-rs/crc32', 'outside packages/kafka/src/wire/records/'],
    ['packages/core/src/projection/a.ts', '../schema/b.ts', 'imports schema/ from projection/'],
    ['packages/core/src/schema/a.ts', '../idempotency/b.ts', 'imports idempotency/ from schema/'],
    ['packages/core/src/idempotency/deep/a.ts', '../../schema/b.ts', 'imports schema/ from idempotency/'],
    ['packages/newcomer/src/a.ts', '@waybill/core', 'has no row in the import table'],
  ])('%s to import %s', (path, specifier, reason) => {
    expect(imports(path, specifier)).toEqual([expect.stringContaining(reason)])
  })

  test('types and dynamic imports like values', () => {
    const text = "import type { K } from '@waybill/kafka'\nawait import('@waybill/sim')\n"
    expect(findingsIn(importTableRule, treeOf({ 'packages/core/src/a.ts': text }))).toEqual([
      "packages/core/src/a.ts:1 imports @waybill/kafka, but @waybill/core may import Node's modules only",
      "packages/core/src/a.ts:2 imports @waybill/sim, but @waybill/core may import Node's modules only",
    ])
  })

  test('an import whose name is computed', () => {
    const tree = treeOf({ 'packages/sql/src/a.ts': 'const driver = await import(name)\n' })
    expect(findingsIn(importTableRule, tree)).toEqual([expect.stringContaining('imports a computed name')])
  })
})

test('the table has no circle: every package imports only packages above it', () => {
  const upward = packageTable.flatMap(({ imports: allowed }, index) => {
    const above = packageTable.slice(0, index)
    return allowed.filter((entry) => !above.some(({ name }) => `${entry}/`.startsWith(`${name}/`)))
  })
  expect(upward).toEqual([])
})
