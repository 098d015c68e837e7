/** What is kept of a waiting topic moves to the end of its log, and nothing is answered before its time by that. */

import { describe, expect, test } from 'vitest'
import type { WaitingEntry } from '../../../src/partition/key-order/waiting-entry.ts'
import type { WaitingRead } from '../../../src/partition/key-order/waiting-record.ts'
import { bookScene } from './book-scene.ts'
import { copy, originalAt } from './waiting-copies.ts'

const replay = (at: number, offset: number, replayCount = 1): WaitingRead =>
  copy('REPLAY', at, offset, { replayCount, tier: 0 })

const release = (at: number, offset: number): WaitingRead => copy('RELEASE', at, offset)

describe('a record that waits', () => {
  test('moves when its copy is the lowest, unless it runs or is on its way', () => {
    const { book, scan, runs, appendOf } = bookScene({ moved: 2 })
    scan(copy('HELD', 0, 5), copy('HELD', 1, 6))
    const entry = runs() as WaitingEntry
    expect(book.lowestMovable()).toEqual({ kind: 'ENTRY', entry })
    entry.isRunning = true
    expect(book.lowestMovable()).toBeUndefined()
    entry.isRunning = false
    appendOf(entry, 'HELD')
    expect(book.lowestMovable()).toBeUndefined()
  })

  test('does not run and blocks its key until its new copy was read', () => {
    const { scan, runs, read, moveLowest, settled, unbalanced } = bookScene({ moved: 2 })
    scan(copy('HELD', 0, 5), copy('HELD', 1, 6))
    moveLowest()
    expect([runs(), settled()]).toEqual([undefined, []])
    read(copy('HELD', 2, 5))
    expect([runs()?.original.offset, runs()?.at, settled()]).toEqual([5n, 2n, [0]])
    expect(unbalanced()).toEqual([])
  })
})

describe('a request of an operator', () => {
  test('that has no outcome moves as it is, and is settled when the new copy was read', () => {
    const { book, read, moveLowest, settled, runs } = bookScene({ settled: 9 })
    read(replay(0, 9), release(1, 9))
    moveLowest()
    expect([settled(), book.lowestMovable(), runs()]).toEqual([[], undefined, undefined])
    read(replay(2, 9))
    moveLowest()
    read(release(3, 9))
    expect([settled(), book.kept, runs()]).toEqual([[0, 1], 2, undefined])
  })

  test('that is on its way is answered once it was read: a success makes both copies duplicates', () => {
    const { book, source, read, moveLowest, settled, runs } = bookScene({ settled: 9 })
    read(replay(0, 9))
    moveLowest()
    source.settle(9n, 'OK')
    book.sourceFinished(originalAt(9), true)
    expect(settled()).toEqual([])
    read(replay(1, 9))
    expect([settled(), book.kept, runs()]).toEqual([[0, 1], 0, undefined])
  })

  test('that is on its way is answered once it was read: after a death it is delivered once', () => {
    const { book, source, read, moveLowest, settled, runs, unbalanced } = bookScene({ settled: 9 })
    read(replay(0, 9))
    moveLowest()
    source.settle(9n, 'DEAD')
    book.sourceFinished(originalAt(9), false)
    expect(runs()).toBeUndefined()
    read(replay(1, 9))
    expect([settled(), runs()]).toMatchObject([[0], { at: 1n, replayCount: 1 }])
    book.finish(runs() as WaitingEntry, 'OK')
    expect([settled(), book.kept, unbalanced()]).toEqual([[0, 1], 0, []])
  })

  test('that was confirmed and not read is still not answered: the next owner would find both copies', () => {
    const { book, source, read, moveLowest, settled, runs } = bookScene({ settled: 9 })
    read(replay(0, 9))
    const append = moveLowest()
    if (append !== undefined) book.confirmed(append)
    source.settle(9n, 'DEAD')
    book.sourceFinished(originalAt(9), false)
    expect([settled(), runs()]).toEqual([[], undefined])
  })

  test('ends a marker only when its new copy was read', () => {
    const { book, source, read, moveLowest, appendOf, settled } = bookScene({ settled: 9 })
    read(release(0, 9))
    moveLowest()
    appendOf(book.hold(originalAt(9)), 'MARKER', 9)
    read(copy('MARKER', 1, 9))
    expect([settled(), book.size, source.watermark]).toEqual([[], 1, 10n])
    read(release(2, 9))
    expect([settled(), book.kept]).toEqual([[0, 1, 2], 0])
  })

  test('stays while a replay of the same original is on its way: that may die as well', () => {
    const { book, source, read, moveLowest, settled, runs } = bookScene({ settled: 9 })
    read(replay(0, 9), copy('RELEASE', 1, 9, { replayCount: 1 }))
    moveLowest()
    source.settle(9n, 'DEAD')
    book.sourceFinished(originalAt(9), false)
    read(replay(2, 9))
    expect([settled(), runs()?.replayCount, book.hasRequests]).toEqual([[0], 1, true])
  })

  test('is found twice after a crash, and counts once', () => {
    const { book, scan, settled, runs, unbalanced } = bookScene()
    scan(replay(0, 5), release(1, 6), replay(2, 5), release(3, 6))
    expect([settled(), runs()?.at]).toEqual([[0, 1, 3], 2n])
    book.finish(runs() as WaitingEntry, 'OK')
    expect([settled(), unbalanced()]).toEqual([[0, 1, 2, 3], []])
  })

  test('that a later one replaces while it is on its way is answered when both were read', () => {
    const { book, source, read, moveLowest, settled, runs } = bookScene({ settled: 9 })
    read(replay(0, 9, 1))
    moveLowest()
    read(replay(1, 9, 2))
    source.settle(9n, 'DEAD')
    book.sourceFinished(originalAt(9), false)
    expect([settled(), runs()]).toEqual([[0], undefined])
    read(replay(2, 9, 1))
    expect([settled(), runs()?.replayCount]).toEqual([[0, 2], 2])
  })

  test('for a record that the source does not have is answered once the source has told where it ends', () => {
    const { book, read, settled, runs } = bookScene({ settled: 9 })
    read(replay(0, 9), replay(1, 40), release(2, 41))
    const requests = book.unplacedRequests()
    expect(requests.map(({ copy: { at } }) => at)).toEqual([0n, 1n, 2n])
    book.sourceEnds(10n, requests)
    expect([settled(), runs()?.original.offset, book.unplacedRequests()]).toEqual([[2], 40n, []])
  })
})

