import { describe, expect, test } from 'vitest'
import type { WaitingEntry } from '../../../src/partition/key-order/waiting-entry.ts'
import type { WaitingRead } from '../../../src/partition/key-order/waiting-record.ts'
import { bookScene } from './book-scene.ts'
import { copy, fence, originalAt } from './waiting-copies.ts'

describe('a record that waits', () => {
  test('settles its source when its append is confirmed, and runs when it was read', () => {
    const { book, source, appendOf, read, runs, unbalanced } = bookScene({ settled: 9 })
    const append = appendOf(book.hold(originalAt(9)), 'HELD', 9)
    expect([source.watermark, runs()]).toEqual([9n, undefined])
    book.confirmed(append)
    expect([source.watermark, runs(), book.waitingNow]).toEqual([10n, undefined, 1])
    expect(unbalanced()).toEqual([])
    expect(read(copy('HELD', 0, 9))).toEqual([true])
    expect(runs()?.original.offset).toBe(9n)
  })

  test('is confirmed by the log itself when the broker’s answer was lost', () => {
    const { book, source, appendOf, read, unbalanced } = bookScene({ settled: 9 })
    const append = appendOf(book.hold(originalAt(9)), 'HELD', 9)
    read(copy('HELD', 0, 9))
    expect([append.isConfirmed, source.watermark, book.waitingNow]).toEqual([true, 10n, 1])
    book.confirmed(append)
    expect(unbalanced()).toEqual([])
  })

  test('keeps its old copy until the next attempt is in the log', () => {
    const { book, scan, appendOf, settled, runs, read, unbalanced } = bookScene({ moved: 1 })
    scan(copy('HELD', 0, 5))
    const append = appendOf(runs() as WaitingEntry, 'HELD')
    expect([settled(), runs()]).toEqual([[], undefined])
    book.confirmed(append)
    expect([settled(), runs()]).toEqual([[0], undefined])
    read(copy('HELD', 1, 5, { attempt: 2 }))
    expect(runs()?.at).toBe(1n)
    expect(unbalanced()).toEqual([])
  })

  test('is out of its chain with its outcome', () => {
    const { book, scan, settled, runs, unbalanced } = bookScene({ moved: 2 })
    scan(copy('HELD', 0, 5), copy('HELD', 1, 6))
    book.finish(runs() as WaitingEntry, 'OK')
    expect([settled(), runs()?.original.offset, book.size]).toEqual([[0], 6n, 1])
    book.finish(runs() as WaitingEntry, 'DEAD')
    expect(book.state().counts).toMatchObject({ ok: 1n, dead: 1n })
    expect(unbalanced()).toEqual([])
  })

  test('that blocks its key by its death is settled when the marker is in the log, and not before', () => {
    const { book, scan, appendOf, settled, runs, unbalanced } = bookScene({ moved: 1 })
    scan(copy('HELD', 0, 5))
    const marker = appendOf(runs() as WaitingEntry, 'MARKER')
    expect([settled(), book.waitingNow]).toEqual([[], 1])
    book.confirmed(marker)
    expect([settled(), book.waitingNow, book.size]).toEqual([[0], 0, 1])
    expect(unbalanced()).toEqual([])
  })

  test('that died on the source settles it when its marker is in the log', () => {
    const { book, source, appendOf, unbalanced } = bookScene({ settled: 9 })
    const marker = appendOf(book.hold(originalAt(9)), 'MARKER', 9)
    expect(source.watermark).toBe(9n)
    book.confirmed(marker)
    expect([source.watermark, source.state().counts.dead, book.waitingNow]).toEqual([10n, 1n, 0])
    expect(unbalanced()).toEqual([])
  })

  test('is not moved by a copy that nobody here wrote', () => {
    const { scan, read, runs, settled } = bookScene({ moved: 1 })
    scan(copy('HELD', 0, 5))
    expect(
      read(copy('HELD', 1, 5, { attempt: 2 }), copy('MARKER', 2, 7), { kind: 'FOREIGN', at: 3n }, fence(4)),
    ).toEqual([false, false, false, true])
    expect([runs()?.at, settled()]).toEqual([0n, [1, 2, 3, 4]])
  })

  test('weighs what it keeps in memory', () => {
    const { book, scan, runs } = bookScene({ moved: 1 })
    scan(copy('HELD', 0, 5), copy('MARKER', 1, 6))
    expect(book.bytes).toBe(10)
    book.finish(runs() as WaitingEntry, 'OK')
    expect(book.bytes).toBe(0)
  })
})

