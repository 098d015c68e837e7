import { Buffer } from 'node:buffer'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { encodeBatch, encodeMeasured, fieldBytes, recordBytes } from '../../../src/wire/records/encode-batch.ts'
import { readBatches } from '../../../src/wire/records/record-batch.ts'

const producer = { producerId: 7n, producerEpoch: 1, baseSequence: 3, isTransactional: false }
const field = fc.option(
  fc.uint8Array({ maxLength: 200 }).map((array) => Buffer.from(array)),
  { nil: null },
)
const name = fc.string({ maxLength: 80 }).map((text) => Buffer.from(text))
const record = fc.record({
  key: field,
  value: field,
  headers: fc.array(fc.tuple(name, field), { maxLength: 70 }),
  timestamp: fc.oneof(fc.nat(200), fc.constantFrom(0, 1_800_000_000_000, 253_402_300_799_000)),
})
type Input = typeof record extends fc.Arbitrary<infer T> ? T : never

function measured({ key, value, headers, timestamp }: Input) {
  const fields = { key, value, headerFields: headers.flat() }
  return { ...fields, timestamp, fieldBytes: fieldBytes(fields) }
}

describe('a batch of measured records', () => {
  test('has the bytes of the same records that are not', () => {
    fc.assert(
      fc.property(fc.array(record, { minLength: 1, maxLength: 80 }), (records) => {
        const batch = encodeMeasured(records.map(measured), 'NONE', producer)
        expect(batch.equals(encodeBatch(records, 'NONE', producer))).toBe(true)
      }),
    )
  })

  test('has the latest timestamp of its records', () => {
    fc.assert(
      fc.property(fc.array(record, { minLength: 1, maxLength: 5 }), (records) => {
        const [batch] = readBatches(encodeBatch(records))
        expect(batch?.maxTimestamp).toBe(Math.max(...records.map(({ timestamp }) => timestamp)))
      }),
    )
  })

  test('is never larger than its records said where each takes its most', () => {
    const value = Buffer.alloc(10_000)
    const records = Array.from({ length: 100 }, (_, at) => ({
      key: null,
      value,
      headers: [],
      timestamp: at === 0 ? 253_402_300_799_000 : 0,
    }))
    const most = records.reduce((sum, one) => sum + recordBytes(measured(one)), 0)
    expect(encodeBatch(records).length - encodeBatch([]).length).toBeLessThanOrEqual(most)
  })

  test('is never larger than its records said that they are, wherever they stand', () => {
    fc.assert(
      fc.property(fc.array(record, { minLength: 1, maxLength: 80 }), (records) => {
        const most = records.reduce((sum, one) => sum + recordBytes(measured(one)), 0)
        const body = encodeBatch(records).length - encodeBatch([]).length
        expect(body).toBeLessThanOrEqual(most)
        // Within what a record's place can take: a limit that is far off would leave batches half empty.
        expect(body).toBeGreaterThanOrEqual(most - records.length * 16)
      }),
    )
  })
})
