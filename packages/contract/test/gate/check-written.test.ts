import type { ContractFile } from '@waybill/contract'
import { describe, expect, test } from 'vitest'
import { checkWritten } from '../../src/gate/check-written.ts'

function contract(event: string, version: number, schema: ContractFile['schema'] = { type: 'string' }): ContractFile {
  return { event, version, topic: 't', vendor: 'zod', schema }
}

describe('the files of a catalog', () => {
  test('are up to date if they mean the same in other words', () => {
    const file = contract('E', 1, { anyOf: [{ type: 'string' }, { type: 'null' }] })
    const { contracts, findings } = checkWritten([contract('E', 1, { type: ['string', 'null'] })], [file])
    expect([contracts, findings]).toEqual([[file], []])
  })

  test('are out of date if one is missing, differs, or is newer than the catalog', () => {
    const catalog = [
      contract('A', 1),
      contract('B', 1, { type: 'number' }),
      contract('C', 1),
      { ...contract('D', 1), topic: 'u' },
    ]
    const files = [contract('B', 1), contract('C', 1), contract('C', 2), contract('D', 1)]
    const { contracts, findings } = checkWritten(catalog, files)
    expect(findings.map(({ code, severity, message }) => `${severity} ${code} ${message}`)).toEqual([
      'BREAKING WB-C007 the contract file of A version 1 is missing',
      'BREAKING WB-C007 the contract file of B version 1 differs from the catalog',
      'BREAKING WB-C007 the contract file of D version 1 differs from the catalog',
      'BREAKING WB-C007 the contract file of C version 2 is newer than the catalog',
    ])
    // The gate judges what the catalog will write.
    expect(contracts).toEqual(expect.arrayContaining(catalog.slice(0, 2)))
  })

  test.each<[what: string, fields: Partial<ContractFile>]>([
    ['steps', { upcasts: [1] }],
    ['the wire format', { wireFormat: 'ENVELOPE' }],
    ['the codec', { codec: 'application/vnd.apache.avro' }],
    ['undeclared members', { undeclared: 'ALLOW' }],
  ])('are out of date if the catalog says something else about %s', (_, fields) => {
    const { findings } = checkWritten([{ ...contract('E', 2), ...fields }], [contract('E', 2)])
    expect(findings).toMatchObject([{ code: 'WB-C007', severity: 'BREAKING' }])
  })

  test('are reported if the catalog no longer has their event', () => {
    const { findings } = checkWritten([], [contract('A', 1)])
    expect(findings).toMatchObject([{ code: 'WB-C006', severity: 'WARNING', file: 'A/v1.json' }])
  })
})