const replay = (at: number, offset: number, replayCount = 1): WaitingRead =>
  copy('REPLAY', at, offset, { replayCount, tier: 0 })

describe('a replay', () => {
  test('of a dead record is delivered', () => {
    const { read, runs, book, unbalanced } = bookScene()
    read(replay(0, 5))
    expect(runs()).toMatchObject({ original: originalAt(5), replayCount: 1 })
    book.finish(runs() as WaitingEntry, 'OK')
    expect(book.state()).toMatchObject({ replaysFinished: 1n, waitingNow: 0n })
    expect(unbalanced()).toEqual([])
  })

  test('of a record that blocks its key goes first, and ends the marker', () => {
    const { scan, read, runs, settled } = bookScene({ moved: 1 })
    scan(copy('MARKER', 0, 5), copy('HELD', 1, 6))
    expect(runs()).toBeUndefined()
    read(replay(2, 5))
    expect([runs()?.original.offset, settled()]).toEqual([5n, [0]])
  })

  test('that comes before the outcome of its record waits for it: a success makes it a duplicate', () => {
    const { book, source, read, runs, settled } = bookScene({ settled: 9 })
    read(replay(0, 9))
    expect([runs(), settled()]).toEqual([undefined, []])
    source.settle(9n, 'OK')
    book.sourceFinished(originalAt(9), true)
    expect([runs(), settled(), book.hasRequests]).toEqual([undefined, [0], false])
  })

  test('that comes before the outcome of its record is delivered after its death', () => {
    const { book, source, read, runs, settled } = bookScene({ settled: 9 })
    read(replay(0, 9))
    source.settle(9n, 'DEAD')
    book.sourceFinished(originalAt(9), false)
    expect([runs()?.replayCount, settled()]).toEqual([1, []])
  })

  test('that comes while the record is held waits for its outcome too', () => {
    const { book, scan, read, runs, unbalanced } = bookScene({ moved: 1 })
    scan(copy('HELD', 0, 5))
    read(replay(1, 5))
    expect(runs()?.replayCount).toBe(0)
    book.finish(runs() as WaitingEntry, 'DEAD')
    expect(runs()?.replayCount).toBe(1)
    expect(unbalanced()).toEqual([])
  })

  test('that comes between the dead letter and its marker is delivered when the marker was read', () => {
    const { book, scan, read, runs, appendOf } = bookScene({ moved: 1 })
    scan(copy('HELD', 0, 5))
    const marker = appendOf(runs() as WaitingEntry, 'MARKER')
    read(replay(1, 5))
    book.confirmed(marker)
    expect(runs()).toBeUndefined()
    read(copy('MARKER', 2, 5))
    expect(runs()).toMatchObject({ replayCount: 1, at: 1n })
  })

  test('that was written twice is delivered once', () => {
    const { book, read, runs, settled } = bookScene()
    read(replay(0, 5), replay(1, 5))
    book.finish(runs() as WaitingEntry, 'OK')
    expect([settled(), runs()]).toEqual([[0, 1], undefined])
  })

  test('that was written twice before the outcome waits once', () => {
    const { read, settled } = bookScene({ settled: 9 })
    read(replay(0, 9), replay(1, 9), replay(2, 9, 2))
    expect(settled()).toEqual([0, 1])
  })

  test('found in a scan is looked at after all copies: its own later copy makes it a duplicate', () => {
    const { scan, runs, settled } = bookScene()
    scan(replay(0, 5), copy('HELD', 1, 5, { replayCount: 1, attempt: 2 }))
    expect([runs()?.at, settled()]).toEqual([1n, [0]])
  })

  test('found in a scan wins over the last attempt of the record it repeats', () => {
    const { scan, runs } = bookScene({ moved: 1 })
    scan(copy('MARKER', 0, 5), replay(1, 5))
    expect(runs()).toMatchObject({ replayCount: 1, at: 1n })
  })

  test('of a record of a topic that was created again does not wait for the record that has its offset now', () => {
    const { book, source, read, runs } = bookScene({ settled: 9 })
    read(replay(0, 9))
    source.settle(9n, 'OK')
    book.sourceFinished(originalAt(9, 'a', 7_777), true)
    expect(runs()).toMatchObject({ original: originalAt(9), replayCount: 1 })
  })
})

