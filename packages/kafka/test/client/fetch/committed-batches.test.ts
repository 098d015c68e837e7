import { Buffer } from 'node:buffer'
import { CorruptBatchError } from '@waybill/kafka/wire'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { visibleSlice } from '../../../src/client/fetch/committed-batches.ts'
import { LogModel } from './log-model.ts'

const origin = { topic: 't', partition: 0, epoch: 1 }

function offsetsIn(slice: ReturnType<typeof visibleSlice>, from: bigint): bigint[] {
  return slice.batches.flatMap((batch) => batch.records(origin, from).map(({ offset }) => offset))
}

/** Four producers that write plainly and in transactions, in any order. */
const logs = fc
  .array(
    fc.record({
      producer: fc.integer({ min: 0, max: 3 }),
      what: fc.constantFrom('PLAIN', 'WRITE', 'WRITE', 'COMMIT', 'ABORT', 'ABORT'),
      size: fc.integer({ min: 1, max: 4 }),
    }),
    { maxLength: 40 },
  )
  .map((steps) => {
    const log = new LogModel()
    for (const { producer, what, size } of steps) {
      if (what === 'PLAIN') log.append(size)
      else if (what === 'WRITE') log.append(size, undefined, BigInt(producer))
      else log.endTransaction(BigInt(producer), what === 'COMMIT')
    }
    log.endAll()
    return log
  })

describe('the visible batches of a slice', () => {
  test('are exactly the committed ones, wherever the slice begins and ends', () => {
    fc.assert(
      fc.property(logs, fc.nat(), fc.integer({ min: 1, max: 12 }), (log, start, count) => {
        const from = log.end === 0n ? 0n : BigInt(start) % log.end
        const { records, aborted } = log.slice(from, count)
        const slice = visibleSlice(records, aborted, from)
        const expected = log.visible.filter((offset) => offset >= from && offset < slice.nextOffset)
        expect(offsetsIn(slice, from)).toEqual(expected)
        expect(
          log.batches.some(({ lastOffset }) => lastOffset + 1n === slice.nextOffset) || slice.nextOffset === from,
        ).toBe(true)
      }),
    )
  })

  test('follow one another without a gap until the end of the log', () => {
    fc.assert(
      fc.property(logs, fc.infiniteStream(fc.integer({ min: 1, max: 5 })), (log, counts) => {
        const seen: bigint[] = []
        let from = 0n
        while (from < log.end) {
          const { records, aborted } = log.slice(from, counts.next().value)
          const slice = visibleSlice(records, aborted, from)
          seen.push(...offsetsIn(slice, from))
          from = slice.nextOffset
        }
        expect(seen).toEqual(log.visible)
      }),
    )
  })

  test('of two aborted transactions of one producer are none, and the committed one between them is', () => {
    const log = new LogModel()
    for (const isCommitted of [false, true, false]) {
      log.append(2, undefined, 7n)
      log.endTransaction(7n, isCommitted)
    }
    const { records, aborted } = log.slice(0n, 100)
    expect(offsetsIn(visibleSlice(records, aborted, 0n), 0n)).toEqual([3n, 4n])
  })

  test('leave out an aborted transaction whose marker lies behind the slice', () => {
    const log = new LogModel()
    log.append(1, undefined, 7n)
    log.append(1)
    log.endTransaction(7n, false)
    const { records, aborted } = log.slice(0n, 2)
    expect(offsetsIn(visibleSlice(records, aborted, 0n), 0n)).toEqual([1n])
  })

  test('end before a batch that is damaged, and begin with an error when that is the first', () => {
    const log = new LogModel()
    log.append(2)
    log.endTransaction(7n, false)
    log.append(1, undefined, 7n)
    log.endTransaction(7n, false)
    const { records, aborted } = log.slice(0n, 100)
    const damaged = Buffer.from(records)
    // A bit of the marker's body: its checksum is wrong, and only the filter reads markers.
    damaged.writeUInt8(damaged.readUInt8(damaged.length - 2) ^ 1, damaged.length - 2)
    const slice = visibleSlice(damaged, aborted, 0n)
    expect(slice.nextOffset).toBe(3n)
    expect(offsetsIn(slice, 0n)).toEqual([0n, 1n])
    const markerAlone = damaged.subarray(damaged.length - (log.batches.at(-1)?.bytes.length ?? 0))
    expect(() => visibleSlice(markerAlone, [], 3n)).toThrow(CorruptBatchError)
  })

  test('do not become a marker by a flipped bit', () => {
    const log = new LogModel()
    log.append(1)
    const damaged = Buffer.from(log.slice(0n, 1).records)
    damaged.writeUInt8(damaged.readUInt8(22) | 0x20, 22)
    expect(() => visibleSlice(damaged, [], 0n)).toThrow(CorruptBatchError)
  })
})
