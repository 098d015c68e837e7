import { createAvroCodec } from '@waybill/contract/codec'
import { createMemoryRegistry, type SchemaReference } from '@waybill/contract/registry'
import { OptionsError, ParseError } from '@waybill/core'
import avsc from 'avsc'
import { expect, test } from 'vitest'

const field = (type: unknown, more: object = {}) => ({
  type: 'record',
  name: 'Event',
  fields: [{ name: 'value', type, ...more }],
})
/** Writes a value with one schema and reads it with another. */
async function through(writer: unknown, reader: unknown, value: unknown, more: object = {}): Promise<unknown> {
  const registry = createMemoryRegistry()
  const options = { avro: avsc, registry, subject: 's', registration: 'REGISTER' } as const
  const bytes = await createAvroCodec({ ...options, schema: field(writer) }).encode({ value })
  const read = await createAvroCodec({ ...options, schema: field(reader, more) }).decode(bytes)
  return (read as { value: unknown }).value
}

test.each<[string, unknown, unknown, unknown, unknown]>([
  ['an int as a long', 'int', 'long', 5, 5],
  ['a long as a double', 'long', 'double', 2 ** 40, 2 ** 40],
  ['a value as a nullable one', 'string', ['null', 'string'], 'a', 'a'],
  ['text as bytes', 'string', 'bytes', 'hi', 'aGk='],
  ['bytes as text', 'bytes', 'string', 'aGk=', 'hi'],
  ['bytes', 'bytes', 'bytes', 'AP8=', 'AP8='],
  [
    'a branch of two numbers by its name',
    ['long', 'double'],
    ['long', 'double'],
    { long: 2 ** 52 + 1 },
    { long: 2 ** 52 + 1 },
  ],
  [
    'a time as a number',
    { type: 'long', logicalType: 'timestamp-millis' },
    'long',
    1_700_000_000_000,
    1_700_000_000_000,
  ],
  ['a map', { type: 'map', values: 'int' }, { type: 'map', values: 'long' }, { a: 1 }, { a: 1 }],
])('reads %s', async (_title, writer, reader, value, expected) => {
  expect(await through(writer, reader, value)).toEqual(expected)
})

test('fills in the default of a member that the writer did not have', async () => {
  const registry = createMemoryRegistry()
  const options = { avro: avsc, registry, subject: 's', registration: 'REGISTER' } as const
  const older = createAvroCodec({ ...options, schema: { type: 'record', name: 'E', fields: [] } })
  const fields = [
    { name: 'blob', type: 'bytes', default: 'ÿ' },
    { name: 'count', type: 'long', default: 7 },
    { name: 'tags', type: { type: 'array', items: 'string' }, default: [] },
  ]
  const newer = createAvroCodec({ ...options, schema: { type: 'record', name: 'E', fields } })
  const expected = { blob: '/w==', count: 7, tags: [] }
  expect(await newer.decode(await older.encode({}))).toEqual(expected)
  expect(await newer.decode(await newer.encode({}))).toEqual(expected)
})

test('refuses a value whose schema its reader does not fit', async () => {
  await expect(through('string', 'int', 'a')).rejects.toThrow(ParseError)
  await expect(through('string', 'int', 'a')).rejects.toThrow('was written with a schema that the schema of its reader')
})

test('refuses a nullable value for a reader without null, as the library does', async () => {
  await expect(through(['null', 'string'], 'string', 'a')).rejects.toThrow(ParseError)
})

test('reads a long that its reader does not have, whatever its size', async () => {
  const registry = createMemoryRegistry()
  const options = { avro: avsc, registry, subject: 's', registration: 'REGISTER' } as const
  const writer = createAvroCodec({ ...options, schema: field('long'), longs: 'STRING' })
  const reader = createAvroCodec({ ...options, schema: { type: 'record', name: 'Event', fields: [] } })
  expect(await reader.decode(await writer.encode({ value: '9223372036854775807' }))).toEqual({})
})

test('refuses a list of a billion nulls', async () => {
  const registry = createMemoryRegistry()
  const schema = field({ type: 'array', items: 'null' })
  const codec = createAvroCodec({ avro: avsc, registry, subject: 's', registration: 'REGISTER', schema })
  const bytes = await codec.encode({ value: [null] })
  await codec.decode(bytes)
  const flood = Buffer.concat([bytes.subarray(0, 5), Buffer.from('feffffff0f00', 'hex')])
  expect(() => codec.decode(flood)).toThrow('at value: it has more than 10000 members without bytes')
})

test('refuses lists of lists that have more nulls together than a value may have', async () => {
  const registry = createMemoryRegistry()
  const schema = field({ type: 'array', items: { type: 'array', items: 'null' } })
  const codec = createAvroCodec({ avro: avsc, registry, subject: 's', registration: 'REGISTER', schema })
  const bytes = await codec.encode({ value: [[null]] })
  await codec.decode(bytes)
  // Two lists of 9,000 nulls each, in four bytes each.
  const flood = Buffer.concat([bytes.subarray(0, 5), Buffer.from('04d08c0100d08c010000', 'hex')])
  expect(() => codec.decode(flood)).toThrow('has more than 10000 members without bytes')
})

test('refuses a key that would change a prototype', async () => {
  const registry = createMemoryRegistry()
  const schema = field({ type: 'map', values: 'string' })
  const codec = createAvroCodec({ avro: avsc, registry, subject: 's', registration: 'REGISTER', schema })
  const bytes = await codec.encode({ value: { __proti__: 'x' } })
  await codec.decode(bytes)
  const changed = Buffer.from(bytes)
  changed.write('__proto__', bytes.indexOf('__proti__'))
  expect(() => codec.decode(changed)).toThrow('at value: it has a key "__proto__"')
})

test('refuses a union in which JSON does not tell the branches apart', () => {
  const registry = createMemoryRegistry()
  const schema = field(['string', 'bytes'])
  expect(() => createAvroCodec({ avro: avsc, registry, subject: 's', schema })).toThrow('A union of text and bytes')
})

test('reads and writes types of other subjects', async () => {
  const registry = createMemoryRegistry()
  const money = { type: 'record', name: 'Money', namespace: 'shop', fields: [{ name: 'cents', type: 'long' }] }
  await registry.register('money', { schemaType: 'AVRO', schema: JSON.stringify(money), references: [] })
  const reference: SchemaReference = { name: 'shop.Money', subject: 'money', version: 1 }
  const options = { avro: avsc, registry, subject: 's', registration: 'REGISTER', schema: field('shop.Money') } as const
  const codec = createAvroCodec({ ...options, references: [{ ...reference, schema: JSON.stringify(money) }] })
  const bytes = await codec.encode({ value: { cents: 5 } })
  expect((await registry.schemaById(bytes.readInt32BE(1))).references).toEqual([reference])
  const newer = field(['null', { ...money, fields: [...money.fields, { name: 'note', type: 'string', default: '' }] }])
  const reader = createAvroCodec({ ...options, references: [], schema: newer })
  expect(await reader.decode(bytes)).toEqual({ value: { cents: 5, note: '' } })
})

test('refuses options that cannot work', () => {
  const registry = createMemoryRegistry()
  const options = { avro: {}, registry, subject: '', schema: 1, longs: 'BIGINT' } as never
  expect(() => createAvroCodec(options)).toThrow(OptionsError)
})
