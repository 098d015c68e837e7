import { toStandardJsonSchema } from '@valibot/to-json-schema'
import { type ContractReport, checkContracts, contractsOf, contractText, readContract } from '@waybill/contract'
import { defineEvents, fromJsonSchema, type StandardSchema } from '@waybill/core'
import { Ajv } from 'ajv'
import { type } from 'arktype'
import { Type } from 'typebox'
import * as v from 'valibot'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { checkExported } from '../../src/trial/check-exported.ts'

/** One event as its versions are written with a library. */
interface Versions {
  readonly base: StandardSchema
  readonly sameInOtherWords: StandardSchema
  readonly optionalWithDefault: StandardSchema
  readonly requiredAdded: StandardSchema
  readonly requiredRemoved: StandardSchema
  readonly typeChanged: StandardSchema
  readonly nullable: StandardSchema
  readonly valueAdded: StandardSchema
  readonly memberAdded: StandardSchema
  readonly shorter: StandardSchema
}

const ajv = new Ajv()
const kind = { card: 'card', cash: 'cash' } as const

function zodVersions(): Versions {
  const pay = z.discriminatedUnion('kind', [
    z.object({ kind: z.literal(kind.card), last4: z.string() }),
    z.object({ kind: z.literal(kind.cash) }),
  ])
  const base = z.object({ id: z.string(), total: z.int(), state: z.enum(['new', 'paid']), pay })
  return {
    base,
    sameInOtherWords: z.object({ pay, state: z.enum(['paid', 'new']), total: z.int(), id: z.string() }),
    optionalWithDefault: base.extend({ note: z.string().default('') }),
    requiredAdded: base.extend({ note: z.string() }),
    requiredRemoved: base.omit({ total: true }),
    typeChanged: base.extend({ total: z.string() }),
    nullable: base.extend({ id: z.string().nullable() }),
    valueAdded: base.extend({ state: z.enum(['new', 'paid', 'sent']) }),
    memberAdded: base.extend({
      pay: z.discriminatedUnion('kind', [...pay.options, z.object({ kind: z.literal('wire'), bic: z.string() })]),
    }),
    shorter: base.extend({ id: z.string().max(8) }),
  }
}

function valibotVersions(): Versions {
  const members = [
    v.object({ kind: v.literal(kind.card), last4: v.string() }),
    v.object({ kind: v.literal(kind.cash) }),
  ] as const
  const integer = v.pipe(v.number(), v.integer())
  const entries = {
    id: v.string(),
    total: integer,
    state: v.picklist(['new', 'paid']),
    pay: v.variant('kind', members),
  }
  const { total: _, ...withoutTotal } = entries
  const made = {
    base: v.object(entries),
    sameInOtherWords: v.object({ ...entries, state: v.picklist(['paid', 'new']) }),
    optionalWithDefault: v.object({ ...entries, note: v.optional(v.string(), '') }),
    requiredAdded: v.object({ ...entries, note: v.string() }),
    requiredRemoved: v.object(withoutTotal),
    typeChanged: v.object({ ...entries, total: v.string() }),
    nullable: v.object({ ...entries, id: v.nullable(v.string()) }),
    valueAdded: v.object({ ...entries, state: v.picklist(['new', 'paid', 'sent']) }),
    memberAdded: v.object({
      ...entries,
      pay: v.variant('kind', [...members, v.object({ kind: v.literal('wire'), bic: v.string() })]),
    }),
    shorter: v.object({ ...entries, id: v.pipe(v.string(), v.maxLength(8)) }),
  }
  return Object.fromEntries(
    Object.entries(made).map(([name, schema]) => [name, toStandardJsonSchema(schema)]),
  ) as unknown as Versions
}

