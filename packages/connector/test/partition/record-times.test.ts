import { createSeededRandom } from '@waybill/core/internal'
import type { KafkaRecord } from '@waybill/kafka'
import { describe, expect, test } from 'vitest'
import { RecordTimes } from '../../src/partition/record-times.ts'

const recordsOf = (...at: readonly (readonly [offset: number, timestamp: number])[]): KafkaRecord[] =>
  at.map(([offset, timestamp]) => ({ offset: BigInt(offset), timestamp }) as KafkaRecord)

describe('the timestamp of the lowest unsettled record', () => {
  test('is exact for small polls, and unknown where nothing was fetched', () => {
    const times = new RecordTimes()
    expect(times.at(0n)).toBeUndefined()
    times.fetched(recordsOf([3, 30], [4, 40], [7, 70]))
    expect(times.at(3n)).toBe(30)
    expect(times.at(4n)).toBe(40)
    expect(times.at(7n)).toBe(70)
    expect(times.at(8n)).toBeUndefined()
    times.fetched(recordsOf([8, 80]))
    expect(times.at(8n)).toBe(80)
  })

  test('is that of the first record above a gap when nothing below was fetched', () => {
    const times = new RecordTimes()
    times.fetched(recordsOf([3, 30]))
    expect(times.at(0n)).toBe(30)
  })

  test('is unknown when the record has none', () => {
    const times = new RecordTimes()
    times.fetched(recordsOf([0, -1]))
    expect(times.at(0n)).toBeUndefined()
  })

  test('is unknown after the log was cut, whatever was fetched of it', () => {
    const times = new RecordTimes()
    times.fetched(recordsOf([5, 50]))
    times.clear()
    expect(times.at(5n)).toBeUndefined()
    times.fetched(recordsOf([2, 20]))
    expect(times.at(2n)).toBe(20)
  })

  test('is never later than the truth, and within a sixteenth of a poll of it', () => {
    const random = createSeededRandom(7)
    for (let round = 0; round < 200; round++) {
      const times = new RecordTimes()
      let next = 0
      let lowest = 0
      for (let poll = 0; poll < 20; poll++) {
        const size = 1 + Math.floor(random() * 100)
        times.fetched(recordsOf(...Array.from({ length: size }, (_, index) => [next + index, next + index] as const)))
        next += size
        lowest += Math.floor(random() * (next - lowest + 1))
        const told = times.at(BigInt(lowest))
        if (lowest === next) expect(told).toBeUndefined()
        else {
          expect(told).toBeLessThanOrEqual(lowest)
          expect(told).toBeGreaterThan(lowest - Math.ceil(100 / 16))
        }
      }
    }
  })

  test('is that of the new log after a cut, also where the old one reached further', () => {
    const times = new RecordTimes()
    times.fetched(recordsOf([10, 1_000], [11, 1_001]))
    times.clear()
    expect(times.at(10n)).toBeUndefined()
    times.fetched(recordsOf([12, 1_002]))
    times.clear()
    times.fetched(recordsOf([5, 2_000], [6, 2_001]))
    expect(times.at(5n)).toBe(2_000)
  })

  test('takes bounded memory in a partition whose timestamps are never read', () => {
    const times = new RecordTimes()
    for (let offset = 0; offset < 100_000; offset++) times.fetched(recordsOf([offset, offset]))
    expect(times.at(0n)).toBe(0)
    expect(times.at(50_000n)).toBeLessThanOrEqual(50_000)
    expect(times.at(99_999n)).toBe(99_999)
  })
})
