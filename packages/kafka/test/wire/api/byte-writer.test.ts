import { Buffer } from 'node:buffer'
import { ArgumentError } from '@waybill/core'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ByteReader } from '../../../src/wire/api/byte-reader.ts'
import { ByteWriter } from '../../../src/wire/api/byte-writer.ts'

const readerOf = (writer: ByteWriter): ByteReader =>
  new ByteReader(Buffer.concat([...writer.buffers]), (what) => new Error(what))

describe('the byte writer', () => {
  test('writes values that the byte reader reads back', () => {
    const values = fc.record({
      int8: fc.integer({ min: -128, max: 127 }),
      int16: fc.integer({ min: -32_768, max: 32_767 }),
      int32: fc.integer(),
      int64: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
      uvarint: fc.nat(2 ** 32 - 1),
      flag: fc.boolean(),
      uuid: fc.uuid(),
      text: fc.option(fc.string({ unit: 'grapheme', maxLength: 400 }), { nil: null }),
      numbers: fc.array(fc.integer()),
      texts: fc.array(fc.string()),
      pieces: fc.array(fc.nat(3_000).map((length) => Buffer.alloc(length, length))),
      short: fc.string(),
    })
    fc.assert(
      fc.property(values, ({ pieces, ...plain }) => {
        const writer = new ByteWriter()
        writer
          .int8(plain.int8)
          .int16(plain.int16)
          .int32(plain.int32)
          .int64(plain.int64)
          .uvarint(plain.uvarint)
          .boolean(plain.flag)
          .uuid(plain.uuid)
          .text(plain.text)
          .structs(plain.numbers, (number) => writer.int32(number))
          .list(plain.texts, (item) => writer.text(item))
          .pieces(pieces)
          .shortText(plain.short)
          .noTags()
        const reader = readerOf(writer)
        expect(reader.remaining).toBe(writer.length)
        expect({
          int8: reader.int8(),
          int16: reader.int16(),
          int32: reader.int32(),
          int64: reader.int64(),
          uvarint: reader.uvarint(),
          flag: reader.boolean(),
          uuid: reader.uuid(),
          text: reader.nullableText(),
          numbers: reader.structs(() => reader.int32()),
          texts: reader.list(() => reader.text()),
        }).toEqual({ ...plain, short: undefined })
        expect(reader.bytes().equals(Buffer.concat(pieces))).toBe(true)
        expect(reader.shortText()).toBe(plain.short)
        reader.skipTags()
        expect(reader.remaining).toBe(0)
      }),
    )
  })

  test('references long bytes instead of copying them', () => {
    const records = Buffer.alloc(4_096)
    expect(new ByteWriter().int32(1).bytes(records).int32(2).buffers).toContain(records)
  })

  test.each([
    ['int8', () => new ByteWriter().int8(128)],
    ['int16', () => new ByteWriter().int16(-32_769)],
    ['int32', () => new ByteWriter().int32(2 ** 31)],
    ['int64', () => new ByteWriter().int64(2n ** 63n)],
    ['short text', () => new ByteWriter().shortText('x'.repeat(32_768))],
  ])('refuses a value that does not fit an %s', (_, write) => {
    expect(write).toThrow(RangeError)
  })

  test('refuses text that is not a UUID', () => {
    for (const given of ['orders', '0123', '00000000-0000-0000-0000-00000000000'])
      expect(() => new ByteWriter().uuid(given)).toThrow(ArgumentError)
  })
})