function arktypeVersions(): Versions {
  const pay = type({ kind: "'card'", last4: 'string' }).or({ kind: "'cash'" })
  const base = type({ id: 'string', total: 'number.integer', state: "'new' | 'paid'", pay })
  return {
    base,
    sameInOtherWords: type({ pay, state: "'paid' | 'new'", total: 'number.integer', id: 'string' }),
    optionalWithDefault: base.and({ note: "string = ''" }),
    requiredAdded: base.and({ note: 'string' }),
    requiredRemoved: base.omit('total'),
    typeChanged: base.merge({ total: 'string' }),
    nullable: base.merge({ id: 'string | null' }),
    valueAdded: base.merge({ state: "'new' | 'paid' | 'sent'" }),
    memberAdded: base.merge({ pay: pay.or({ kind: "'wire'", bic: 'string' }) }),
    shorter: base.merge({ id: 'string <= 8' }),
  }
}

function state(...values: string[]) {
  return Type.Union(values.map((value) => Type.Literal(value)))
}

function typeboxVersions(): Versions {
  const members = [
    Type.Object({ kind: Type.Literal(kind.card), last4: Type.String() }),
    Type.Object({ kind: Type.Literal(kind.cash) }),
  ]
  const properties = { id: Type.String(), total: Type.Integer(), state: state('new', 'paid'), pay: Type.Union(members) }
  const { total: _, ...withoutTotal } = properties
  const made = {
    base: properties,
    sameInOtherWords: { ...properties, state: state('paid', 'new') },
    optionalWithDefault: { ...properties, note: Type.Optional(Type.String({ default: '' })) },
    requiredAdded: { ...properties, note: Type.String() },
    requiredRemoved: withoutTotal,
    typeChanged: { ...properties, total: Type.String() },
    nullable: { ...properties, id: Type.Union([Type.String(), Type.Null()]) },
    valueAdded: { ...properties, state: state('new', 'paid', 'sent') },
    memberAdded: {
      ...properties,
      pay: Type.Union([...members, Type.Object({ kind: Type.Literal('wire'), bic: Type.String() })]),
    },
    shorter: { ...properties, id: Type.String({ maxLength: 8 }) },
  }
  return Object.fromEntries(
    Object.entries(made).map(([name, each]) => [name, fromJsonSchema({ ...Type.Object(each) }, ajv)]),
  ) as unknown as Versions
}

function catalogOf(schema: StandardSchema, version: number) {
  return defineEvents({ OrderPlaced: { topic: 'orders', version, schema, key: () => null } })
}

describe.each([
  ['zod', zodVersions],
  ['valibot', valibotVersions],
  ['arktype', arktypeVersions],
  ['TypeBox', typeboxVersions],
])('the gate with a catalog of %s', (_, makeVersions) => {
  const versions = makeVersions()

  function check(name: keyof Versions, strict: boolean): ContractReport {
    // Through the text of their files, as in a repository.
    const [older, newer] = [versions.base, versions[name]].map((schema, index) =>
      contractsOf(catalogOf(schema, index + 1)).map((contract) => readContract('file', contractText(contract))),
    )
    return checkContracts({
      current: [...(older ?? []), ...(newer ?? [])],
      against: older ?? [],
      strict,
      today: '2026-11-18',
    })
  }

  test.each<[change: keyof Versions, lenient: string[]]>([
    ['sameInOtherWords', []],
    ['optionalWithDefault', []],
    ['requiredAdded', ['WB-C101 BREAKING']],
    ['requiredRemoved', ['WB-C102 BREAKING']],
    ['typeChanged', ['WB-C103 BREAKING']],
    ['nullable', ['WB-C103 BREAKING']],
    ['valueAdded', ['WB-C205 WARNING']],
    ['memberAdded', ['WB-C213 WARNING']],
    ['shorter', ['WB-C208 WARNING']],
  ])('judges: %s', (change, lenient) => {
    const { findings, passes } = check(change, false)
    expect(findings.map(({ code, severity }) => `${code} ${severity}`).slice(0, 1)).toEqual(lenient)
    expect(passes).toBe(lenient.every((finding) => !finding.endsWith('BREAKING')))
    expect(check(change, true).passes).toBe(lenient.length === 0)
  })

  test('has contracts that say what the library checks', async () => {
    for (const schema of Object.values(versions))
      expect((await checkExported(catalogOf(schema as StandardSchema, 1))).map(({ message }) => message)).toEqual([])
  })
})
