import { Buffer } from 'node:buffer'
import { CorruptBatchError } from '@waybill/kafka/wire'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { afterVarint, varintAt, varintSize, writeVarint } from '../../../src/wire/records/varint.ts'

/** Half of what a double holds: the sign takes one of its 53 bits. */
const within = fc
  .oneof(fc.maxSafeInteger(), fc.integer(), fc.integer({ min: -150, max: 150 }))
  .map((value) => Math.trunc(value / 2))

describe('varints', () => {
  test('every integer of up to 52 bits is read back, and takes the bytes that were announced', () => {
    fc.assert(
      fc.property(within, fc.nat(3), (value, before) => {
        const bytes = Buffer.alloc(before + varintSize(value) + 1, 0xee)
        const next = writeVarint(bytes, before, value)
        expect(next).toBe(before + varintSize(value))
        expect(bytes[next]).toBe(0xee)
        expect(varintAt(bytes, before)).toBe(value === 0 ? 0 : value)
        expect(afterVarint(bytes, before)).toBe(next)
      }),
      { numRuns: 2_000 },
    )
  })

  test.each([
    [0, '00'],
    [-1, '01'],
    [1, '02'],
    [63, '7e'],
    [-64, '7f'],
    [64, '8001'],
    [8_191, 'fe7f'],
    [-8_192, 'ff7f'],
    [8_192, '808001'],
    [-8_193, '818001'],
    [2 ** 31 - 1, 'feffffff0f'],
    [-(2 ** 31), 'ffffffff0f'],
    [2 ** 52 - 1, 'feffffffffffff0f'],
  ])('%d is written as Kafka writes it', (value, hex) => {
    const bytes = Buffer.alloc(varintSize(value))
    writeVarint(bytes, 0, value)
    expect(bytes.toString('hex')).toBe(hex)
  })

  test.each([
    ['that ends within a number', 'ffff'],
    ['that is empty', ''],
    ['longer than Kafka writes any', 'ffffffffffffffffff01'],
  ])('a number %s is corrupt', (_, hex) => {
    expect(() => varintAt(Buffer.from(hex, 'hex'), 0)).toThrow(CorruptBatchError)
  })
})
