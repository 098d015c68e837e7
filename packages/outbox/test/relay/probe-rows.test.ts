import { expect, test } from 'vitest'
import { ProbeRows } from '../../src/relay/probe-rows.ts'

/** Rows that probe one destination, of which the test says when its probe is due and what is in flight. */
function setup() {
  const probe = { name: 'away', at: 100, lastFailed: 'event-1' }
  const inFlight = new Set<string>()
  const rows = new ProbeRows({ probes: () => [probe].values() as never }, (eventId) => inFlight.has(eventId))
  const add = (...seqs: bigint[]): void => seqs.forEach((seq) => rows.add('away', { seq, eventId: `event-${seq}` }))
  return { probe, inFlight, rows, add }
}

test('a probe is due at its time, preferably with another row than the one that failed last', () => {
  const { rows, add } = setup()
  expect(rows.nextAt).toBe(Number.POSITIVE_INFINITY)
  add(1n)
  expect([rows.nextAt, rows.due(99)]).toEqual([100, []])
  expect(rows.due(100)).toEqual([{ destination: 'away', seq: 1n, eventId: 'event-1' }])
  add(2n)
  expect(rows.due(100)).toMatchObject([{ seq: 2n }])
})

test('no second row probes a destination while one is in flight', () => {
  const { rows, add, inFlight } = setup()
  add(1n, 2n)
  inFlight.add('event-1')
  expect([rows.nextAt, rows.due(100)]).toEqual([Number.POSITIVE_INFINITY, []])
})

test('four different rows of a destination are remembered, until they are gone or it is available', () => {
  const { rows, add } = setup()
  add(1n, 1n, 2n, 3n, 4n, 5n)
  const remove = (seq: bigint): boolean => rows.remove({ destination: 'away', seq, eventId: `event-${seq}` })
  expect([5n, 1n, 2n, 3n].map(remove)).toEqual([false, false, false, false])
  expect(rows.due(100)).toMatchObject([{ seq: 4n }])
  expect(remove(4n)).toBe(true)
  expect(rows.due(100)).toEqual([])
  add(6n)
  rows.opened('away')
  expect(rows.nextAt).toBe(Number.POSITIVE_INFINITY)
})
