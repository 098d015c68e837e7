import { randomUUID } from 'node:crypto'
import { toStandardJsonSchema } from '@valibot/to-json-schema'
import { defineEvents, encodeEvent, fromJsonSchema, type StandardSchema } from '@waybill/core'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { type } from 'arktype'
import * as v from 'valibot'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'

/** Returns the payload that a record of the event has. */
async function written(schema: StandardSchema, payload: unknown): Promise<unknown> {
  const events = defineEvents({ e: { topic: 't', schema, key: () => null } })
  return JSON.parse((await encodeEvent(events, 'e', payload)).payloadJson)
}

const json = (useDefaults: boolean): StandardSchema =>
  fromJsonSchema(
    {
      type: 'object',
      properties: { id: { type: 'string' }, priority: { type: 'string', default: 'normal' } },
      required: ['id'],
    },
    new Ajv2020({ useDefaults }),
  )
const filled = { id: 'a', priority: 'normal' }

describe('C-85 S2-061 a default of the schema', () => {
  test.each<[string, StandardSchema, unknown]>([
    ['zod', z.object({ id: z.string(), priority: z.string().default('normal') }), filled],
    ['valibot', toStandardJsonSchema(v.object({ id: v.string(), priority: v.optional(v.string(), 'normal') })), filled],
    ['arktype', type({ id: 'string', priority: "string = 'normal'" }), filled],
    ['JSON Schema with useDefaults of Ajv', json(true), filled],
    ['JSON Schema, where a default is a note', json(false), { id: 'a' }],
  ])('is on the wire as the library fills it in: %s', async (_library, schema, expected) => {
    expect(await written(schema, { id: 'a' })).toEqual(expected)
    expect(await written(schema, { id: 'a', priority: 'high' })).toEqual({ id: 'a', priority: 'high' })
  })

  test('is filled in inside of lists, members and unions', async () => {
    const line = z.object({ sku: z.string(), count: z.number().default(1) })
    const schema = z.object({
      lines: z.array(line),
      ship: z.object({ to: line.optional() }),
      pay: z.discriminatedUnion('by', [
        z.object({ by: z.literal('card'), fee: z.number().default(2) }),
        z.object({ by: z.literal('cash') }),
      ]),
    })
    const payload = { lines: [{ sku: 'a' }, { sku: 'b', count: 3 }], ship: { to: { sku: 'c' } }, pay: { by: 'card' } }
    expect(await written(schema, payload)).toEqual({
      lines: [
        { sku: 'a', count: 1 },
        { sku: 'b', count: 3 },
      ],
      ship: { to: { sku: 'c', count: 1 } },
      pay: { by: 'card', fee: 2 },
    })
    expect(await written(schema, { ...payload, pay: { by: 'cash' } })).toMatchObject({ pay: { by: 'cash' } })
  })

  test('is made once for each event where it is generated', async () => {
    const schema = z.object({ id: z.string().default(() => randomUUID()) })
    const events = defineEvents({ e: { topic: 't', schema, key: ({ id }) => id } })
    const [one, other] = [await encodeEvent(events, 'e', {}), await encodeEvent(events, 'e', {})]
    // The key is made of the output, and belongs to the payload that is written.
    for (const { aggregateId, payloadJson } of [one, other])
      expect(JSON.parse(payloadJson)).toEqual({ id: aggregateId })
    expect(one.aggregateId).not.toBe(other.aggregateId)
  })

  test.each<[string, StandardSchema, unknown]>([
    [
      'a member that a transformation adds',
      z.object({ a: z.number() }).transform((o) => ({ ...o, double: o.a * 2 })),
      { a: 1 },
    ],
    ['a value that a transformation changes', z.object({ a: z.string().transform((a) => a.length) }), { a: 'xyz' }],
    [
      'a default that is no JSON',
      z.object({
        at: z
          .codec(z.iso.datetime(), z.date(), { decode: (text) => new Date(text), encode: (at) => at.toISOString() })
          .default(new Date(0)),
      }),
      {},
    ],
    [
      'a value that the schema changes again',
      z.object({
        n: z
          .number()
          .optional()
          .transform((n = 1) => n + 1),
      }),
      {},
    ],
    ['an undefined member', z.object({ a: z.string().optional() }), {}],
    ['what is not an object', z.string(), 'text'],
  ])('is not confused with %s', async (_title, schema, payload) => {
    expect(await written(schema, payload)).toEqual(payload)
  })
})
