import { toStandardJsonSchema } from '@valibot/to-json-schema'
import { ArgumentError, defineEvents, fromJsonSchema, type StandardSchema } from '@waybill/core'
import { Ajv } from 'ajv'
import { type } from 'arktype'
import { Type } from 'typebox'
import { Compile } from 'typebox/compile'
import * as v from 'valibot'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { checkExported } from '../../src/trial/check-exported.ts'

async function messagesOf(schema: StandardSchema): Promise<string[]> {
  const findings = await checkExported(defineEvents({ E: { topic: 't', schema, key: () => null } }))
  expect(findings.every(({ code, severity }) => code === 'WB-C004' && severity === 'WARNING')).toBe(true)
  return findings.map(({ message }) => message.replace('E version 1: ', ''))
}

describe('a schema whose library judges in another way than its JSON Schema', () => {
  test.each<[what: string, schema: StandardSchema, messages: string[]]>([
    [
      'a refinement, however rare',
      z.object({ iban: z.string().refine((text) => text !== 'DE00') }),
      ['iban has a refinement, which the exported JSON Schema leaves out'],
    ],
    [
      'a refinement of the event',
      z.object({ from: z.int(), to: z.int() }).refine(({ from, to }) => from <= to),
      ['the event has a refinement, which the exported JSON Schema leaves out'],
    ],
    [
      'flags of a pattern',
      z.object({ lines: z.array(z.object({ sku: z.string().regex(/^[a-z]+$/i) })) }),
      ['lines[].sku has a pattern with flags, /^[a-z]+$/i, which the exported JSON Schema leaves out'],
    ],
    [
      'flags of a pattern of another library',
      type({ sku: /^[a-z]+$/i }),
      ['arktype accepts what the exported JSON Schema refuses'],
    ],
    ['a coercion', z.object({ total: z.coerce.number() }), ['zod accepts what the exported JSON Schema refuses']],
    [
      'a computed default',
      z.object({ id: z.string().default(() => String(Math.random())) }),
      ['the library exports another JSON Schema each time, such as of a default that is computed'],
    ],
  ])('is found: %s', async (_, schema, messages) => {
    expect(await messagesOf(schema)).toEqual(messages)
  })

  test.each<[what: string, schema: StandardSchema]>([
    [
      'check',
      toStandardJsonSchema(
        v.object({
          iban: v.pipe(
            v.string(),
            v.check((text) => text !== 'DE00'),
          ),
        }),
      ),
    ],
    ['RegExp flags', toStandardJsonSchema(v.object({ sku: v.pipe(v.string(), v.regex(/^[a-z]+$/i)) }))],
  ])('is refused where valibot cannot export it: %s', async (reason, schema) => {
    const checked = messagesOf(schema)
    await expect(checked).rejects.toThrow(ArgumentError)
    await expect(checked).rejects.toMatchObject({ cause: { message: expect.stringContaining(reason) as unknown } })
  })

  test('is found in a refinement of TypeBox, by an event that it refuses', async () => {
    const even = Type.Refine(Type.Integer({ minimum: 0, maximum: 9 }), (value) => value % 2 === 0)
    const order = Type.Object({ total: even })
    const schema = fromJsonSchema(
      { ...order },
      {
        compile() {
          const compiled = Compile(order)
          return (value) => compiled.Check(value)
        },
      },
    )
    expect(await messagesOf(schema)).toEqual(['waybill refuses what the exported JSON Schema accepts: is not valid'])
  })

  test('has an example, where one is found', async () => {
    const schema = z.object({
      even: z
        .int()
        .min(0)
        .max(9)
        .refine((value) => value % 2 === 0),
    })
    const findings = await checkExported(defineEvents({ E: { topic: 't', schema, key: () => null } }))
    expect(findings).toMatchObject([{ example: { even: expect.any(Number) }, event: 'E', file: 'E/v1.json' }])
  })

  test.each<[what: string, schema: StandardSchema]>([
    [
      'zod',
      z.object({
        id: z.uuid(),
        mail: z.email().optional(),
        at: z.iso.datetime(),
        amount: z.int().min(1).multipleOf(5),
        rate: z.number().gt(0).lte(1),
        name: z.string().min(2).max(5),
        kind: z.discriminatedUnion('type', [
          z.object({ type: z.literal('card'), last4: z.string().regex(/^\d{4}$/) }),
          z.object({ type: z.literal('cash') }),
        ]),
        tags: z.array(z.string()).max(3).default([]),
        note: z.string().nullable(),
        extra: z.record(z.string(), z.number()),
        pair: z.tuple([z.string(), z.boolean()]),
      }),
    ],
    ['arktype', type({ id: 'string.uuid', 'note?': 'string <= 5', total: 'number.integer > 0', kind: "'a' | 'b'" })],
    [
      'JSON Schema',
      fromJsonSchema({ type: 'object', properties: { id: { type: 'string' } }, required: ['id'] }, new Ajv()),
    ],
  ])('is not found where both judge alike: %s', async (_, schema) => {
    expect(await messagesOf(schema)).toEqual([])
  })
})
