import { describe, expect, test } from 'vitest'
import { type CareTimes, takeCare } from '../../src/fleet/caretaker.ts'
import { answerKey, type CommandEntry, commandKey, desiredKey, valueOf } from '../../src/fleet/fleet-entry.ts'
import { type FleetCommand, FleetState } from '../../src/fleet/fleet-state.ts'

const target = { cluster: 'default', groupId: 'shipping', binding: 'orders' }
const times = { now: 60_000, by: 'a', keepMs: 600_000 } satisfies Omit<CareTimes, 'isOver'>

/** A log with a STOP that waits for `b`, and a PAUSE behind it that all refused. */
function scene(): FleetState {
  const state = new FleetState()
  const add = (key: string, value: unknown, position: number): void => {
    state.take({ key, value, position: `${position}`, atMs: position }, position)
  }
  const command = (id: string, type: 'STOP' | 'PAUSE', position: number): void => {
    const entry: CommandEntry = {
      id,
      target,
      command: { type },
      operator: { by: 'ana' },
      awaited: ['a', 'b'],
      waitMs: 40_000,
    }
    add(commandKey(id), valueOf(entry), position)
  }
  const refuse = (id: string, incarnation: string, position: number): void =>
    add(
      answerKey(id, incarnation),
      valueOf({ command: id, incarnation, instance: incarnation, outcome: 'FAILED', state: 'RUNNING' }),
      position,
    )
  command('1', 'STOP', 1)
  command('2', 'PAUSE', 2)
  refuse('1', 'a', 3)
  refuse('2', 'a', 4)
  refuse('2', 'b', 5)
  return state
}

function isSecond({ entry }: FleetCommand): boolean {
  return entry.id === '2'
}

describe('the caretaker', () => {
  test('writes no desired state while the answer to an earlier command may come', () => {
    expect(takeCare(scene(), { ...times, isOver: isSecond })).toEqual([])
  })

  test('writes the desired state when the time of all answers is over', () => {
    const writes = takeCare(scene(), { ...times, isOver: () => true })
    expect(writes.map(({ key }) => key)).toEqual([desiredKey(target), desiredKey(target)])
    expect(writes.at(-1)?.value).toMatchObject({ state: null, upTo: '2' })
  })

  test('keeps a command whose time is not over by the time of its last read', () => {
    expect(takeCare(scene(), { ...times, now: 1_000, isOver: () => true })).toEqual([])
  })
})
