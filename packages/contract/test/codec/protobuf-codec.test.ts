import { createProtobufCodec, type ProtobufCodecOptions } from '@waybill/contract/codec'
import { createMemoryRegistry, type SchemaReference } from '@waybill/contract/registry'
import { ArgumentError } from '@waybill/core'
import protobuf from 'protobufjs'
import { expect, test } from 'vitest'

const codecOf = (schema: string, more: Partial<ProtobufCodecOptions> = {}) =>
  createProtobufCodec({
    protobuf,
    registry: createMemoryRegistry(),
    subject: 's',
    registration: 'REGISTER',
    schema: `syntax = "proto3"; package shop; ${schema}`,
    message: 'shop.Event',
    ...more,
  })

test.each<[string, string, unknown, unknown]>([
  [
    'an absent member without presence as its default',
    'int32 a = 1; string b = 2; bool c = 3;',
    {},
    { a: 0, b: '', c: false },
  ],
  ['an absent optional member as absent', 'optional int32 a = 1; Event b = 2;', {}, {}],
  ['a present optional member with its default', 'optional int32 a = 1;', { a: 0 }, { a: 0 }],
  ['lists and maps that are empty', 'repeated int32 a = 1; map<string, int32> b = 2;', {}, { a: [], b: {} }],
  ['packed lists', 'repeated int32 a = 1;', { a: [1, -2, 3] }, { a: [1, -2, 3] }],
  ['maps', 'map<string, Event> a = 1;', { a: { x: { a: {} } } }, { a: { x: { a: {} } } }],
  ['maps by numbers', 'map<int32, string> a = 1;', { a: { '-1': 'x' } }, { a: { '-1': 'x' } }],
  ['one of several', 'oneof which { string a = 1; int32 b = 2; }', { b: 0 }, { b: 0 }],
  ['bytes as base64', 'bytes a = 1;', { a: 'AP8=' }, { a: 'AP8=' }],
  [
    'numbers that JSON does not have',
    'double a = 1; float b = 2;',
    { a: 'NaN', b: '-Infinity' },
    { a: 'NaN', b: '-Infinity' },
  ],
  [
    '64-bit integers',
    'uint64 a = 1; sint64 b = 2; fixed64 c = 3;',
    { a: 2 ** 52 + 1, b: -5, c: 7 },
    { a: 2 ** 52 + 1, b: -5, c: 7 },
  ],
  [
    'an enumeration called like a member of every object',
    'enum constructor { NONE = 0; ONE = 1; } constructor a = 1;',
    { a: 'ONE' },
    { a: 'ONE' },
  ],
  ['names in camel case', 'string order_id = 1;', { orderId: 'a' }, { orderId: 'a' }],
])('reads %s', async (_title, members, written, read) => {
  const codec = codecOf(`message Event { ${members} }`)
  expect(codec.violations(written)).toEqual([])
  expect(await codec.decode(await codec.encode(written))).toEqual(read)
})

test.each<[string, string, unknown, string]>([
  ['null', 'string a = 1;', { a: null }, 'a: is null, which Protobuf cannot write: leave it out'],
  [
    'two of which one may be set',
    'oneof w { string a = 1; string b = 2; }',
    { a: 'x', b: 'y' },
    ': has a and b, of which only one may be set',
  ],
  ['an unknown name of an enumeration', 'enum K { NONE = 0; } K a = 1;', { a: 'OTHER' }, 'a: is not one of NONE'],
  ['an integer below its range', 'uint32 a = 1;', { a: -1 }, 'a: is no uint32'],
  ['text that is not base64', 'bytes a = 1;', { a: '*' }, 'a: is no bytes'],
  ['half a surrogate pair', 'string a = 1;', { a: '\uD800' }, 'a: is no string'],
  ['a key that is no integer', 'map<int32, string> a = 1;', { a: { x: 'y' } }, 'a.x: is not under a key of type int32'],
  ['a list where one value should be', 'string a = 1;', { a: ['x'] }, 'a: is no string'],
  ['an undeclared member', 'string a = 1;', { b: 'x' }, 'b: is not declared'],
  ['a list', 'string a = 1;', [], ': is not an object'],
])('refuses to write %s', (_title, members, payload, expected) => {
  const [violation] = codecOf(`message Event { ${members} }`).violations(payload)
  expect(`${violation?.path}: ${violation?.message}`.replace(/^: /, ': ')).toBe(expected)
})

test('writes the place of a nested message type, which other types of its file do not change', async () => {
  const codec = codecOf('message Other { map<string, string> a = 1; message Event { string a = 1; } }', {
    message: 'shop.Other.Event',
  })
  expect((await codec.encode({ a: 'x' })).subarray(5).toString('hex')).toBe('0400000a0178')
  expect(await codec.decode(await codec.encode({ a: 'x' }))).toEqual({ a: 'x' })
})

test('reads and writes types of other files, and those of google/protobuf', async () => {
  const registry = createMemoryRegistry()
  const money = 'syntax = "proto3"; package shop; message Money { int64 cents = 1; }'
  await registry.register('money', { schemaType: 'PROTOBUF', schema: money, references: [] })
  const reference: SchemaReference = { name: 'money.proto', subject: 'money', version: 1 }
  const codec = codecOf(
    'import "money.proto"; import "google/protobuf/timestamp.proto"; message Event { Money a = 1; google.protobuf.Timestamp b = 2; }',
    { registry, references: [{ ...reference, schema: money }] },
  )
  const value = { a: { cents: 5 }, b: { seconds: 7, nanos: 1 } }
  const bytes = await codec.encode(value)
  expect((await registry.schemaById(bytes.readInt32BE(1))).references).toEqual([reference])
  expect(await codec.decode(bytes)).toEqual(value)
  expect(await codec.decodeAsWritten(bytes)).toEqual(value)
})

test('keeps the number of a name that only the writer knows', async () => {
  const registry = createMemoryRegistry()
  const newer = codecOf('enum K { NONE = 0; LATER = 5; } message Event { K a = 1; }', { registry })
  const older = codecOf('enum K { NONE = 0; } message Event { K a = 1; }', { registry })
  expect(await older.decode(await newer.encode({ a: 'LATER' }))).toEqual({ a: 5 })
})

test.each([
  ['a message type that the schema does not have', 'message Other {}', 'has no message "shop.Event"'],
  ['keys that JSON cannot hold exactly', 'message Event { map<int64, string> a = 1; }', 'has keys of type int64'],
])('refuses %s', (_title, schema, problem) => {
  expect(() => codecOf(schema)).toThrow(ArgumentError)
  expect(() => codecOf(schema)).toThrow(problem)
})
