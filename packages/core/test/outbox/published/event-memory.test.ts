import { expect, test } from 'vitest'
import { EventMemory } from '../../../src/outbox/published/event-memory.ts'

test('remembers an event from its transaction to its end', () => {
  const memory = new EventMemory(10)
  expect(memory.stateOf('a')).toBe(undefined)
  memory.opened('a')
  expect(memory.stateOf('a')).toBe('OPEN')
  memory.ended('a', 'COMMITTED')
  expect(memory.stateOf('a')).toBe('COMMITTED')
  memory.finished('a', 'DONE')
  expect(memory.stateOf('a')).toBe('DONE')
})

test('forgets the oldest commits first, never an open transaction, and takes in no event it did not see committed', () => {
  const memory = new EventMemory(2)
  memory.opened('open')
  for (const id of ['a', 'b', 'c']) memory.ended(id, 'COMMITTED')
  memory.finished('stranger', 'DONE')
  expect(['open', 'a', 'b', 'c', 'stranger'].map((id) => memory.stateOf(id))).toEqual([
    'OPEN',
    undefined,
    'COMMITTED',
    'COMMITTED',
    undefined,
  ])
})

test('an event that ends again keeps its place and pushes out no other', () => {
  const memory = new EventMemory(2)
  memory.ended('a', 'ROLLED_BACK')
  memory.ended('b', 'COMMITTED')
  memory.ended('a', 'COMMITTED')
  expect(['a', 'b'].map((id) => memory.stateOf(id))).toEqual(['COMMITTED', 'COMMITTED'])
  memory.ended('c', 'COMMITTED')
  expect(['a', 'b', 'c'].map((id) => memory.stateOf(id))).toEqual([undefined, 'COMMITTED', 'COMMITTED'])
})
