import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type DueEvent, EventQueue } from '../../src/time/event-queue.ts'

const eventAt = (at: number, tie = 0, sequence = 0): DueEvent => ({
  at,
  tie,
  sequence,
  run: () => {},
  cancelled: false,
})

/** Removes all events, in order. */
function drain(queue: EventQueue): DueEvent[] {
  const events: DueEvent[] = []
  for (let event = queue.pop(); event !== undefined; event = queue.pop()) events.push(event)
  return events
}

describe('EventQueue', () => {
  test('gives events by time, then by tie, then by sequence', () => {
    const queue = new EventQueue()
    const ordered = [eventAt(1, 0.9, 4), eventAt(2, 0.1, 3), eventAt(2, 0.5, 1), eventAt(2, 0.5, 2)]
    for (const event of ordered.toReversed()) queue.push(event)
    expect(queue.nextAt()).toBe(1)
    expect(drain(queue)).toEqual(ordered)
  })

  test('is empty at the start and after the last event', () => {
    const queue = new EventQueue()
    expect([queue.size, queue.nextAt(), queue.pop()]).toEqual([0, undefined, undefined])
    queue.push(eventAt(1))
    queue.pop()
    expect([queue.size, queue.nextAt(), queue.pop()]).toEqual([0, undefined, undefined])
  })

  test('counts an event once, however often and whenever it is cancelled', () => {
    const queue = new EventQueue()
    const [first, second] = [eventAt(1), eventAt(2)]
    queue.push(first)
    queue.push(second)
    queue.cancel(first)
    queue.cancel(first)
    expect(queue.size).toBe(1)
    expect(queue.pop()).toBe(second)
    queue.cancel(second)
    expect(queue.size).toBe(0)
  })

  test('releases the callback of a cancelled event', () => {
    const queue = new EventQueue()
    const event = eventAt(1)
    const { run } = event
    queue.push(event)
    queue.cancel(event)
    expect(event.run).not.toBe(run)
  })

  test('behaves like a sorted list, whatever is pushed, cancelled and taken', () => {
    const step = fc.oneof(
      { weight: 3, arbitrary: fc.record({ push: fc.tuple(fc.nat(9), fc.nat(3)) }) },
      { weight: 1, arbitrary: fc.record({ cancel: fc.nat() }) },
      { weight: 1, arbitrary: fc.constant('pop' as const) },
    )
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const queue = new EventQueue()
        let model: DueEvent[] = []
        for (const [sequence, what] of steps.entries()) {
          if (what === 'pop') {
            expect(queue.pop()).toBe(model.shift())
          } else if ('push' in what) {
            const event = eventAt(what.push[0], what.push[1], sequence)
            queue.push(event)
            model.push(event)
            model.sort((one, other) => one.at - other.at || one.tie - other.tie || one.sequence - other.sequence)
          } else {
            const event = model[what.cancel % Math.max(1, model.length)]
            if (event !== undefined) queue.cancel(event)
            model = model.filter((kept) => kept !== event)
          }
          expect(queue.size).toBe(model.length)
          expect(queue.nextAt()).toBe(model[0]?.at)
        }
        expect(drain(queue)).toEqual(model)
      }),
    )
  })
})
