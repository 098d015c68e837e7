import { createEnvelope, StateError } from '@waybill/core'
import type { ShardRow } from '@waybill/outbox/internal'
import { createVirtualRuntime } from '@waybill/sim'
import { describe, expect, test } from 'vitest'
import { type QueuedRow, type ReadEnd, ShardQueue } from '../../src/keyed/shard-queue.ts'
import type { OnDeadKey } from '../../src/options/keyed-options.ts'
import { createDestinations } from '../support/outbox-harness.ts'

const done = { kind: 'DONE' } as const
const retry = (delayMs: number) => ({ kind: 'RETRY', delayMs, error: 'not now' }) as const
const dead = { kind: 'DEAD', error: 'never' } as const
interface Settled {
  readonly settled: bigint | null
}

const whole: ReadEnd = { limit: 100, maxChain: 10, maxChainBytes: 1_000, isCut: false, now: 0, earlier: undefined }
const keyOf = (aggregateId: string) => ({ aggregateType: 'order', aggregateId })

function setup(onDeadKey: OnDeadKey = 'RELEASE') {
  const runtime = createVirtualRuntime(1)
  const road = createDestinations(runtime)
  const stalled = new Set<string>()
  const queue = new ShardQueue(
    { shard: 3, owner: 'me', version: 1n },
    { onDeadKey, road, stalls: (key) => stalled.has(key) },
  )
  /** One whole read. */
  const read = (rows: readonly ShardRow[], { settled = null, ...end }: Partial<ReadEnd & Settled> = {}): void => {
    queue.beginRead(settled)
    queue.endRead(rows, { ...whole, ...end })
  }
  const take = (now = 0): QueuedRow => {
    const row = queue.take(now)
    if (row === undefined) throw new Error('nothing is ready')
    return row
  }
  return { queue, read, take, road, runtime, stalled }
}

function rowOf(
  seq: number,
  key: string | null = 'a',
  fields: { dueInMs?: number; attempts?: number; bytes?: number } = {},
): ShardRow {
  const event = createEnvelope({ eventType: 'x', aggregateType: 'order', aggregateId: key, payloadJson: '{}' })
  return {
    seq: BigInt(seq),
    eventId: event.eventId,
    attempts: 0,
    bytes: 10,
    event,
    shard: 3,
    key: key === null ? null : { aggregateType: 'order', aggregateId: key },
    dueInMs: 0,
    ...fields,
  }
}

test('L2 a key whose outcomes cannot be written starts no more rows, and is read again after a second', () => {
  const { queue, read, take, stalled } = setup()
  read([rowOf(1), rowOf(2), rowOf(3, 'b')])
  const first = take()
  stalled.add(first.keyText as string)
  queue.settle(first, done, 0)
  expect(take().seq).toBe(3n)
  expect(queue.take(0)).toBeUndefined()
  expect([queue.heldKeys, queue.nextDueAt]).toEqual([1, 1_000])
  stalled.clear()
  queue.releaseDue(1_000)
  expect(queue.beginRead(null)).toMatchObject({ floor: 1n, without: [] })
  queue.endRead([rowOf(1), rowOf(2)], whole)
  expect(take().seq).toBe(2n)
})

describe('a read that was under way while something changed', () => {
  test('does not bring back a row whose finish was confirmed meanwhile', () => {
    const { queue, read, take } = setup()
    read([rowOf(1)])
    const row = take()
    queue.beginRead(null)
    queue.settle(row, done, 0)
    queue.confirm(row, 0, 0)
    queue.endRead([rowOf(1)], whole)
    expect(queue.take(0)).toBeUndefined()
    expect(queue.size).toBe(0)
  })

  test('I7 does not let a successor pass a row that failed and was due again before the answer came', () => {
    const { queue, read, take } = setup()
    read([rowOf(1)])
    const row = take()
    queue.beginRead(null)
    queue.settle(row, retry(5), 0)
    queue.confirm(row, 0, 10)
    queue.releaseDue(10)
    queue.endRead([rowOf(1), rowOf(2)], { ...whole, now: 10 })
    expect(queue.take(10)).toBeUndefined()
    expect(queue.beginRead(null)).toEqual({ shard: 3, floor: 0n, without: [] })
    queue.endRead([rowOf(1, 'a', { attempts: 1 }), rowOf(2)], { ...whole, now: 10 })
    expect(take(10)).toMatchObject({ seq: 1n, attempts: 1, attempt: 2 })
  })

  test('is followed by one from where a row was committed below it', () => {
    const { queue } = setup()
    queue.beginRead(null)
    queue.readFrom(5n)
    queue.endRead([rowOf(9)], whole)
    expect(queue.isHungry).toBe(true)
    expect(queue.beginRead(null).floor).toBe(4n)
  })

  test('changes nothing when it failed', () => {
    const { queue, read } = setup()
    read([rowOf(4)])
    queue.beginRead(null)
    queue.abandonRead(0)
    expect(queue.isHungry).toBe(true)
    expect(queue.beginRead(null).floor).toBe(4n)
  })
})

