import { Buffer } from 'node:buffer'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Work } from '../../../src/delivery/work.ts'
import { KeyChains, type RunStep } from '../../../src/partition/key-order/key-chains.ts'
import { laneOf } from '../../../src/partition/key-order/original.ts'
import { newEntry, type WaitingEntry } from '../../../src/partition/key-order/waiting-entry.ts'
import { workOf } from '../../delivery/work-of.ts'
import { originalAt } from './waiting-copies.ts'

function sourceWork(offset: number, key: string | null = 'a', dueAt = 0): Work {
  return workOf({ offset: BigInt(offset), key: key === null ? null : Buffer.from(key), dueAt })
}

/** An entry that was read back and may run. */
function readEntry(offset: number, key: string | null = 'a', dueAt = 0): WaitingEntry {
  const entry = newEntry(originalAt(offset, key), 'HELD', 0)
  return Object.assign(entry, { at: BigInt(offset), work: sourceWork(offset, key), dueAt })
}

function pushed(chains: KeyChains, ...works: Work[]): void {
  for (const work of works) chains.push(laneOf(work.record), work)
}

/** Takes steps until there is none; what runs keeps running. */
function takeAll(chains: KeyChains, now = 0): string[] {
  const taken: string[] = []
  for (let step = chains.peek(now); step !== undefined; step = chains.peek(now)) {
    chains.take(step)
    taken.push(`${step.kind} ${step.work.offset}`)
  }
  return taken
}

describe('KeyChains', () => {
  test('records of free keys run side by side, those of one key one after another', () => {
    const chains = new KeyChains()
    pushed(chains, sourceWork(0, 'a'), sourceWork(1, 'b'), sourceWork(2, 'a'))
    expect(takeAll(chains)).toEqual(['RUN 0', 'RUN 1'])
    expect(chains.queued).toBe(1)
  })

  test('a lane that is free again runs its next record', () => {
    const chains = new KeyChains()
    pushed(chains, sourceWork(0), sourceWork(1))
    const step = chains.peek(0) as RunStep
    chains.take(step)
    chains.done(step)
    expect(takeAll(chains)).toEqual(['RUN 1'])
  })

  test('a key is blocked from the moment its entry is in the chain, though nothing of it is in the log', () => {
    const chains = new KeyChains()
    chains.block(newEntry(originalAt(0), 'HELD', 0))
    pushed(chains, sourceWork(1), sourceWork(2, 'b'))
    expect(takeAll(chains)).toEqual(['HOLD 1', 'RUN 2'])
  })

  test('a key is free, parked behind a record that waits, or blocked behind a dead letter', () => {
    const chains = new KeyChains()
    const stateOf = (key: string): unknown => chains.keyState(laneOf(originalAt(0, key)))
    const marker = newEntry(originalAt(0, 'a'), 'MARKER', 0)
    chains.block(marker)
    chains.block(newEntry(originalAt(1, 'a'), 'HELD', 0))
    chains.block(newEntry(originalAt(2, 'b'), 'HELD', 0))
    pushed(chains, sourceWork(3, 'c'))
    expect(['a', 'b', 'c', 'd'].map(stateOf)).toEqual([
      { state: 'BLOCKED', waiting: 1 },
      { state: 'PARKED', waiting: 1 },
      { state: 'FREE', waiting: 0 },
      { state: 'FREE', waiting: 0 },
    ])
    chains.unblock(marker)
    expect(stateOf('a')).toEqual({ state: 'PARKED', waiting: 1 })
  })

  test('no record joins a chain that a replay has begun while one of the source runs: that is in no log yet', () => {
    const chains = new KeyChains()
    pushed(chains, sourceWork(5))
    const running = chains.peek(0) as RunStep
    chains.take(running)
    chains.block(readEntry(2))
    pushed(chains, sourceWork(6))
    expect(takeAll(chains)).toEqual([])
    chains.done(running)
    expect(takeAll(chains)).toEqual(['HOLD 6', 'RUN 2'])
  })

  test('a record joins the chain of its key also while the head of that runs', () => {
    const chains = new KeyChains()
    chains.block(readEntry(0))
    expect(takeAll(chains)).toEqual(['RUN 0'])
    pushed(chains, sourceWork(1))
    expect(takeAll(chains)).toEqual(['HOLD 1'])
  })

  test('the head of a chain and a record of the source never run at once', () => {
    const chains = new KeyChains()
    pushed(chains, sourceWork(0))
    const step = chains.peek(0) as RunStep
    chains.take(step)
    chains.block(readEntry(3))
    expect(takeAll(chains)).toEqual([])
    chains.done(step)
    expect(takeAll(chains)).toEqual(['RUN 3'])
  })

  test('only the lowest original of a chain may run, in whatever order they came', () => {
    const chains = new KeyChains()
    const [low, high] = [readEntry(3), readEntry(5)]
    chains.block(high)
    chains.block(low)
    expect(takeAll(chains)).toEqual(['RUN 3'])
    chains.done({ kind: 'RUN', lane: low.lane, work: low.work as Work, entry: low })
    chains.unblock(low)
    expect(takeAll(chains)).toEqual(['RUN 5'])
  })

  test.each([
    ['a marker', (entry: WaitingEntry) => Object.assign(entry, { state: 'MARKER' })],
    ['an append under way', (entry: WaitingEntry) => Object.assign(entry, { append: {} })],
    ['a copy that was not read yet', (entry: WaitingEntry) => Object.assign(entry, { work: undefined })],
  ])('%s at the head lets nothing behind it run', (_, change) => {
    const chains = new KeyChains()
    chains.block(change(readEntry(0)))
    chains.block(readEntry(1))
    expect(takeAll(chains)).toEqual([])
    expect(chains.nextDueAt).toBeUndefined()
  })

  test('the head runs when it is due, and not before', () => {
    const chains = new KeyChains()
    chains.block(readEntry(0, 'a', 50))
    expect(takeAll(chains, 49)).toEqual([])
    expect(chains.nextDueAt).toBe(50)
    chains.wake(50)
    expect(takeAll(chains, 50)).toEqual(['RUN 0'])
    expect(chains.nextDueAt).toBeUndefined()
  })

  test('the first of several due times is known', () => {
    const chains = new KeyChains()
    for (const [offset, dueAt] of [
      [0, 70],
      [1, 50],
      [2, 60],
    ] as const)
      chains.block(readEntry(offset, `${offset}`, dueAt))
    takeAll(chains)
    expect(chains.nextDueAt).toBe(50)
    chains.wake(50)
    takeAll(chains, 50)
    expect(chains.nextDueAt).toBe(60)
  })

  test('a record that is put back is the first of its lane again', () => {
    const chains = new KeyChains()
    pushed(chains, sourceWork(0), sourceWork(1))
    const step = chains.peek(0) as RunStep
    chains.take(step)
    chains.putBack(step)
    expect(chains.queued).toBe(2)
    expect(takeAll(chains)).toEqual(['RUN 0'])
  })

  test('a record of the source that must wait before its next attempt waits, and its lane with it', () => {
    const chains = new KeyChains()
    pushed(chains, sourceWork(0, 'a', 20), sourceWork(1))
    expect(takeAll(chains)).toEqual([])
    chains.wake(20)
    expect(takeAll(chains, 20)).toEqual(['RUN 0'])
  })

  test('records without a key have no order with any other', () => {
    const chains = new KeyChains()
    chains.block(newEntry(originalAt(0, null), 'HELD', 0))
    pushed(chains, sourceWork(1, null), sourceWork(2, null))
    expect(takeAll(chains)).toEqual(['RUN 1', 'RUN 2'])
  })

  test('keys take turns', () => {
    const chains = new KeyChains()
    chains.block(newEntry(originalAt(0, 'a'), 'HELD', 0))
    pushed(chains, sourceWork(1, 'a'), sourceWork(2, 'a'), sourceWork(3, 'b'))
    expect(takeAll(chains)).toEqual(['HOLD 1', 'RUN 3', 'HOLD 2'])
  })

  test('what is queued can be forgotten, and what runs ends all the same', () => {
    const chains = new KeyChains()
    pushed(chains, sourceWork(0), sourceWork(1))
    const step = chains.peek(0) as RunStep
    chains.take(step)
    chains.clearQueued()
    chains.done(step)
    expect([chains.queued, chains.peek(0)]).toEqual([0, undefined])
  })
})

