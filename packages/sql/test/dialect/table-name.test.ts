import { ArgumentError } from '@waybill/core'
import { describe, expect, test } from 'vitest'
import { parseTableName } from '../../src/dialect/table-name.ts'

describe('the name of a table', () => {
  test.each([
    ['outbox_event', 'postgres', '"outbox_event"'],
    ['Billing.Outbox', 'postgres', '"Billing"."Outbox"'],
    ['outbox_event', 'mysql', '`outbox_event`'],
    ['_1', 'sqlite', '"_1"'],
  ] as const)('%s is quoted on %s', (name, dialect, quoted) => {
    expect(parseTableName(name, dialect).quoted).toBe(quoted)
  })

  test.each([
    ['', 'postgres'],
    ['1st', 'postgres'],
    ['outbox event', 'postgres'],
    ['outbox"; drop table x; --', 'postgres'],
    ['a.b.c', 'postgres'],
    ['.b', 'postgres'],
    ['billing.outbox', 'mysql'],
    ['main.outbox', 'sqlite'],
    ['outbox`', 'mysql'],
    ['outbox\n', 'sqlite'],
    ['größe', 'postgres'],
    ['x'.repeat(49), 'postgres'],
  ] as const)('%j is refused on %s', (name, dialect) => {
    expect(() => parseTableName(name, dialect)).toThrow(ArgumentError)
  })

  test('gives its name to what belongs to it', () => {
    const table = parseTableName('billing.outbox', 'postgres')
    expect(table.beside('_shard').quoted).toBe('"billing"."outbox_shard"')
    expect(table.index('_new')).toBe('"outbox_new"')
  })
})