describe('a read that began above its floor', () => {
  test('asks for earlier rows of its keys, but for those in memory', () => {
    const { queue, read, take } = setup()
    read([rowOf(1), rowOf(2), rowOf(3, 'b'), rowOf(4, null)])
    const row = take()
    queue.settle(row, done, 0)
    queue.beginRead(null)
    const rows = [rowOf(5), rowOf(6, 'c'), rowOf(7), rowOf(8, null)]
    expect(queue.queryBelow(rows)).toEqual({
      shard: 3,
      above: null,
      upTo: 4n,
      keys: [keyOf('a'), keyOf('c')],
      except: [1n, 2n, 3n, 4n],
    })
  })

  test('asks for nothing when it was from the beginning, or brought no key that may go on', () => {
    const { queue, read, take } = setup()
    queue.beginRead(null)
    expect(queue.queryBelow([rowOf(1)])).toBeUndefined()
    queue.endRead([rowOf(1)], whole)
    const row = take()
    queue.beginRead(null)
    queue.settle(row, retry(100), 0)
    expect(queue.queryBelow([rowOf(2), rowOf(3, null)])).toBeUndefined()
    queue.endRead([], whole)
    read([])
    queue.beginRead(null)
    expect(queue.queryBelow([])).toBeUndefined()
  })

  test('asks below where it began, also when the floor fell meanwhile', () => {
    const { queue, read } = setup()
    read([rowOf(9)])
    queue.beginRead(null)
    queue.readFrom(5n)
    expect(queue.queryBelow([rowOf(10)])).toMatchObject({ upTo: 9n })
  })

  test('asks only above what is complete', () => {
    const { queue, read } = setup()
    read([rowOf(1), rowOf(2), rowOf(5, 'b')], { settled: 3n })
    queue.beginRead(3n)
    expect(queue.queryBelow([rowOf(6)])).toMatchObject({ above: 3n, upTo: 5n, except: [5n] })
  })

  test('asks for nothing when all below it is complete', () => {
    const { queue, read } = setup()
    read([rowOf(1), rowOf(2)], { settled: 9n })
    expect(queue.isBehind).toBe(false)
    queue.beginRead(9n)
    expect(queue.queryBelow([rowOf(6)])).toBeUndefined()
  })

  test('I7 asks again for what was committed late while a key was held', () => {
    const { queue, read, take } = setup()
    read([rowOf(1), rowOf(5, 'b')], { settled: 3n })
    const row = take()
    expect(row.seq).toBe(1n)
    const neighbour = take()
    queue.settle(neighbour, retry(10), 0)
    queue.confirm(neighbour, 0, 0)
    queue.catchUp()
    read([rowOf(1), rowOf(8)], { settled: 9n })
    queue.releaseDue(10)
    expect(queue.beginRead(9n).floor).toBe(4n)
    expect(queue.queryBelow([rowOf(5, 'b')])).toMatchObject({ above: 3n, upTo: 4n, keys: [keyOf('b')] })
  })

  test('I7 begins at the start when another server answers, and takes nothing for complete', () => {
    const { queue, read } = setup()
    read([rowOf(1), rowOf(2)], { settled: 9n })
    queue.startOver()
    expect(queue.isBehind).toBe(true)
    expect(queue.beginRead(null).floor).toBeNull()
    queue.endRead([rowOf(1), rowOf(4)], whole)
    queue.beginRead(null)
    expect(queue.queryBelow([rowOf(6)])).toMatchObject({ above: null, upTo: 4n })
  })

  test('I7 takes nothing for complete that was so when a key was held under another server', () => {
    const { queue, read, take } = setup()
    read([rowOf(1), rowOf(5, 'b')], { settled: 3n })
    take()
    const neighbour = take()
    queue.settle(neighbour, retry(10), 0)
    queue.confirm(neighbour, 0, 0)
    queue.startOver()
    read([rowOf(1), rowOf(8)], { settled: 9n })
    queue.releaseDue(10)
    queue.beginRead(9n)
    expect(queue.queryBelow([rowOf(5, 'b')])).toMatchObject({ above: null, upTo: 4n, keys: [keyOf('b')] })
  })

  test('I7 starts no key while an earlier row is unread, and is read again from there', () => {
    const { queue, read, take } = setup()
    read([rowOf(9, 'b')])
    queue.settle(take(), done, 0)
    read([rowOf(10), rowOf(11, null)], { earlier: 5n })
    expect(take().seq).toBe(11n)
    expect(queue.take(0)).toBeUndefined()
    expect(queue.isHungry).toBe(true)
    expect(queue.beginRead(null).floor).toBe(4n)
    queue.endRead([rowOf(5), rowOf(10)], whole)
    expect(take().seq).toBe(5n)
    expect(queue.take(0)).toBeUndefined()
  })
})

