import { Buffer } from 'node:buffer'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { CorruptBatchError, encodeBatch, type RecordView } from '@waybill/kafka/wire'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { visibleSlice } from '../../../src/client/fetch/committed-batches.ts'
import type { UnpackLimits } from '../../../src/client/fetch/open-batch.ts'
import { PartitionFeed } from '../../../src/client/fetch/partition-feed.ts'
import { LogModel, range } from './log-model.ts'

const origin = { topic: 't', partition: 3, epoch: 5 }
/** Not far below where numbers end to be exact. */
const start = 2n ** 53n - 20n

function feedAt(position: bigint): PartitionFeed {
  return new PartitionFeed(origin, 'READ_COMMITTED', 'id', position)
}

const limits: UnpackLimits = {
  maxBatchBytes: 2 ** 28,
  turn: { isSpent: false, spend: () => {}, breathe: () => Promise.resolve() },
}

function fetchInto(feed: PartitionFeed, log: LogModel, count: number): void {
  const { records, aborted } = log.slice(feed.fetchOffset, count)
  feed.take(visibleSlice(records, aborted, feed.fetchOffset))
}

function hand(feed: PartitionFeed, max: number): bigint[] {
  const records: RecordView[] = []
  feed.hand(max, records, limits)
  return records.map(({ offset }) => offset)
}

/** Node has no other way to it without a flag of the process. */
function collectGarbage(): void {
  setFlagsFromString('--expose-gc')
  const gc = runInNewContext('gc') as () => void
  gc()
}

/** Batches with holes, whole batches gone, transactions. */
const logs = fc
  .array(
    fc.record({
      what: fc.constantFrom('PLAIN', 'SPARSE', 'EMPTY', 'TRANSACTION', 'COMMIT', 'ABORT'),
      size: fc.integer({ min: 1, max: 5 }),
      keep: fc.nat(),
    }),
    { minLength: 1, maxLength: 30 },
  )
  .map((steps) => {
    const log = new LogModel(start)
    for (const { what, size, keep } of steps) {
      if (what === 'PLAIN') log.append(size)
      else if (what === 'SPARSE')
        log.append(
          size,
          range(size).filter((index) => (keep >> index) & 1),
        )
      else if (what === 'EMPTY') log.append(size, [])
      else if (what === 'TRANSACTION') log.append(size, undefined, 1n)
      else log.endTransaction(1n, what === 'COMMIT')
    }
    log.endAll()
    return log
  })

const steps = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: fc.record({ step: fc.constant('HAND' as const), count: fc.integer({ min: 1, max: 7 }) }) },
    { weight: 4, arbitrary: fc.record({ step: fc.constant('FETCH' as const), count: fc.integer({ min: 1, max: 4 }) }) },
    { weight: 1, arbitrary: fc.record({ step: fc.constant('SEEK' as const), count: fc.nat() }) },
    { weight: 1, arbitrary: fc.record({ step: fc.constant('REWIND' as const), count: fc.constant(0) }) },
  ),
  { maxLength: 60 },
)

