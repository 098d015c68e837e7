import { contractsOf } from '@waybill/contract'
import { checkInventory, inventoryOf, readInventory, type WaitingInventory } from '@waybill/contract/waiting'
import { ArgumentError, defineEvents, type EventCatalog, fromJsonSchema, type Schemas } from '@waybill/core'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { describe, expect, test } from 'vitest'
import { careless, released, stepped } from './shop-catalogs.ts'

const contracts = contractsOf(released('orders'))

function inventory(version = 1, fields: Partial<WaitingInventory> = {}): WaitingInventory {
  return {
    format: 'waybill-waiting/1',
    takenAt: '2026-11-18T00:00:00.000Z',
    complete: true,
    counts: [{ event: 'OrderPlaced', version, count: 12 }],
    ...fields,
  }
}

async function check(catalog: EventCatalog<never> | null, waiting: WaitingInventory): Promise<string[]> {
  const catalogs = catalog === null ? [] : [catalog as unknown as EventCatalog<Schemas>]
  const findings = await checkInventory({ catalogs, contracts, inventory: waiting })
  return findings.map(({ code, severity, file, message }) => `${code} ${severity} ${file} ${message}`)
}

const as = (catalog: unknown): EventCatalog<never> => catalog as EventCatalog<never>

function withPattern(pattern: string, version: number): EventCatalog<Schemas> {
  const json = {
    type: 'object',
    properties: { id: { type: 'string' }, code: { type: 'string', pattern } },
    required: ['id'],
  }
  return defineEvents({
    OrderPlaced: { topic: 'orders', version, schema: fromJsonSchema(json, new Ajv2020()), key: () => null },
  })
}

describe('an inventory of waiting records', () => {
  test('passes if the new catalog reads events of every waiting version', async () => {
    expect(await check(as(released('orders')), inventory())).toEqual([])
    expect(await check(as(stepped('orders')), inventory())).toEqual([])
  })

  test('fails with an example if it does not', async () => {
    expect(await check(as(careless('orders')), inventory())).toEqual([
      expect.stringMatching(
        /^WB-C601 BREAKING OrderPlaced\/v1.json 12 records of OrderPlaced version 1 wait, and the catalog refuses \d+ of \d+ events of that version: .*priority/,
      ),
    ])
    expect(await check(null, inventory())).toEqual([
      'WB-C601 BREAKING OrderPlaced/v1.json 12 records of OrderPlaced version 1 wait, and no catalog has the event',
    ])
  })

  test('cannot be judged for a version that is newer, or has no contract file, or if it is incomplete', async () => {
    expect(await check(as(released('orders')), inventory(3))).toEqual([
      'WB-C602 WARNING OrderPlaced/v3.json 12 records of OrderPlaced version 3 wait, and the catalog knows version 1 at most: they are read as version 1',
    ])
    expect(await check(as(careless('orders')), inventory(2))).toEqual([
      'WB-C602 WARNING OrderPlaced/v2.json 12 records of OrderPlaced version 2 wait, and the version has no contract file',
    ])
    expect(await check(as(stepped('orders')), inventory(1, { complete: false }))).toEqual([
      'WB-C602 WARNING  the inventory of 2026-11-18T00:00:00.000Z was not read to its end: records of other versions may wait',
    ])
  })

  test('cannot be judged where a change cannot be compared', async () => {
    const findings = await checkInventory({
      catalogs: [withPattern(String.raw`^(a)(?:\1)$`, 2)],
      contracts: contractsOf(withPattern(String.raw`^(a)\1$`, 1)),
      inventory: inventory(),
    })
    expect(findings.map(({ code, message }) => `${code} ${message}`)).toEqual([
      expect.stringContaining(
        'WB-C602 12 records of OrderPlaced version 1 wait, and it is not proven: pattern of code',
      ),
    ])
  })

  test('is quiet about versions of which nothing waits', async () => {
    const counts = [{ event: 'Gone', version: 1, count: 0 }]
    expect(await check(null, inventory(1, { counts }))).toEqual([])
  })

  test.each([
    ['{', 'is not JSON'],
    ['{}', 'is no inventory'],
    [JSON.stringify(inventory(0)), 'is no inventory'],
    [JSON.stringify({ ...inventory(), takenAt: 'yesterday' }), 'is no inventory'],
    [JSON.stringify({ ...inventory(), format: 'waybill-waiting/2' }), 'is no inventory'],
  ])('is refused: %s', (text, problem) => {
    expect(() => readInventory('waiting.json', text)).toThrow(ArgumentError)
    expect(() => readInventory('waiting.json', text)).toThrow(`waiting.json ${problem}`)
  })

  test('leaves out records that no catalog could read before', () => {
    const entry = { event: 'OrderPlaced', version: 1 }
    const counts = [
      { ...entry, count: 2, knownUnreadable: 2 },
      { ...entry, version: 2, count: 3, knownUnreadable: 1 },
      { event: null, version: null, count: 1, knownUnreadable: 0 },
    ]
    expect(inventoryOf({ isComplete: true, counts }, new Date(0)).counts).toEqual([{ ...entry, version: 2, count: 2 }])
  })

  test('is read back', () => {
    expect(readInventory('waiting.json', JSON.stringify(inventory()))).toEqual(inventory())
  })
})