describe('a key', () => {
  test('is held from the row that failed, and its successors leave memory', () => {
    const { queue, read, take } = setup()
    read([rowOf(1), rowOf(2), rowOf(3, 'b')])
    const row = take()
    queue.settle(row, retry(100), 0)
    expect(queue).toMatchObject({ size: 2, heldKeys: 1, nextDueAt: 100 })
    expect(queue.beginRead(null)).toEqual({
      shard: 3,
      floor: 3n,
      without: [{ aggregateType: 'order', aggregateId: 'a' }],
    })
  })

  test('I7 is read again from a row that was committed late while it was held', () => {
    const { queue, read, take } = setup()
    read([rowOf(5)])
    const first = take()
    queue.settle(first, retry(100), 0)
    queue.confirm(first, 0, 0)
    read([rowOf(3), rowOf(9, 'b')])
    queue.releaseDue(100)
    expect(queue.beginRead(null).floor).toBe(2n)
  })

  test('waits for the confirmation as well as for the time', () => {
    const { queue, read, take } = setup()
    read([rowOf(1)])
    const row = take()
    queue.settle(row, retry(10), 0)
    queue.releaseDue(50)
    expect(queue.heldKeys).toBe(1)
    queue.confirm(row, 0, 60)
    expect(queue.heldKeys).toBe(0)
    expect(queue.beginRead(null).floor).toBe(0n)
  })

  test('has so many rows in memory and no more, and is read on when half of them are gone', () => {
    const { queue, read, take } = setup()
    read([rowOf(1), rowOf(2), rowOf(3), rowOf(4), rowOf(5), rowOf(6, 'b')], { maxChain: 4 })
    expect(queue).toMatchObject({ size: 5, heldKeys: 1 })
    for (const seq of [1, 6]) {
      const row = take()
      expect(row.seq).toBe(BigInt(seq))
      queue.settle(row, done, 0)
      queue.confirm(row, 0, 0)
    }
    expect(queue.heldKeys).toBe(1)
    queue.settle(take(), done, 0)
    expect(queue.heldKeys).toBe(0)
    expect(queue.beginRead(null).floor).toBe(4n)
  })

  test('takes a row that was committed late before those that have not started', () => {
    const { read, take } = setup()
    read([rowOf(5)])
    read([rowOf(4)])
    expect(take().seq).toBe(4n)
  })

  test('with BLOCK is held by its dead row until a look that began later does not show it', () => {
    const { queue, read, take } = setup('BLOCK')
    expect(queue.isBlind).toBe(true)
    queue.applyDeadKeys([], 1)
    expect(queue.isBlind).toBe(false)
    read([rowOf(1), rowOf(2)])
    const row = take()
    queue.settle(row, dead, 0)
    queue.applyDeadKeys([], 2)
    queue.confirm(row, 2, 0)
    queue.applyDeadKeys([], 2)
    expect(queue.heldKeys).toBe(1)
    queue.applyDeadKeys([{ shard: 3, key: { aggregateType: 'order', aggregateId: 'a' }, seq: 1n }], 3)
    expect(queue.heldKeys).toBe(1)
    queue.applyDeadKeys([], 4)
    expect(queue.heldKeys).toBe(0)
    expect(queue.beginRead(null).floor).toBe(0n)
  })
})

