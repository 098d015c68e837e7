import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Batch } from '../../../src/delivery/batch.ts'
import type { Slice, Work, WorkPlace } from '../../../src/delivery/work.ts'
import { BatchLane } from '../../../src/partition/lanes/batch-lane.ts'
import { recordOf } from '../../delivery/work-of.ts'

const place: WorkPlace = { kind: 'SOURCE', tier: 0, groupId: 'group', consumerInstance: 'host-0' }
const slice: Slice = { handedOverAt: 0, startedAt: 0, era: 0 }

function scene() {
  const lane = new BatchLane(place)
  /** Offsets that follow each other, and are as far from the ledger's beginning. */
  const push = (...offsets: number[]): void => {
    const records = offsets.map((offset) => recordOf({ offset: BigInt(offset) }))
    if (offsets[0] !== undefined) lane.push({ records, distance: offsets[0], slice })
  }
  return { lane, push }
}

const offsetsOf = (works: readonly Work[]): number[] =>
  works.map(({ offset, distance }) => {
    expect(distance).toBe(Number(offset))
    return distance
  })
const worksOf = (batch: Batch | undefined): readonly Work[] => batch?.works ?? []

describe('the lane of a batch', () => {
  test('is one queue in the order of offsets, whatever is taken together, put back and taken again', () => {
    const step = fc.oneof(
      fc.record({ push: fc.integer({ min: 0, max: 5 }) }),
      fc.record({ takeUpTo: fc.integer({ min: 1, max: 6 }), limit: fc.integer({ min: 0, max: 40 }) }),
      fc.constantFrom('take' as const, 'peek' as const, 'nextDueAt' as const, 'done' as const, 'clear' as const),
      fc.record({ putBack: fc.nat(6) }),
    )
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const { lane, push } = scene()
        let queued: number[] = []
        let running: readonly Work[] = []
        let next = 0
        for (const one of steps) {
          if (one === 'peek' || one === 'nextDueAt') {
            const expected = running.length > 0 ? undefined : queued[0]
            if (one === 'peek') expect(lane.peek(0)?.offset).toBe(expected === undefined ? undefined : BigInt(expected))
            else expect(lane.nextDueAt()).toBe(expected === undefined ? undefined : 0)
          } else if (one === 'take') {
            const work = lane.take(0)
            const expected = running.length > 0 ? [] : queued.splice(0, 1)
            expect(work === undefined ? [] : offsetsOf([work])).toEqual(expected)
            if (work !== undefined) running = [work]
          } else if (one === 'done') {
            lane.done()
            running = []
          } else if (one === 'clear') {
            lane.clear()
            queued = []
          } else if ('push' in one) {
            const offsets = Array.from({ length: one.push }, () => next++)
            push(...offsets)
            queued.push(...offsets)
          } else if ('takeUpTo' in one) {
            const batch = lane.takeUpTo(one.takeUpTo, one.limit, 0)
            const works = worksOf(batch)
            expect(batch?.records ?? []).toEqual(works.map(({ record }) => record))
            expect([batch?.first, batch?.size ?? 0]).toEqual([works[0], works.length])
            expect(batch?.isGapless ?? true).toBe(true)
            const startable = queued.slice(0, one.takeUpTo).filter((offset) => offset < one.limit)
            const expected = running.length > 0 ? [] : queued.splice(0, startable.length)
            expect(offsetsOf(works)).toEqual(expected)
            if (works.length > 0) running = works
          } else if (running.length > 0) {
            // Those behind the first that stays, from the last on; what was before it is done.
            const back = running.slice(one.putBack % running.length)
            for (const work of back.toReversed()) lane.putBack(work)
            queued.unshift(...offsetsOf(back))
            running = []
          }
          expect(lane.size).toBe(queued.length)
        }
      }),
      { verbose: true },
    )
  })

  test('starts nothing before its head is due', () => {
    const { lane, push } = scene()
    push(0, 1)
    const head = lane.take(0) as Work
    head.dueAt = 50
    lane.putBack(head)
    expect([lane.takeUpTo(9, 100, 49), lane.nextDueAt()]).toEqual([undefined, 50])
    expect(offsetsOf(worksOf(lane.takeUpTo(9, 100, 50)))).toEqual([0, 1])
  })

  test('gives the same work again when it is put back: it knows of its failures', () => {
    const { lane, push } = scene()
    push(0, 1)
    const works = worksOf(lane.takeUpTo(9, 100, 0))
    for (const work of works.toReversed()) lane.putBack(work)
    expect(worksOf(lane.takeUpTo(9, 100, 0))).toEqual(works)
  })

  test('takes records of several hands over together, and tells whether there is a hole between them', () => {
    const { lane, push } = scene()
    push(0, 1)
    push(2)
    const first = lane.takeUpTo(9, 100, 0) as Batch
    expect([offsetsOf(first.works), first.isGapless, first.slices]).toEqual([[0, 1, 2], true, [slice, slice, slice]])
    lane.done()
    push(3)
    push(5)
    const second = lane.takeUpTo(9, 100, 0) as Batch
    expect([offsetsOf(second.works), second.isGapless]).toEqual([[3, 5], false])
    const part = second.of(second.works.slice(1))
    expect([part.first.offset, part.size, part.isGapless]).toEqual([5n, 1, true])
  })
})
