import {
  type ContractFile,
  checkContracts,
  compareSchemas,
  contractPath,
  contractsOf,
  contractText,
  readContract,
  readWaivers,
  reportText,
} from '@waybill/contract'
import { ArgumentError, defineEvents, fromJsonSchema } from '@waybill/core'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { normalizeSchema } from '../../src/file/normalize-schema.ts'
import { SchemaDrawer, seeded } from '../support/random-schema.ts'

const today = '2026-11-18'

/** The contract of one version of OrderPlaced with a priority of these values. */
function order(version: number, ...values: [string, ...string[]]): ContractFile {
  const schema = z.object({ id: z.string(), priority: z.enum(values).default('normal') })
  const catalog = defineEvents({ OrderPlaced: { topic: 'orders', version, schema, key: ({ id }) => id } })
  const [contract] = contractsOf(catalog)
  if (contract === undefined) throw new RangeError('no contract')
  return contract
}

function spelled(a: object, required: readonly string[]): Record<string, unknown> {
  return { type: 'object', properties: { a }, required }
}

describe('contract files', () => {
  test('hold the input of a schema with sorted keys and are read back', () => {
    const contract = order(2, 'normal', 'high')
    const text = contractText(contract)
    expect(contractPath(contract)).toBe('OrderPlaced/v2.json')
    expect(text.endsWith('}\n')).toBe(true)
    expect(contract.schema['required']).toEqual(['id'])
    expect(readContract('v2.json', text)).toEqual(contract)
    expect(() => readContract('x.json', '{}')).toThrow(ArgumentError)
  })

  test('refuse a schema that JSON Schema cannot describe', () => {
    const schema = z.object({ at: z.date() })
    const catalog = defineEvents({ E: { topic: 't', schema, key: () => null } })
    expect(() => contractsOf(catalog)).toThrow('The schema of E cannot be written as JSON Schema.')
  })

  test('are the same for the spellings of one schema', () => {
    const list = spelled({ type: ['null', 'string'], minLength: 1 }, ['a', 'b'])
    const union = spelled({ anyOf: [{ type: 'string', minLength: 1 }, { type: 'null' }] }, ['b', 'a'])
    const texts = [list, union].map((schema) => {
      const json = fromJsonSchema(schema, new Ajv2020({ strict: false }))
      return contractsOf(defineEvents({ E: { topic: 't', schema: json, key: () => null } })).map(contractText)
    })
    expect(texts[0]).toEqual(texts[1])
  })

  test('keep the meaning of random schemas', () => {
    for (let seed = 0; seed < 200; seed += 1) {
      const schema = new SchemaDrawer(seeded(seed)).event()
      const codes = compareSchemas(schema, normalizeSchema(schema), { writer: 'ANY' }).map(({ code }) => code)
      // A schema that fits nothing says so; a policy finding may follow from a spelling.
      expect(codes.filter((code) => !['WB-C003', 'WB-C103', 'WB-C401'].includes(code))).toEqual([])
    }
  })
})

describe('S2-060 the gate', () => {
  const [v1, wider] = [order(1, 'normal'), order(2, 'normal', 'high')]

  test('passes without a change and with a change that breaks no reader', () => {
    expect(checkContracts({ current: [v1], against: [v1], today })).toMatchObject({
      findings: [],
      compared: 0,
      passes: true,
    })
    expect(checkContracts({ current: [wider], against: [v1], policy: 'BACKWARD', today })).toMatchObject({
      findings: [],
      passes: true,
    })
  })

  test('warns of what is stricter than the policy, fails on it with strict, and on what the policy forbids', () => {
    const lenient = checkContracts({ current: [wider], against: [v1], today })
    expect(lenient.passes).toBe(true)
    expect(lenient.findings.map(({ code, severity }) => `${code} ${severity}`)).toEqual(['WB-C205 WARNING'])
    expect(checkContracts({ current: [wider], against: [v1], strict: true, today }).passes).toBe(false)
    const removed = { ...wider, schema: { type: 'object', properties: {} } }
    expect(checkContracts({ current: [removed], against: [v1], today }).passes).toBe(false)
  })

  test('finds an edited version, a removed event, and with a transitive policy a break with an older version', () => {
    const edited = checkContracts({ current: [{ ...wider, version: 1 }], against: [v1], today })
    expect(edited.findings[0]?.code).toBe('WB-C001')
    expect(checkContracts({ current: [], against: [v1], today }).findings[0]?.code).toBe('WB-C006')
    const versions = [{ p: { type: 'string' } }, {}, { p: { type: 'number' } }].map((properties, index) => ({
      ...v1,
      version: index + 1,
      schema: { type: 'object', properties },
    }))
    const check = (policy: 'FULL' | 'FULL_TRANSITIVE'): boolean =>
      checkContracts({ current: versions.slice(2), against: versions.slice(0, 2), policy, today }).passes
    expect([check('FULL'), check('FULL_TRANSITIVE')]).toEqual([true, false])
  })

  test('accepts a waived finding until its last day, and fails on a waiver that covers nothing', () => {
    const entry = { code: 'WB-C205', event: 'OrderPlaced', until: today, reason: 'readers are rolled out' }
    const waivers = readWaivers('waivers.json', JSON.stringify([entry]))
    const options = { current: [wider], against: [v1], strict: true, waivers }
    expect(checkContracts({ ...options, today }).passes).toBe(true)
    expect(checkContracts({ ...options, today: '2026-11-19' }).passes).toBe(false)
    expect(checkContracts({ ...options, current: [v1], today })).toMatchObject({ passes: false, staleWaivers: waivers })
    expect(() => readWaivers('waivers.json', '[{"code":"WB-C205"}]')).toThrow(ArgumentError)
  })

  test('reports as text, as JSON and as annotations', () => {
    const report = checkContracts({ current: [wider], against: [v1], strict: true, today })
    expect(reportText(report, 'text', 'schemas')).toContain(
      'BREAKING WB-C205 OrderPlaced/v2.json: priority also lists "high"',
    )
    expect(JSON.parse(reportText(report, 'json', 'schemas'))).toEqual(JSON.parse(JSON.stringify(report)))
    expect(reportText(report, 'github', 'schemas')).toMatch(
      /^::error file=schemas\/OrderPlaced\/v2.json,line=1,title=WB-C205::priority/,
    )
  })
})
