import {
  type CheckContractsOptions,
  type ContractFile,
  type ContractReport,
  type ContractWaiver,
  checkContracts,
  compareSchemas,
  contractPath,
  contractsOf,
  contractText,
  readContract,
  readWaivers,
  reportText,
} from '@waybill/contract'
import { ArgumentError, defineEvents, fromJsonSchema, upcast } from '@waybill/core'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { normalizeSchema } from '../../src/file/normalize-schema.ts'
import { isWaivedBy } from '../../src/file/waiver.ts'
import { findingOf } from '../../src/rule/finding.ts'
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

function withProperty({ schema }: ContractFile, name: string, inner: object): ContractFile['schema'] {
  return { ...schema, properties: { ...(schema['properties'] as object), [name]: inner } } as ContractFile['schema']
}

/** The same schema with its id as a union of one. */
function asUnion(contract: ContractFile): ContractFile['schema'] {
  return withProperty(contract, 'id', { anyOf: [{ type: 'string' }] })
}

function check(options: Omit<CheckContractsOptions, 'today'>): ContractReport {
  return checkContracts({ ...options, today })
}

function whyStale({ staleWaivers }: ContractReport): string[] {
  return staleWaivers.map(({ why }) => why)
}

function codesOf({ findings }: ContractReport): string[] {
  return findings.map(({ code, severity }) => `${code} ${severity}`)
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

  test('keep a union whose place has keywords that do not see its properties', () => {
    const union = { anyOf: [{ type: 'object', properties: { a: {} } }, { type: 'null' }], additionalProperties: false }
    expect(normalizeSchema(union)).toMatchObject(union)
    expect(compareSchemas(union, normalizeSchema(union), { writer: 'ANY' })).toEqual([])
  })

  test('keep a union that a reference leads into', () => {
    const schema = {
      $ref: '#/$defs/a/anyOf/0',
      $defs: { a: { anyOf: [{ type: 'object', properties: { id: { type: 'string' } } }, { type: 'null' }] } },
    }
    expect(normalizeSchema(schema)).toMatchObject(schema)
    expect(compareSchemas(schema, normalizeSchema(schema), { writer: 'ANY' })).toEqual([])
  })

  test('say in which form records are written, which steps there are, and whether anything may be written', () => {
    const [v0, last] = [z.object({ a: z.string() }), z.object({ b: z.string() })]
    const definition = {
      topic: 't',
      version: 2,
      schema: last,
      upcasters: { 1: upcast(v0, last, ({ a }) => ({ b: a })) },
      key: ({ b }: { b: string }) => b,
    }
    const [contract] = contractsOf(defineEvents({ E: definition }, { wireFormat: 'ENVELOPE', undeclared: 'ALLOW' }))
    if (contract === undefined) throw new RangeError('no contract')
    expect(contract).toMatchObject({ upcasts: [1], wireFormat: 'ENVELOPE', undeclared: 'ALLOW' })
    expect(readContract('E/v2.json', contractText(contract))).toEqual(contract)
    expect(contractText(order(1, 'normal'))).not.toMatch(/upcasts|wireFormat|codec|undeclared/)
  })

  test('stay in their folder, whatever an event is called', () => {
    expect(contractPath({ event: '..', version: 1 })).toBe('%2E%2E/v1.json')
    expect(contractPath({ event: 'a/../b', version: 1 })).toBe('a%2F..%2Fb/v1.json')
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
    expect(checkContracts({ current: [v1, wider], against: [v1], policy: 'BACKWARD', today })).toMatchObject({
      findings: [],
      passes: true,
    })
  })

  test('compares events that are called like members of every object', () => {
    for (const event of ['constructor', '__proto__', 'toString'])
      expect(
        checkContracts({
          current: [
            { ...v1, event },
            { ...wider, event },
          ],
          against: [{ ...v1, event }],
          today,
        }),
      ).toMatchObject({
        findings: [{ code: 'WB-C205', event }],
      })
  })

  test('warns of what is stricter than the policy, fails on it with strict, and on what the policy forbids', () => {
    const lenient = checkContracts({ current: [v1, wider], against: [v1], today })
    expect(lenient.passes).toBe(true)
    expect(lenient.findings.map(({ code, severity }) => `${code} ${severity}`)).toEqual(['WB-C205 WARNING'])
    expect(checkContracts({ current: [v1, wider], against: [v1], strict: true, today }).passes).toBe(false)
    const removed = { ...wider, schema: { type: 'object', properties: {} } }
    expect(checkContracts({ current: [v1, removed], against: [v1], today }).passes).toBe(false)
  })

  test('finds an edited version and a removed event or version', () => {
    const edited = check({ current: [{ ...wider, version: 1 }], against: [v1] })
    expect(codesOf(edited)).toEqual(['WB-C001 WARNING', 'WB-C205 WARNING'])
    expect(codesOf(check({ current: [], against: [v1] }))).toEqual(['WB-C006 WARNING'])
    expect(codesOf(check({ current: [{ ...v1, version: 2 }], against: [v1], strict: true }))).toEqual([
      'WB-C008 BREAKING',
    ])
  })

  test('S2-057 only notes an edit that adds an optional property with a default', () => {
    const edited = { ...v1, schema: withProperty(v1, 'note', { type: 'string', default: '' }) }
    const report = check({ current: [edited], against: [v1], strict: true })
    expect(codesOf(report)).toEqual(['WB-C001 INFO'])
    expect(report.passes).toBe(true)
  })

  test('only notes another spelling of a released version, and names the library that changed', () => {
    const before: ContractFile = { ...v1, vendorVersion: '4.1.13', schema: asUnion(v1) }
    const report = check({ current: [{ ...v1, vendorVersion: '4.6.7' }], against: [before], strict: true })
    expect(codesOf(report)).toEqual(['WB-C005 INFO'])
    expect(report).toMatchObject({
      passes: true,
      libraries: [{ from: 'zod 4.1.13', to: 'zod 4.6.7', events: ['OrderPlaced'] }],
    })
    expect(reportText(report, 'text', 'schemas')).toMatch(/^The schema library changed from zod 4.1.13 to zod 4.6.7.\n/)
  })

  test('keeps a union of constants whose types differ', () => {
    const anyOf = [
      { type: 'string', const: 'a' },
      { type: 'integer', const: 1 },
    ]
    expect(normalizeSchema({ anyOf })).toMatchObject({ anyOf })
  })

  test('names the events of a library that changed, and none where the file names no library', () => {
    const paid = { ...v1, event: 'OrderPaid' }
    const librariesOf = (before: Partial<ContractFile>, after: Partial<ContractFile>): ContractReport['libraries'] =>
      check({
        current: [v1, paid].map((each) => ({ ...each, ...after })),
        against: [v1, paid].map((each) => ({ ...each, ...before })),
      }).libraries
    expect(librariesOf({}, { vendor: 'valibot' })).toEqual([
      { from: 'zod', to: 'valibot', events: ['OrderPlaced', 'OrderPaid'] },
    ])
    expect(librariesOf({ vendor: '' }, {})).toEqual([])
    expect(librariesOf({}, { vendorVersion: '4.6.7' })).toEqual([])
  })

  test('finds an event that moved to another topic', () => {
    const report = check({ current: [v1, { ...v1, version: 2, topic: 'orders.v2' }], against: [v1] })
    expect(report.findings).toMatchObject([
      { code: 'WB-C009', message: 'OrderPlaced moved from the topic orders to orders.v2' },
    ])
    // A file that names no topic says nothing about a move.
    for (const [before, now] of [
      ['', 'orders'],
      ['orders', ''],
    ] as const)
      expect(check({ current: [{ ...v1, topic: now }], against: [{ ...v1, topic: before }] }).findings).toEqual([])
  })

  test('compares with all released versions, and warns of older ones unless the policy is transitive', () => {
    const versions = [{ p: { type: 'string' } }, {}, { p: { type: 'number' } }].map((properties, index) => ({
      ...v1,
      version: index + 1,
      schema: { type: 'object', properties },
    }))
    const run = (policy: 'FULL' | 'FULL_TRANSITIVE', strict: boolean): ContractReport =>
      check({ current: versions, against: versions.slice(0, 2), policy, strict })
    const broken = 'WB-C103 BREAKING'
    expect(codesOf(run('FULL', false))).toEqual(['WB-C103 WARNING'])
    expect(run('FULL', false).passes).toBe(true)
    expect(codesOf(run('FULL', true))).toEqual([broken])
    expect(codesOf(run('FULL_TRANSITIVE', false))).toContain(broken)
    expect(run('FULL_TRANSITIVE', false).findings[0]?.against).toBe(1)
  })

  test('compares an unchanged version with an earlier one that was edited', () => {
    const v2 = { ...v1, version: 2 }
    const edited = { ...wider, version: 1 }
    const findings = check({ current: [edited, v2], against: [v1, v2], policy: 'BACKWARD' }).findings
    expect(findings.filter(({ file }) => file === 'OrderPlaced/v2.json')).toMatchObject([
      { code: 'WB-C206', against: 1 },
    ])
    expect(check({ current: [v1, v2], against: [v1, v2] })).toMatchObject({ compared: 0, passes: true })
  })

  test('warns of what upcast steps repair, with strict too, and still fails on what old readers refuse', () => {
    const v2 = {
      ...v1,
      version: 2,
      schema: { ...v1.schema, required: ['id', 'note'], properties: { id: {}, note: {} } },
    }
    const run = (policy: 'BACKWARD' | 'FORWARD', upcasts: number[]): boolean =>
      check({ current: [v1, { ...v2, upcasts }], against: [v1], policy, strict: true }).passes
    expect([run('BACKWARD', []), run('BACKWARD', [1]), run('BACKWARD', [2])]).toEqual([false, true, false])
    expect(run('FORWARD', [1])).toBe(false)
  })

  test('compares an unchanged version with those from which a step no longer leads to it', () => {
    const v2 = { ...v1, version: 2, upcasts: [1], schema: withProperty(v1, 'id', { type: 'integer' }) }
    const { upcasts: _, ...withoutSteps } = v2
    const run = (now: ContractFile): ContractReport =>
      check({ current: [v1, now], against: [v1, v2], policy: 'BACKWARD' })
    expect(codesOf(run(v2))).toEqual([])
    expect(codesOf(run(withoutSteps))).toEqual(['WB-C103 BREAKING'])
    expect(codesOf(run({ ...v2, upcasts: [1, 2] }))).toEqual([])
  })

  test('takes members that no schema declares for written, where a catalog allows them', () => {
    const open: ContractFile = { ...v1, undeclared: 'ALLOW' }
    const more = { ...v1, version: 2, schema: withProperty(v1, 'note', { type: 'string' }) }
    const run = (before: ContractFile, now: ContractFile): string[] =>
      codesOf(check({ current: [before, now], against: [before] }))
    expect(run(v1, more)).toEqual([])
    // An old event may have a note that is no text.
    expect(run(open, more)).toEqual(['WB-C103 WARNING'])
    // A new event may have anything that the old schema refuses.
    const closed = { ...v1, schema: { ...v1.schema, additionalProperties: false } }
    expect(run(closed, { ...closed, version: 2 })).toEqual([])
    expect(run(closed, { ...closed, version: 2, schema: v1.schema, undeclared: 'ALLOW' })).toEqual(['WB-C203 WARNING'])
    // Without another version, too.
    expect(codesOf(check({ current: [open], against: [v1] }))).toEqual(['WB-C001 INFO'])
    const narrow = withProperty(v1, 'note', { type: 'string' })
    const edited = { ...v1, schema: narrow, undeclared: 'ALLOW' as const }
    expect(codesOf(check({ current: [edited], against: [{ ...v1, schema: narrow }] }))).toEqual(['WB-C001 INFO'])
  })

  test.each<[what: string, fields: Partial<ContractFile>, form: string]>([
    ['the wire format', { wireFormat: 'CLOUDEVENTS' }, 'CLOUDEVENTS'],
    ['the codec', { codec: 'application/x-protobuf' }, 'JSON with payloads of application/x-protobuf'],
  ])('finds records in another form: %s', (_, fields, form) => {
    const changed = { ...v1, ...fields }
    for (const version of [1, 2]) {
      const { findings } = check({ current: [v1, { ...changed, version }], against: [v1] })
      expect(findings.filter(({ code }) => code === 'WB-C011')).toMatchObject([
        { severity: 'WARNING', message: `records of OrderPlaced are ${form}, and were JSON`, against: 1 },
      ])
    }
    expect(check({ current: [changed], against: [v1], strict: true }).passes).toBe(false)
    expect(codesOf(check({ current: [changed], against: [changed], strict: true }))).toEqual([])
  })

  test('fails on a type that both directions refuse, although upcast steps repair one of them', () => {
    const v2 = { ...v1, version: 2, upcasts: [1], schema: withProperty(v1, 'id', { type: 'integer' }) }
    const options = { current: [v1, v2], against: [v1] }
    expect(check(options)).toMatchObject({
      passes: false,
      findings: [
        { code: 'WB-C103', direction: 'BACKWARD', severity: 'WARNING' },
        { code: 'WB-C103', direction: 'FORWARD', severity: 'BREAKING' },
      ],
    })
    expect(check({ ...options, policy: 'BACKWARD' }).passes).toBe(true)
  })

  test('accepts a waived finding until its last day, and fails on a waiver that covers nothing', () => {
    const entry = { code: 'WB-C205', event: 'OrderPlaced', until: today, reason: 'readers are rolled out' }
    const waivers = readWaivers('waivers.json', JSON.stringify([entry]))
    const options = { current: [v1, wider], against: [v1], strict: true, waivers }
    expect(checkContracts({ ...options, today }).passes).toBe(true)
    expect(checkContracts({ ...options, today: '2026-11-19' }).passes).toBe(false)
    expect(whyStale(check({ ...options, current: [v1] }))).toEqual(['UNUSED'])
    expect(whyStale(checkContracts({ ...options, today: '2026-11-19' }))).toEqual(['EXPIRED'])
    expect(() => readWaivers('waivers.json', '[{"code":"WB-C205"}]')).toThrow(ArgumentError)
  })

  test('only notes a waiver of the base that covers nothing any more', () => {
    const entry = { code: 'WB-C205', event: 'OrderPlaced', until: today, reason: 'readers are rolled out' }
    const waivers = readWaivers('waivers.json', JSON.stringify([entry]))
    const merged = { current: [v1, wider], against: [v1, wider], strict: true, waivers }
    const report = check({ ...merged, releasedWaivers: waivers })
    expect([report.passes, report.staleWaivers]).toEqual([true, [{ ...entry, why: 'UNUSED', severity: 'INFO' }]])
    expect(reportText(report, 'text', 'schemas')).toContain('INFO WB-C010 The waiver of WB-C205 for OrderPlaced covers')
    expect(reportText(report, 'github', 'schemas')).toContain('::notice file=schemas/waivers.json')
    expect(check({ ...merged, releasedWaivers: [{ ...entry, reason: 'another' }] }).passes).toBe(false)
    const late = checkContracts({ ...merged, releasedWaivers: waivers, today: '2026-11-19' })
    expect([late.passes, whyStale(late)]).toEqual([false, ['EXPIRED']])
  })

  test('waives a finding at one place only where the waiver names it', () => {
    const entry = { code: 'WB-C205', event: 'OrderPlaced', until: today, reason: 'rolled out', by: 'ana' }
    const covers = (path: string): boolean =>
      check({ current: [v1, wider], against: [v1], strict: true, waivers: [{ ...entry, path }] }).passes
    expect([covers('/properties/priority'), covers('/properties/id')]).toEqual([true, false])
  })

  test('waives a finding by its place in the older schema, and by a part of its message', () => {
    const at = { older: '/properties/note', newer: null }
    const finding = findingOf('typeChanged', { direction: 'FORWARD', at, message: 'type of note: string -> none' })
    const waiver = { code: finding.code, event: 'E', until: today, reason: 'rolled out' }
    const covers = (fields: Partial<ContractWaiver>): boolean => isWaivedBy({ ...waiver, ...fields }, 'E', finding)
    expect([covers({}), covers({ path: '/properties/note' }), covers({ path: '/properties/id' })]).toEqual([
      true,
      true,
      false,
    ])
    expect([covers({ message: 'of note' }), covers({ message: 'of id' })]).toEqual([true, false])
  })

  test.each([
    ['an unknown field', { event: 'E', until: today, reason: 'x', pth: '/a' }],
    ['a day that does not exist', { event: 'E', until: '2026-02-30', reason: 'x' }],
    ['no reason', { event: 'E', until: today, reason: '' }],
  ])('refuses a waiver with %s', (_, fields) => {
    expect(() => readWaivers('w.json', JSON.stringify([{ code: 'WB-C205', ...fields }]))).toThrow('is no waiver')
  })
})
