import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Fold, foldWaiting } from '../../../src/partition/key-order/fold-waiting.ts'
import { originalId } from '../../../src/partition/key-order/original.ts'
import type { WaitingRead, WaitingRecord } from '../../../src/partition/key-order/waiting-record.ts'
import { copy, fence, originalAt } from './waiting-copies.ts'

const all = (): boolean => true
const none = (): boolean => false

/** `offset: KIND at` of what counts, then `at SETTLEMENT` of what does not. */
function texts({ copies, settled }: Fold): string[] {
  return [
    ...Array.from(copies.values(), ({ original, kind, at }) => `${original.offset}: ${kind} ${at}`),
    ...settled.map(({ at, as }) => `${at} ${as}`),
  ]
}

describe('foldWaiting', () => {
  test('the last copy of an original counts, and those before it were replaced', () => {
    const fold = foldWaiting([copy('HELD', 0, 5), copy('HELD', 1, 6), copy('HELD', 2, 5, { attempt: 2 })], all)
    expect(texts(fold)).toEqual(['5: HELD 2', '6: HELD 1', '0 RETRIED'])
  })

  test('the last copy of an original that the commit does not cover is in doubt: the source may bring it again', () => {
    const fold = foldWaiting([copy('HELD', 0, 5), copy('MARKER', 1, 6), copy('HELD', 2, 4)], (offset) => offset < 5n)
    expect(texts(fold)).toEqual(['4: HELD 2'])
    expect(Array.from(fold.doubtful.values(), ({ at }) => at)).toEqual([0n, 1n])
    const again = foldWaiting([copy('HELD', 0, 5), copy('HELD', 1, 5), copy('MARKER', 2, 5), copy('HELD', 3, 5)], none)
    expect(texts(again)).toEqual(['0 SKIPPED', '1 SKIPPED', '3 SKIPPED'])
    expect(Array.from(again.doubtful.values(), ({ at }) => at)).toEqual([2n])
  })

  test('a marker tells that the held copy before it is dead', () => {
    const fold = foldWaiting([copy('HELD', 0, 5), copy('HELD', 1, 5), copy('MARKER', 2, 5)], all)
    expect(texts(fold)).toEqual(['5: MARKER 2', '0 RETRIED', '1 DEAD'])
    expect(fold.replaysFinished).toBe(0)
  })

  test('a marker counts more than a held copy of the same replay, wherever that lies', () => {
    expect(texts(foldWaiting([copy('MARKER', 0, 5), copy('HELD', 1, 5)], all))).toEqual(['5: MARKER 0', '1 SKIPPED'])
  })

  test('a marker that was written again is one marker', () => {
    expect(texts(foldWaiting([copy('MARKER', 0, 5), copy('MARKER', 1, 5)], all))).toEqual(['5: MARKER 1', '0 RETRIED'])
  })

  test('a higher replay counts more than any attempt of the one before', () => {
    const late = copy('HELD', 0, 5, { tier: 3, attempt: 9 })
    const replayed = copy('HELD', 1, 5, { replayCount: 1, tier: 0 })
    expect(texts(foldWaiting([late, replayed], all))).toEqual(['5: HELD 1', '0 DEAD'])
    expect(texts(foldWaiting([replayed, { ...late, at: 2n }], all))).toEqual(['5: HELD 1', '2 SKIPPED'])
  })

  test('a replay that ended in another replay or in a marker is finished', () => {
    const first = copy('HELD', 0, 5, { replayCount: 1 })
    expect(foldWaiting([first, copy('HELD', 1, 5, { replayCount: 2 })], all).replaysFinished).toBe(1)
    expect(foldWaiting([first, copy('MARKER', 1, 5, { replayCount: 1 })], all).replaysFinished).toBe(1)
  })

  test('the marker of a replay ends with the next one', () => {
    const fold = foldWaiting([copy('MARKER', 0, 5), copy('HELD', 1, 5, { replayCount: 1 })], all)
    expect(texts(fold)).toEqual(['5: HELD 1', '0 SKIPPED'])
    expect(fold.replaysFinished).toBe(0)
  })

  test('originals of a topic that was created again are others, though their offsets are the same', () => {
    const [old, young] = [copy('HELD', 0, 7), { ...copy('HELD', 1, 7), original: originalAt(7, 'a', 2_000) }]
    expect(texts(foldWaiting([old, young], all))).toEqual(['7: HELD 0', '7: HELD 1'])
  })

  test('fences and what strangers wrote are passed over', () => {
    expect(texts(foldWaiting([fence(0), { kind: 'FOREIGN', at: 1n }], all))).toEqual(['0 SKIPPED', '1 SKIPPED'])
  })

  test('replays and releases are kept apart, in their order, whether their original is covered or not', () => {
    const [replay, release] = [copy('REPLAY', 0, 5, { replayCount: 1 }), copy('RELEASE', 1, 5)]
    const fold = foldWaiting([replay, release], () => false)
    expect([fold.replays, fold.releases, fold.settled, fold.copies.size]).toEqual([[replay], [release], [], 0])
  })
})