const keyOf = (step: RunStep): string => String(step.work.record.key)

/** What may happen to chains; offsets rise. */
const events = fc.array(fc.constantFrom('PUSH_A', 'PUSH_B', 'FAIL', 'END', 'LAND', 'STEP'), { maxLength: 60 })

describe('KeyChains, whatever happens', () => {
  test('each key is served in the order of its originals, one at a time, and nothing is left behind', () => {
    fc.assert(
      fc.property(events, (happening) => {
        const chains = new KeyChains()
        const running: RunStep[] = []
        const pending: { entry: WaitingEntry; work: Work }[] = []
        const ended = new Map<string, bigint[]>([
          ['a', []],
          ['b', []],
        ])
        let next = 0

        const step = (): boolean => {
          const found = chains.peek(0)
          if (found === undefined) return false
          chains.take(found)
          if (found.kind === 'HOLD') held(found.work)
          else {
            expect(running.map(keyOf)).not.toContain(keyOf(found))
            if (found.entry !== undefined) found.entry.isRunning = true
            running.push(found)
          }
          return true
        }
        const held = (work: Work): void => {
          const entry = newEntry(originalAt(Number(work.offset), String(work.record.key)), 'HELD', 0)
          chains.block(entry)
          pending.push({ entry, work })
        }
        const fail = (): void => {
          const failed = running.shift()
          if (failed === undefined) return
          if (failed.entry === undefined) held(failed.work)
          else {
            Object.assign(failed.entry, { isRunning: false, work: undefined })
            pending.push({ entry: failed.entry, work: failed.work })
          }
          chains.done(failed)
        }
        const end = (): void => {
          const done = running.shift()
          if (done === undefined) return
          ended.get(keyOf(done))?.push(done.work.offset)
          if (done.entry !== undefined) chains.unblock(done.entry)
          chains.done(done)
        }
        const land = (): void => {
          const landed = pending.shift()
          if (landed === undefined) return
          landed.entry.work = landed.work
          chains.look(landed.entry.lane)
        }
        const does = { FAIL: fail, END: end, LAND: land, STEP: step }
        for (const event of happening)
          if (event === 'PUSH_A' || event === 'PUSH_B')
            pushed(chains, sourceWork(next++, event === 'PUSH_A' ? 'a' : 'b'))
          else does[event]()
        while (step() || running.length + pending.length > 0) {
          land()
          if (!step()) end()
        }
        for (const offsets of ended.values())
          expect(offsets).toEqual(offsets.toSorted((left, right) => Number(left - right)))
        expect([...ended.values()].flat()).toHaveLength(next)
        expect(chains.queued).toBe(0)
      }),
    )
  })
})