describe('a copy in doubt', () => {
  test('moves and stays in doubt, and the next owner finds one of both', () => {
    const { book, scan, read, moveLowest, settled, runs, unbalanced } = bookScene({ settled: 5 })
    scan(copy('HELD', 0, 6))
    moveLowest()
    expect([book.isMovingDoubt, settled()]).toEqual([true, []])
    read(copy('HELD', 1, 6))
    expect([book.isMovingDoubt, book.hasDoubts, settled(), runs()]).toEqual([false, true, [0], undefined])
    expect(unbalanced()).toEqual([])
    const next = bookScene({ settled: 5 })
    next.scan(copy('HELD', 0, 6), copy('HELD', 1, 6))
    expect([next.settled(), next.book.hasDoubts]).toEqual([[0], true])
  })

  test('is a duplicate when it was read again, if the source brings its original before', () => {
    const { book, scan, read, moveLowest, settled, unbalanced } = bookScene({ settled: 5 })
    scan(copy('HELD', 0, 6))
    moveLowest()
    book.sourceShows(originalAt(6))
    book.sourceReached(7n)
    expect([book.isMovingDoubt, book.size, settled()]).toEqual([true, 0, []])
    expect(read(copy('HELD', 1, 6))).toEqual([true])
    expect([book.isMovingDoubt, book.kept, settled()]).toEqual([false, 0, [0, 1]])
    expect(unbalanced()).toEqual([])
  })

  test('waits as any other if the source is past it before it was read again', () => {
    const { book, scan, read, moveLowest, settled, runs, unbalanced } = bookScene({ settled: 5 })
    scan(copy('HELD', 0, 6))
    moveLowest()
    book.sourceReached(7n)
    expect([book.isMovingDoubt, book.size, runs()]).toEqual([false, 1, undefined])
    read(copy('HELD', 1, 6))
    expect([settled(), runs()?.at]).toEqual([[0], 1n])
    expect(unbalanced()).toEqual([])
  })

  test('waits as any other if the source was replaced, also if it had brought the original', () => {
    const { book, scan, read, moveLowest, runs } = bookScene({ settled: 5 })
    scan(copy('HELD', 0, 6))
    moveLowest()
    book.sourceShows(originalAt(6))
    book.sourceReplaced()
    read(copy('HELD', 1, 6))
    expect([runs()?.at, book.hasDoubts]).toEqual([1n, false])
  })

  test('takes no room that the records that wait have', () => {
    const { book, scan, read, moveLowest } = bookScene({ settled: 5 })
    scan(copy('HELD', 0, 6))
    moveLowest()
    read(copy('HELD', 1, 6))
    expect([book.size, book.bytes, book.waitingNow, book.kept]).toEqual([0, 0, 0, 1])
    book.sourceReached(7n)
    expect([book.size, book.waitingNow]).toEqual([1, 1])
    expect(book.bytes).toBeGreaterThan(0)
  })
})
