import { UnavailableError } from '@waybill/core'
import { expect, test } from 'vitest'
import { drawProgram } from './program.ts'
import { Roads } from './roads.ts'

/** The knowledge of one process about one destination, which contains all events. */
function setup() {
  const violations: string[] = []
  const scene = { now: 0 }
  const program = { ...drawProgram(1), mode: 'keyed' as const, roads: { destinations: 1, outages: [], alike: {} } }
  const roads = new Roads({
    program,
    court: { violate: (_: string, what: string) => violations.push(what), reach: () => {}, note: () => {} } as never,
    now: () => scene.now,
  })
  const node = { name: 'node' }
  const begin = (eventId: string) => {
    const call = { node, eventId }
    roads.called(call, [])
    return call
  }
  const away = new UnavailableError('The broker does not answer.', { destination: 'all' })
  return { roads, scene, violations, begin, away }
}

test('a probe that begins too soon after a failure is a violation', () => {
  const { roads, begin, away, violations } = setup()
  expect(roads.failed(begin('event-1'), away)).toBe('AWAY')
  begin('event-2')
  expect(violations).toEqual(['node probes all 0 ms after the last failure'])
})

test('a failure that may have been counted as the event’s does not make an older call the first one to fail', () => {
  const { roads, scene, begin, away, violations } = setup()
  roads.failed(begin('event-2'), away)
  scene.now = 1_000
  roads.arrived(begin('event-9'))
  const [older, reaching] = [begin('event-1'), begin('event-3')]
  expect(roads.failed(begin('event-2'), away)).toBe('FOUND_OUT')
  roads.arrived(reaching)
  expect(roads.failed(begin('event-2'), away)).toBe('DOUBTFUL')
  scene.now = 1_120
  roads.failed(older, away)
  scene.now = 1_150
  begin('event-4')
  expect(violations).toEqual([])
})
