import { Buffer } from 'node:buffer'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { batchCount, dueInMs, RecordQueue } from '../../../src/client/producer/accumulator.ts'
import { PendingRecord } from '../../../src/client/producer/pending-record.ts'

function record(valueBytes: number, sentAt = 0): PendingRecord {
  return new PendingRecord({ topic: 't', key: null, value: Buffer.alloc(valueBytes) }, 0, sentAt, 0)
}

function queueOf(...records: PendingRecord[]): RecordQueue {
  const queue = new RecordQueue()
  for (const one of records) queue.push(one)
  return queue
}

describe('a queue of records', () => {
  test('gives records away in the order they came, wherever they are taken from', () => {
    fc.assert(
      fc.property(
        fc.array(fc.oneof(fc.constant('PUSH' as const), fc.tuple(fc.nat(5), fc.nat(5))), { maxLength: 200 }),
        (steps) => {
          const queue = new RecordQueue()
          const model: PendingRecord[] = []
          for (const [time, step] of steps.entries()) {
            if (step === 'PUSH') {
              const one = record(time % 7, time)
              queue.push(one)
              model.push(one)
            } else expect(queue.removeFrom(...step)).toEqual(model.splice(...step))
            expect(queue.length).toBe(model.length)
            expect(queue.bytes).toBe(model.reduce((sum, one) => sum + one.bytes, 0))
            expect(queue.front(3)).toEqual(model.slice(0, 3))
            expect(queue.countSentBy(time / 2)).toBe(model.filter((one) => one.sentAt <= time / 2).length)
          }
        },
      ),
    )
  })
})

describe('the size of a batch', () => {
  test('is as many records as fit, and one that is larger than a batch goes alone', () => {
    const small = record(10)
    expect(batchCount(queueOf(), 100, 10)).toBe(0)
    expect(batchCount(queueOf(record(1_000)), 100, 10)).toBe(1)
    expect(batchCount(queueOf(record(1_000), small), 100, 10)).toBe(1)
    expect(batchCount(queueOf(small, record(1_000)), 100, 10)).toBe(1)
    expect(batchCount(queueOf(small, record(10), record(10)), small.bytes * 2, 10)).toBe(2)
    expect(batchCount(queueOf(small, record(10), record(10)), 1_000, 2)).toBe(2)
  })
})

describe('a partition with nothing in flight', () => {
  const linger = { lingerMs: 5, batchBytes: 200 }

  test.each([
    { when: 'it has no record', records: [], now: 0, isUrgent: true, dueIn: Number.POSITIVE_INFINITY },
    { when: 'it has a lone record', records: [record(1, 100)], now: 100, isUrgent: false, dueIn: 0 },
    { when: 'it has two', records: [record(1, 100), record(1, 102)], now: 102, isUrgent: false, dueIn: 3 },
    { when: 'the first has lingered', records: [record(1, 100), record(1, 104)], now: 105, isUrgent: false, dueIn: 0 },
    { when: 'the clock is far ahead', records: [record(1, 0), record(1, 0)], now: 900, isUrgent: false, dueIn: 0 },
    { when: 'a batch is full', records: [record(150, 100), record(60, 100)], now: 100, isUrgent: false, dueIn: 0 },
    { when: 'a flush is pending', records: [record(1, 100), record(1, 100)], now: 100, isUrgent: true, dueIn: 0 },
  ])('sends in $dueIn ms when $when', ({ records, now, isUrgent, dueIn }) => {
    expect(dueInMs(queueOf(...records), now, linger, isUrgent)).toBe(dueIn)
  })
})