const reads = fc
  .array(
    fc.record({
      kind: fc.constantFrom('HELD', 'HELD', 'MARKER', 'REPLAY', 'RELEASE', 'FENCE' as const),
      offset: fc.nat({ max: 4 }),
      replayCount: fc.nat({ max: 2 }),
    }),
    { maxLength: 30 },
  )
  .map((drawn) =>
    drawn.map(
      ({ kind, offset, replayCount }, at): WaitingRead =>
        kind === 'FENCE' ? fence(at) : copy(kind, at, offset, { replayCount }),
    ),
  )

/** The winner of an original, straight from the rule. */
function naiveWinner(copies: readonly WaitingRecord[]): bigint | undefined {
  const highest = Math.max(...copies.map(({ replayCount }) => replayCount))
  const ofHighest = copies.filter(({ replayCount }) => replayCount === highest)
  return (ofHighest.findLast(({ kind }) => kind === 'MARKER') ?? ofHighest.at(-1))?.at
}

/** Which copy counts, by original. */
function found(map: Fold['copies']): unknown[] {
  return [...map].map(([id, { at }]) => [id, at])
}

describe('foldWaiting, for any log', () => {
  test('it finds the copy that the rule names, and settles every other record once', () => {
    fc.assert(
      fc.property(reads, fc.nat({ max: 5 }), (log, covered) => {
        const isCovered = (offset: bigint): boolean => offset < covered
        const fold = foldWaiting(log, isCovered)
        const copies = log.filter(
          (read): read is WaitingRecord => 'original' in read && (read.kind === 'HELD' || read.kind === 'MARKER'),
        )
        const winners = (of: (read: WaitingRecord) => boolean) =>
          [...Map.groupBy(copies.filter(of), (read) => originalId(read.original))].map(([id, group]) => [
            id,
            naiveWinner(group),
          ])
        expect(found(fold.copies)).toEqual(winners(({ original }) => isCovered(original.offset)))
        expect(found(fold.doubtful)).toEqual(winners(({ original }) => !isCovered(original.offset)))
        const counting = [...fold.copies.values(), ...fold.doubtful.values(), ...fold.replays, ...fold.releases]
        const kept = new Set(counting.map(({ at }) => at))
        const settled = fold.settled.map(({ at }) => at)
        expect(new Set(settled).size).toBe(settled.length)
        expect(log.filter(({ at }) => !kept.has(at)).map(({ at }) => at)).toEqual(
          settled.toSorted((a, b) => Number(a - b)),
        )
      }),
    )
  })

  test('each original that waited for the first time waits on, or is dead once', () => {
    fc.assert(
      fc.property(reads, (log) => {
        const { copies, settled, replaysFinished } = foldWaiting(log, all)
        const byPlace = new Map(log.map((read) => [read.at, read]))
        const dead = settled.filter(({ as }) => as === 'DEAD').map(({ at }) => byPlace.get(at) as WaitingRecord)
        expect(dead.filter(({ replayCount }) => replayCount > 0)).toHaveLength(replaysFinished)
        const first = dead.filter(({ replayCount }) => replayCount === 0).map(({ original }) => originalId(original))
        expect(new Set(first).size).toBe(first.length)
        for (const id of first) expect(copies.get(id)).not.toMatchObject({ kind: 'HELD', replayCount: 0 })
      }),
    )
  })
})
