import { ArgumentError, fromJsonSchema } from '@waybill/core'
import { type SchemaResult, type StandardJsonSchema } from '@waybill/core/internal'
import { Ajv } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { describe, expect, test } from 'vitest'
import { formatPath } from '../../src/event/validate.ts'

const order = {
  type: 'object',
  required: ['orderId', 'items'],
  additionalProperties: false,
  properties: {
    orderId: { type: 'string' },
    items: { type: 'array', items: { type: 'object', required: ['price'], properties: { price: { type: 'number' } } } },
    'a/b~c': { type: 'integer' },
  },
}

async function issuesOf(schema: StandardJsonSchema, value: unknown): Promise<string[]> {
  const result: SchemaResult<unknown> = await schema['~standard'].validate(value)
  return (result.issues ?? []).map(({ path, message }) => `${formatPath(path ?? [])}: ${message}`)
}

describe('a JSON Schema', () => {
  const schema = fromJsonSchema(order, new Ajv({ allErrors: true }))

  test('accepts a valid value and returns it', () => {
    const value = { orderId: 'o-1', items: [{ price: 1 }] }
    expect(schema['~standard'].validate(value)).toEqual({ value })
  })

  test('names the path of each failure, down to the property that is missing or too many', async () => {
    const wrong = { items: [{ price: 1 }, {}, { price: 'x' }], 'a/b~c': 1.5, extra: true }
    expect((await issuesOf(schema, wrong)).toSorted()).toEqual(
      [
        "orderId: must have required property 'orderId'",
        "items[1].price: must have required property 'price'",
        'items[2].price: must be number',
        '["a/b~c"]: must be integer',
        'extra: must NOT have additional properties',
      ].toSorted(),
    )
  })

  test('stays readable for the contract files, whatever happens to the object it came from', () => {
    const given = structuredClone(order)
    const { jsonSchema } = fromJsonSchema(given, new Ajv())['~standard']
    given.type = 'changed'
    jsonSchema.input({ target: 'draft-07' })['type'] = 'changed too'
    expect(jsonSchema.input({ target: 'draft-07' })).toEqual(order)
    expect(jsonSchema.output({ target: 'draft-2020-12' })).toEqual(order)
  })

  test('is compiled by the Ajv that is handed in, with its dialect and options', async () => {
    const tuple = fromJsonSchema(
      { prefixItems: [{ type: 'string' }], minItems: 1, items: false },
      new Ajv2020({ strict: false }),
    )
    expect(await issuesOf(tuple, [1])).toEqual(['[0]: must be string'])
    const filled = fromJsonSchema(
      { type: 'object', properties: { n: { type: 'number', default: 7 } } },
      new Ajv({ useDefaults: true }),
    )
    expect(filled['~standard'].validate({})).toEqual({ value: { n: 7 } })
  })

  test('can be used in two places although it has an id', () => {
    const ajv = new Ajv()
    const named = { $id: 'https://example.com/order', type: 'object' }
    fromJsonSchema(named, ajv)
    expect(() => fromJsonSchema(named, ajv)).not.toThrow()
  })

  test('that is none is refused when it is declared', () => {
    expect(() => fromJsonSchema({ type: 'objekt' }, new Ajv())).toThrow(ArgumentError)
    expect(() => fromJsonSchema({ type: 'objekt' }, new Ajv())).toThrow(/cannot be compiled/)
  })
})

describe('an asynchronous JSON Schema', () => {
  const lost = new Error('connection lost')
  const ajv = new Ajv()
  ajv.addKeyword({
    keyword: 'customerExists',
    async: true,
    type: 'string',
    validate: (_: unknown, id: string) => (id === 'down' ? Promise.reject(lost) : Promise.resolve(id === 'known')),
  })
  const schema = fromJsonSchema(
    { $async: true, type: 'object', properties: { customer: { type: 'string', customerExists: true } } },
    ajv,
  )

  test('is waited for', async () => {
    expect(await schema['~standard'].validate({ customer: 'known' })).toEqual({ value: { customer: 'known' } })
    expect(await issuesOf(schema, { customer: 'unknown' })).toEqual([
      'customer: must pass "customerExists" keyword validation',
    ])
  })

  test('passes on a look-up that failed', async () => {
    await expect(schema['~standard'].validate({ customer: 'down' })).rejects.toBe(lost)
  })
})