describe('a shard that is given back', () => {
  test('forgets what has not started, and is drained when the rest is confirmed', () => {
    const { queue, read, take } = setup()
    read([rowOf(1), rowOf(2), rowOf(3, 'b'), rowOf(4, null)])
    const row = take()
    queue.close()
    expect(queue).toMatchObject({ size: 1, running: 1, hasReady: false, isDrained: false })
    queue.settle(row, done, 0)
    expect(queue.isDrained).toBe(false)
    queue.confirm(row, 0, 0)
    expect(queue.isDrained).toBe(true)
    expect(queue.signal.aborted).toBe(false)
  })

  test('tells what runs when it is lost', () => {
    const { queue, read, take } = setup()
    read([rowOf(1)])
    const row = take()
    queue.lose(new StateError('gone'))
    expect(row.signal.aborted).toBe(true)
  })
})

describe('a read that left out rows because of their size', () => {
  test('I24 is not the whole shard: it is read on from its last row, and proves nothing beyond', () => {
    const { queue, read } = setup()
    read([rowOf(1), rowOf(2)], { isCut: true, settled: 9n })
    expect([queue.isHungry, queue.isBacklogged, queue.isBehind]).toEqual([true, true, false])
    expect(queue.beginRead(9n).floor).toBe(2n)
    queue.endRead([rowOf(7, 'b')], whole)
    expect([queue.isHungry, queue.isBacklogged]).toEqual([false, false])
  })

  test('I7 proves nothing about a shard that it did not get to', () => {
    const { queue, read } = setup()
    read([], { isCut: true, settled: 9n })
    expect([queue.isHungry, queue.isBehind]).toEqual([true, true])
    expect(queue.beginRead(9n).floor).toBeNull()
  })

  test('I24 counts the bytes of a row until its settlement is confirmed', () => {
    const { queue, read, take } = setup()
    read([rowOf(1, 'a', { bytes: 300 }), rowOf(2, 'b', { bytes: 50 })])
    expect(queue.bytes).toBe(350)
    const row = take()
    queue.settle(row, done, 0)
    expect(queue.bytes).toBe(350)
    queue.confirm(row, 0, 0)
    expect(queue.bytes).toBe(50)
    queue.close()
    expect(queue.bytes).toBe(0)
  })

  test('I24 a key has so many bytes in memory and no more, but always one row that waits', () => {
    const { queue, read, take } = setup()
    const large = [1, 2, 3, 4].map((seq) => rowOf(seq, 'a', { bytes: 600 }))
    read(large)
    expect(queue.size).toBe(1)
    const first = take()
    expect(queue.heldKeys).toBe(1)
    queue.settle(first, done, 0)
    expect(queue.heldKeys).toBe(0)
    expect(queue.beginRead(null).floor).toBe(1n)
    queue.endRead(large.slice(1), whole)
    expect(take().seq).toBe(2n)
  })

  test('skips a row that was deleted while it was read', () => {
    const { queue, read } = setup()
    const { event: _, ...gone } = rowOf(1)
    read([{ ...gone, event: null, problem: null }, rowOf(2)])
    expect([queue.size, queue.take(0)?.seq]).toEqual([1, 2n])
  })
})

test('I6 a shard that is lost starts none of the rows it has in memory', () => {
  const { queue, read, take } = setup()
  read([rowOf(1), rowOf(2, 'b')])
  take()
  queue.lose(new StateError('The lease expired.'))
  expect([queue.take(0), queue.size]).toEqual([undefined, 1])
})

test('a row that is not due when its turn comes holds its key until then', () => {
  const { queue, read, take } = setup()
  read([rowOf(1), rowOf(2, 'a', { dueInMs: 500 })])
  queue.settle(take(), done, 0)
  expect([queue.take(0), queue.nextDueAt]).toEqual([undefined, 500])
})

test('a row without a key that is not due when its turn comes leaves memory, and is read again', () => {
  const { queue, read, take } = setup()
  const delayed = rowOf(1, null, { dueInMs: 500 })
  read([delayed])
  expect([queue.take(0), queue.size]).toEqual([undefined, 0])
  read([{ ...delayed, dueInMs: 0 }], { now: 500 })
  expect(take(500).seq).toBe(1n)
})
