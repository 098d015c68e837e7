import { createEnvelope, type EventEnvelope } from '@waybill/core'
import { expect, test } from 'vitest'
import { EventMemory } from '../../src/upkeep/event-memory.ts'

function written(...ids: readonly string[]): readonly EventEnvelope[] {
  return ids.map((eventId) => createEnvelope({ eventId, eventType: 'order.placed', payloadJson: '{}' }))
}

function commit(memory: EventMemory, ...ids: readonly string[]): void {
  const events = written(...ids)
  memory.opened(events)
  memory.ended(events, 'COMMITTED')
}

const statesOf = (memory: EventMemory, ...ids: readonly string[]) => ids.map((id) => memory.stateOf(id))

test('remembers the events of a call from their transaction to their ends', () => {
  const memory = new EventMemory(10)
  const events = written('a', 'b')
  expect(statesOf(memory, 'a', 'b')).toEqual([undefined, undefined])
  memory.opened(events)
  expect(statesOf(memory, 'a', 'b')).toEqual(['OPEN', 'OPEN'])
  memory.ended(events, 'COMMITTED')
  expect(statesOf(memory, 'a', 'b')).toEqual(['COMMITTED', 'COMMITTED'])
  memory.finished('a', 'DONE')
  expect(statesOf(memory, 'a', 'b')).toEqual(['DONE', 'COMMITTED'])
  memory.finished('b', 'DEAD')
  memory.finished('b', 'DONE')
  expect(statesOf(memory, 'a', 'b')).toEqual(['DONE', 'DONE'])
})

test('remembers the last ends, twice as many at most, and takes in no event it did not see written', () => {
  const memory = new EventMemory(2)
  for (const id of ['a', 'b', 'c', 'd', 'e']) commit(memory, id)
  memory.finished('stranger', 'DONE')
  expect(statesOf(memory, 'a', 'b', 'c', 'd', 'e', 'stranger')).toEqual([
    undefined,
    undefined,
    'COMMITTED',
    'COMMITTED',
    'COMMITTED',
    undefined,
  ])
})

test('never forgets an event of an open transaction, and remembers it as long as others once that has ended', () => {
  const memory = new EventMemory(2)
  const events = written('open', 'delivered')
  memory.opened(events)
  memory.finished('delivered', 'DONE')
  for (const id of ['a', 'b', 'c', 'd', 'e']) commit(memory, id)
  expect(statesOf(memory, 'open', 'delivered')).toEqual(['OPEN', 'DONE'])
  memory.ended(events, 'COMMITTED')
  commit(memory, 'f')
  expect(statesOf(memory, 'open', 'delivered', 'f')).toEqual(['COMMITTED', 'DONE', 'COMMITTED'])
})

test('remembers all events of the last call, also when they are more than it remembers otherwise', () => {
  const memory = new EventMemory(2)
  commit(memory, 'a')
  commit(memory, 'b', 'c', 'd')
  memory.finished('c', 'DONE')
  expect(statesOf(memory, 'b', 'c', 'd')).toEqual(['COMMITTED', 'DONE', 'COMMITTED'])
})

test('an event written once more after a rollback is known by the later call', () => {
  const memory = new EventMemory(2)
  const first = written('a')
  memory.opened(first)
  memory.ended(first, 'ROLLED_BACK')
  expect(memory.stateOf('a')).toBe('ROLLED_BACK')
  const again = written('a')
  memory.opened(again)
  expect(memory.stateOf('a')).toBe('OPEN')
  memory.ended(again, 'COMMITTED')
  commit(memory, 'b')
  expect(statesOf(memory, 'a', 'b')).toEqual(['COMMITTED', 'COMMITTED'])
})

test('remembers that a savepoint may have undone the events of a call, until one of them is finished', () => {
  const memory = new EventMemory(10)
  const events = written('a', 'b')
  memory.opened(events)
  memory.ended(events, 'UNSURE')
  memory.finished('a', 'DONE')
  expect(statesOf(memory, 'a', 'b')).toEqual(['DONE', 'UNSURE'])
})

test('knows nothing about events whose transaction ended unknown, not even an earlier rollback', () => {
  const memory = new EventMemory(1)
  const first = written('a')
  memory.opened(first)
  memory.ended(first, 'ROLLED_BACK')
  const again = written('a')
  memory.opened(again)
  memory.forget(again)
  expect(memory.stateOf('a')).toBe(undefined)
})