describe('a partition feed', () => {
  test('lets an answer go when its records are handed out, though later ones always wait', async () => {
    const log = new LogModel(start)
    for (let batch = 0; batch < 20; batch++) log.append(2)
    const feed = feedAt(start)
    const answers: WeakRef<Buffer>[] = []
    const fetch = (): void => {
      const { records, aborted } = log.slice(feed.fetchOffset, 1)
      answers.push(new WeakRef(records))
      feed.take(visibleSlice(records, aborted, feed.fetchOffset))
    }
    fetch()
    while (answers.length < 20) {
      fetch()
      hand(feed, 2)
    }
    await new Promise(setImmediate) // A reference that was made or asked for in this turn holds until its end.
    collectGarbage()
    expect(answers.filter((answer) => answer.deref() !== undefined)).toHaveLength(1)
    expect(hand(feed, 2)).toHaveLength(2)
  })

  test('hands out every visible record once and in order, through any seeks and rewinds', () => {
    fc.assert(
      fc.property(logs, steps, (log, program) => {
        const first = start
        const feed = feedAt(first)
        // All the model knows: the offset below which everything has been handed out or sought past.
        let due = first
        for (const { step, count } of program) {
          if (step === 'FETCH') fetchInto(feed, log, count)
          else if (step === 'REWIND') feed.rewind()
          else if (step === 'SEEK') {
            due = first + (BigInt(count) % (log.end - first + 1n))
            feed.seek(due)
          } else {
            const handed = hand(feed, count)
            expect(handed).toEqual(log.visible.filter((offset) => offset >= due).slice(0, handed.length))
            due = (handed.at(-1) ?? due - 1n) + 1n
          }
          // Nothing visible lies between what was handed out and the position: a restart there skips nothing (I14).
          expect(feed.position).toBeGreaterThanOrEqual(due)
          expect(log.visible.some((offset) => offset >= due && offset < feed.position)).toBe(false)
          expect(feed.fetchOffset).toBeGreaterThanOrEqual(feed.position)
        }
        while (feed.fetchOffset < log.end) fetchInto(feed, log, 3)
        expect(hand(feed, 1_000)).toEqual(log.visible.filter((offset) => offset >= due))
        expect(feed.position).toBe(log.end)
        expect([feed.bufferedRecords, feed.bufferedBytes]).toEqual([0, 0])
      }),
    )
  })

  test('skips invisible records at once, so that lag can reach zero', () => {
    const log = new LogModel()
    log.append(2, undefined, 1n)
    log.endTransaction(1n, false)
    const feed = feedAt(0n)
    fetchInto(feed, log, 10)
    expect(feed.position).toBe(3n)
  })

  test('begins in the middle of a batch', () => {
    const log = new LogModel()
    log.append(5)
    const feed = feedAt(2n)
    fetchInto(feed, log, 1)
    expect(hand(feed, 10)).toEqual([2n, 3n, 4n])
  })

  test('stays before a batch it cannot decode, and keeps what it has handed out', () => {
    const log = new LogModel()
    log.append(2)
    log.append(2)
    const { records } = log.slice(0n, 2)
    const damaged = Buffer.from(records)
    damaged.writeUInt8(damaged.readUInt8(damaged.length - 2) ^ 1, damaged.length - 2)
    const feed = feedAt(0n)
    feed.take(visibleSlice(damaged, [], 0n))
    const handed: RecordView[] = []
    expect(() => feed.hand(10, handed, limits)).toThrow(CorruptBatchError)
    expect(handed.map(({ offset }) => offset)).toEqual([0n, 1n])
    expect(feed.position).toBe(2n)
    feed.rewind()
    fetchInto(feed, log, 1)
    expect(hand(feed, 10)).toEqual([2n, 3n])
  })

  test('counts what a packed batch is unpacked to, from its first record to its last', () => {
    const record = { key: null, value: Buffer.alloc(10_000), headers: [], timestamp: 0 }
    const batch = encodeBatch(
      Array.from({ length: 10 }, () => record),
      'GZIP',
    )
    const feed = feedAt(0n)
    feed.take(visibleSlice(batch, [], 0n))
    expect([feed.isOpen, feed.unpackedBytes, feed.bufferedBytes]).toEqual([false, 0, batch.length])
    hand(feed, 1)
    expect(feed.isOpen).toBe(true)
    expect(feed.unpackedBytes).toBeGreaterThan(100_000)
    expect(feed.bufferedBytes).toBe(batch.length + feed.unpackedBytes)
    hand(feed, 9)
    expect([feed.isOpen, feed.unpackedBytes, feed.bufferedBytes]).toEqual([false, 0, 0])
  })

  test('knows a fetch of before a seek by its era', () => {
    const feed = feedAt(0n)
    const era = feed.ask()
    expect(feed.isAsked).toBe(true)
    feed.seek(7n)
    expect(feed.isAsked).toBe(false)
    expect(feed.era).not.toBe(era)
    feed.ask()
    feed.answered(era)
    expect(feed.isAsked).toBe(true)
  })

  test('gives its records the assignment it was opened for', () => {
    const log = new LogModel()
    log.append(1)
    const feed = feedAt(0n)
    fetchInto(feed, log, 1)
    const records: RecordView[] = []
    feed.hand(1, records, limits)
    expect(records[0]).toMatchObject({ topic: 't', partition: 3, epoch: 5, offset: 0n })
  })
})