describe('a release', () => {
  test('ends the marker it names, or an earlier one', () => {
    for (const replayCount of [0, 1]) {
      const { scan, read, runs, settled, book } = bookScene({ moved: 1 })
      scan(copy('MARKER', 0, 5), copy('HELD', 1, 6))
      read(copy('RELEASE', 2, 5, { replayCount }))
      expect([runs()?.original.offset, settled(), book.hasRequests]).toEqual([6n, [0, 2], false])
    }
  })

  test('does not end the marker of a later replay', () => {
    const { scan, read, runs, settled } = bookScene({ moved: 1 })
    scan(copy('MARKER', 0, 5, { replayCount: 1 }), copy('HELD', 1, 6))
    read(copy('RELEASE', 2, 5))
    expect([runs(), settled()]).toEqual([undefined, []])
  })

  test('ends a marker that lies behind it in the log', () => {
    const { scan, settled, book } = bookScene()
    scan(copy('RELEASE', 0, 5), copy('MARKER', 1, 5))
    expect([settled(), book.size]).toEqual([[0, 1], 0])
  })

  test('that comes before the outcome waits for the marker', () => {
    const { book, read, appendOf, settled, source } = bookScene({ settled: 9 })
    read(copy('RELEASE', 0, 9))
    expect(settled()).toEqual([])
    book.confirmed(appendOf(book.hold(originalAt(9)), 'MARKER', 9))
    expect([settled(), source.watermark]).toEqual([[], 10n])
    read(copy('MARKER', 1, 9))
    expect([settled(), book.size]).toEqual([[0, 1], 0])
  })

  test('of a replay that has not run yet, found in the same scan, ends the marker of that replay', () => {
    const { book, scan, read, runs, appendOf, settled } = bookScene()
    scan(copy('MARKER', 0, 5), copy('REPLAY', 1, 5, { replayCount: 1 }), copy('RELEASE', 2, 5, { replayCount: 1 }))
    expect(runs()?.replayCount).toBe(1)
    appendOf(runs() as WaitingEntry, 'MARKER')
    read(copy('MARKER', 3, 5, { replayCount: 1 }))
    expect([settled(), book.size]).toEqual([[0, 1, 2, 3], 0])
  })

  test('of a record that blocks nothing any more is passed over', () => {
    const { read, settled } = bookScene()
    read(copy('RELEASE', 0, 5))
    expect(settled()).toEqual([0])
  })

  test('lets a replay that waited for the same marker go on', () => {
    const { scan, read, runs, settled } = bookScene({ moved: 1 })
    scan(copy('HELD', 0, 5), copy('RELEASE', 1, 5), copy('REPLAY', 2, 5, { replayCount: 1 }))
    expect(runs()?.replayCount).toBe(0)
    read(fence(3))
    expect(settled()).toEqual([3])
  })
})

describe('a copy whose original the commit does not cover', () => {
  test('is a duplicate once the source brings the original', () => {
    const { book, scan, settled, runs, unbalanced } = bookScene({ settled: 5 })
    scan(copy('HELD', 0, 6))
    expect([settled(), book.hasDoubts, runs()]).toEqual([[], true, undefined])
    book.sourceShows(originalAt(6))
    expect([settled(), book.hasDoubts, book.size]).toEqual([[0], false, 0])
    expect(unbalanced()).toEqual([])
  })

  test('waits on when the source brings another record there, or none', () => {
    const { book, scan, settled, runs, unbalanced } = bookScene({ settled: 5 })
    scan(copy('HELD', 0, 6), copy('HELD', 1, 7, { key: 'b' }))
    book.sourceShows(originalAt(6, 'a', 2_000))
    book.sourceReached(7n)
    expect([settled(), runs()?.original.offset, book.hasDoubts]).toEqual([[], 6n, true])
    book.sourceReached(8n)
    expect([book.size, book.hasDoubts]).toEqual([2, false])
    expect(unbalanced()).toEqual([])
    book.finish(runs() as WaitingEntry, 'OK')
    expect([settled(), unbalanced()]).toEqual([[0], []])
  })

  test('waits on at once where the source ends before it, and counts when all is counted anew', () => {
    const { book, scanUpTo, runs, unbalanced } = bookScene({ settled: 5 })
    scanUpTo(6, copy('HELD', 0, 6))
    expect([runs()?.original.offset, book.waitingNow, unbalanced()]).toEqual([
      6n,
      1,
      [{ equation: 'ORIGINALS', due: 0n, accounted: 1n, missing: -1n }],
    ])
    book.countAnew()
    expect(unbalanced()).toEqual([])
    expect(book.has(originalAt(6))).toBe(true)
  })

  test('waits on when the source is replaced', () => {
    const { book, scan, runs } = bookScene({ settled: 5 })
    scan(copy('HELD', 0, 6))
    book.sourceReplaced()
    expect([runs()?.original.offset, book.hasDoubts]).toEqual([6n, false])
  })
})
