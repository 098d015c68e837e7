import { describe, expect, test } from 'vitest'
import { InvalidContainerStateError } from '../../src/api/connector-errors.ts'
import type { BindingCommand, ContainerState } from '../../src/api/container-state.ts'
import type { PauseReason } from '../../src/api/pause-reason.ts'
import { type Commanded, checkCommand, containerStateCode, stateOf } from '../../src/binding/state-machine.ts'

const commands: readonly BindingCommand[] = [
  'start',
  'stop',
  'pause',
  'resume',
  'destroy',
  'unregister',
  'seek',
  'skip',
  'reset',
]
const moves: readonly BindingCommand[] = ['seek', 'skip', 'reset']

function allowed(commanded: Commanded, pausedBy: readonly PauseReason[] = []): readonly BindingCommand[] {
  return commands.filter((command) => {
    try {
      checkCommand(command, 'orders', commanded, new Set(pausedBy))
      return true
    } catch (error) {
      expect(error).toBeInstanceOf(InvalidContainerStateError)
      return false
    }
  })
}

describe('commands are legal in these states and no others', () => {
  test.each<[ContainerState, readonly BindingCommand[]]>([
    ['CREATED', ['start', 'destroy', 'unregister', ...moves]],
    ['RUNNING', ['stop', 'pause', 'destroy']],
    ['STOPPED', ['start', 'destroy', 'unregister', ...moves]],
    ['DESTROYED', []],
  ])('%s: %j', (state, legal) => {
    expect(allowed(state as Commanded)).toEqual(legal)
  })

  test('PAUSED by an operator: stop, resume, destroy, and moves of its positions', () => {
    expect(allowed('RUNNING', ['OPERATOR'])).toEqual(['stop', 'resume', 'destroy', ...moves])
    expect(allowed('RUNNING', ['OPERATOR', 'BREAKER'])).toEqual(['stop', 'resume', 'destroy', ...moves])
  })

  test('PAUSED by its breaker alone: an operator may pause as well', () => {
    expect(allowed('RUNNING', ['BREAKER'])).toEqual(['stop', 'pause', 'resume', 'destroy', ...moves])
  })
})

test('a binding that runs is PAUSED as long as one reason holds', () => {
  expect(stateOf('RUNNING', new Set())).toBe('RUNNING')
  expect(stateOf('RUNNING', new Set<PauseReason>(['BREAKER']))).toBe('PAUSED')
  expect(stateOf('STOPPED', new Set<PauseReason>(['BREAKER']))).toBe('STOPPED')
})

test('an illegal command names the command, the binding, its state and what would be legal', () => {
  expect(() => checkCommand('resume', 'orders', 'STOPPED', new Set())).toThrow(
    "Cannot resume binding 'orders': current state is STOPPED, resume requires PAUSED",
  )
  expect(() => checkCommand('start', 'orders', 'RUNNING', new Set())).toThrow(
    "Cannot start binding 'orders': current state is RUNNING, start requires CREATED or STOPPED",
  )
})

test('states have the specified codes', () => {
  expect(containerStateCode).toEqual({ CREATED: 0, RUNNING: 1, PAUSED: 2, STOPPED: 3, DESTROYED: 4 })
})

test.each([
  ['seek', 'RUNNING', "Pause it first: connector.pause('orders')"],
  ['skip', 'RUNNING', "Pause it first: connector.pause('orders')"],
  ['reset', 'RUNNING', "Pause it first: connector.pause('orders')"],
  ['unregister', 'RUNNING', "Stop it first: connector.stop('orders')."],
  ['pause', 'STOPPED', "Start it first: connector.start('orders')."],
  ['start', 'DESTROYED', "Register it again: connector.register('orders', …)."],
] as const)('a refused %s of a binding that is %s says what to do first', (command, state, next) => {
  expect(() => checkCommand(command, 'orders', state, new Set())).toThrow(next)
})
