import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Parallelism } from '../../../src/api/binding.ts'
import { createLanes } from '../../../src/partition/lanes/lanes.ts'
import { recordOf, workOf } from '../../delivery/work-of.ts'

const slice = { handedOverAt: 0, startedAt: 0, era: 0 }
const place = { kind: 'SOURCE', tier: 0, groupId: 'group', consumerInstance: 'host-0' } as const

/** What lanes allow, said without any cleverness: a record may start if no earlier one of its lane is unfinished. */
class NaiveLanes {
  readonly entries: { offset: number; lane: string; state: 'QUEUED' | 'RUNNING' | 'DONE' }[] = []

  startable(): number[] {
    return this.entries
      .filter(
        ({ lane, state }, index) =>
          state === 'QUEUED' && this.entries.slice(0, index).every((one) => one.lane !== lane || one.state === 'DONE'),
      )
      .map(({ offset }) => offset)
  }
}

function laneOf(parallelism: Parallelism, offset: number, key: string | null): string {
  if (parallelism === 'PARTITION') return 'one'
  return parallelism === 'KEY' && key !== null ? `key ${key}` : `record ${offset}`
}

describe.each(['PARTITION', 'KEY', 'UNORDERED'] as const)('lanes of %s', (parallelism) => {
  test('start exactly what no earlier record of the lane forbids, through every order of endings', () => {
    const step = fc.oneof(
      fc.record({
        kind: fc.constant('push' as const),
        keys: fc.array(fc.constantFrom('a', 'b', 'c', null), { minLength: 1, maxLength: 3 }),
      }),
      fc.record({ kind: fc.constantFrom('take' as const, 'done' as const, 'putBack' as const), pick: fc.nat(20) }),
    )
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), fc.boolean(), (steps, inRuns) => {
        const lanes = createLanes(parallelism)
        const naive = new NaiveLanes()
        const running: ReturnType<typeof workOf>[] = []
        const stateOf = (offset: number) => naive.entries[offset] as (typeof naive.entries)[number]
        for (const one of steps) {
          if (one.kind === 'push') {
            const first = naive.entries.length
            const records = one.keys.map((key, index) =>
              recordOf({ offset: BigInt(first + index), key: key === null ? null : Buffer.from(key) }),
            )
            for (const [index, key] of one.keys.entries())
              naive.entries.push({
                offset: first + index,
                lane: laneOf(parallelism, first + index, key),
                state: 'QUEUED',
              })
            if (inRuns) lanes.pushRun({ records, distance: first, slice }, place)
            else for (const record of records) lanes.push(workOf(record))
          } else if (one.kind === 'take') {
            const startable = naive.startable()
            const taken = lanes.take(0)
            if (taken === undefined) expect(startable).toEqual([])
            else {
              expect(startable).toContain(Number(taken.offset))
              expect(taken.distance).toBe(Number(taken.offset))
              stateOf(Number(taken.offset)).state = 'RUNNING'
              running.push(taken)
            }
          } else if (running.length > 0) {
            const [work] = running.splice(one.pick % running.length, 1)
            if (work === undefined) continue
            stateOf(Number(work.offset)).state = one.kind === 'done' ? 'DONE' : 'QUEUED'
            if (one.kind === 'done') lanes.done(work)
            else lanes.putBack(work)
          }
          expect(lanes.size).toBe(naive.entries.filter(({ state }) => state === 'QUEUED').length)
        }
      }),
      { verbose: true },
    )
  })

  test('keep a record that is not due, say when it is, and let it go then', () => {
    const lanes = createLanes(parallelism)
    const late = workOf({ offset: 0n, key: Buffer.from('a'), dueAt: 50 })
    lanes.push(late)
    expect(lanes.peek(49)).toBeUndefined()
    expect(lanes.nextDueAt()).toBe(50)
    expect(lanes.take(50)).toBe(late)
  })

  test('forget what is queued, and what ends after that', () => {
    const lanes = createLanes(parallelism)
    const work = workOf({ offset: 0n, key: Buffer.from('a') })
    lanes.push(work)
    lanes.push(workOf({ offset: 1n, key: Buffer.from('a') }))
    expect(lanes.take(0)).toBe(work)
    lanes.clear()
    lanes.done(work)
    expect(lanes.size).toBe(0)
    expect(lanes.take(0)).toBeUndefined()
  })

  test('run nothing of a lane beside what was running when all else was forgotten', () => {
    const lanes = createLanes(parallelism)
    const work = workOf({ offset: 5n, key: Buffer.from('a') })
    lanes.push(work)
    expect(lanes.take(0)).toBe(work)
    lanes.clear()
    const next = workOf({ offset: 0n, key: Buffer.from('a') })
    lanes.push(next)
    if (parallelism !== 'UNORDERED') expect(lanes.take(0)).toBeUndefined()
    lanes.done(work)
    expect(lanes.take(0)).toBe(next)
  })
})

test('a key whose head is not due does not hold up the others', () => {
  const lanes = createLanes('KEY')
  lanes.push(workOf({ offset: 0n, key: Buffer.from('a'), dueAt: 100 }))
  lanes.push(workOf({ offset: 1n, key: Buffer.from('b') }))
  lanes.push(workOf({ offset: 2n, key: Buffer.from('a') }))
  expect(lanes.take(0)?.offset).toBe(1n)
  expect(lanes.take(0)).toBeUndefined()
  expect(lanes.take(100)?.offset).toBe(0n)
})
