import { Buffer } from 'node:buffer'
import { Writer } from '@platformatic/kafka'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ByteReader } from '../../../src/wire/api/byte-reader.ts'

class Wrong extends Error {}
const reader = (bytes: Buffer): ByteReader => new ByteReader(bytes, (what) => new Wrong(what))
const hex = (digits: string): ByteReader => reader(Buffer.from(digits, 'hex'))

describe('the byte reader', () => {
  test('reads what the library writes', () => {
    fc.assert(
      fc.property(
        fc.record({
          int8: fc.integer({ min: -128, max: 127 }),
          int16: fc.integer({ min: -32_768, max: 32_767 }),
          int32: fc.integer(),
          int64: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
          uvarint: fc.nat(2 ** 31 - 1),
          flag: fc.boolean(),
          uuid: fc.uuid(),
          text: fc.option(fc.string({ unit: 'grapheme' }), { nil: null }),
          numbers: fc.array(fc.integer()),
          short: fc.string(),
        }),
        (values) => {
          const written = Writer.create()
            .appendInt8(values.int8)
            .appendInt16(values.int16)
            .appendInt32(values.int32)
            .appendInt64(values.int64)
            .appendUnsignedVarInt(values.uvarint)
            .appendBoolean(values.flag)
            .appendUUID(values.uuid)
            .appendString(values.text)
            .appendArray(values.numbers, (writer, number) => writer.appendInt32(number))
            .appendString(values.short, false)
            .appendArray(values.numbers, (writer, number) => writer.appendInt32(number), false, false)
            .appendTaggedFields()
          const read = reader(written.buffer)
          expect({
            int8: read.int8(),
            int16: read.int16(),
            int32: read.int32(),
            int64: read.int64(),
            uvarint: read.uvarint(),
            flag: read.boolean(),
            uuid: read.uuid(),
            text: read.nullableText(),
            numbers: read.structs(() => read.int32()),
            short: read.shortText(),
          }).toEqual(values)
          expect(read.longList(() => read.int32())).toEqual(values.numbers)
          read.skipTags()
          expect(read.remaining).toBe(0)
        },
      ),
    )
  })

  test('reads null where empty may stand as empty', () => {
    expect(hex('00').text()).toBe('')
    expect(hex('00').bytes()).toHaveLength(0)
    expect(hex('00').nullableBytes()).toBeNull()
    expect(hex('00').list(() => 1)).toEqual([])
    expect(hex('ffffffff').longBytes()).toBeNull()
  })

  test.each([
    ['a number cut off', () => hex('000000').int32()],
    ['a number of 64 bits cut off', () => hex('00000000000000').int64()],
    ['a varint without end', () => hex('ffffffffff01').uvarint()],
    ['a varint cut off', () => hex('ff').uvarint()],
    ['a text longer than what follows', () => hex('056162').text()],
    ['a text of four gigabytes', () => hex('ffffffff0f6162').text()],
    ['a text of negative length', () => hex('fffe6162').shortText()],
    ['a list with more items than bytes', () => hex('ffffffff0f0000').list(() => 0)],
    ['tagged fields longer than what follows', () => hex('0100056162').skipTags()],
    ['tagged fields without end', () => hex('ffffffff0f').skipTags()],
    ['a UUID cut off', () => hex('00112233').uuid()],
  ])('refuses %s', (_, read) => {
    expect(read).toThrow(Wrong)
  })
})
