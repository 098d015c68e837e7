import assert from 'node:assert/strict'
import type { Connector, ContainerState } from '@waybill/connector'
import { ArgumentError } from '@waybill/core'
import { nearest } from '@waybill/core/option'
import { requireMethods } from '../require-argument.ts'
import { type EventuallyOptions, eventually } from '../wait/eventually.ts'

/** Looks at the states of a connector's bindings. */
export interface ContainerStateAssertions {
  /** Fails unless the binding is in that state now. */
  is(binding: string, state: ContainerState): void
  /** Waits until it is. Rejects at once when there is no such binding. */
  reaches(binding: string, state: ContainerState): Promise<void>
}

/** Makes {@link ContainerStateAssertions} of a connector. */
export function containerStateAssertions(
  connector: Pick<Connector, 'getState'>,
  options: EventuallyOptions = {},
): ContainerStateAssertions {
  requireMethods(
    'containerStateAssertions()',
    'a connector',
    connector,
    ['getState'],
    'Give it what createConnector made.',
  )
  const look = (binding: string, state: ContainerState): void => {
    const actual = connector.getState(binding)
    assert.ok(actual === state, `Binding '${binding}' is ${actual}, not ${state}.`)
  }
  return {
    is(binding, state) {
      requireState(state)
      look(binding, state)
    },
    async reaches(binding, state) {
      requireState(state)
      connector.getState(binding) // Throws, and names those that there are: a wait would not bring another one.
      await eventually(() => look(binding, state), options)
    },
  }
}

/** Every state, or the compiler says which one is missing. */
const states: readonly string[] = Object.keys({
  CREATED: 0,
  RUNNING: 0,
  PAUSED: 0,
  STOPPED: 0,
  DESTROYED: 0,
} satisfies Record<ContainerState, 0>)

/** No binding would ever be in another one. */
function requireState(state: string): void {
  if (states.includes(state)) return
  const meant = nearest(state, states)
  throw new ArgumentError(`There is no state ${state}.`, {
    hint: meant === undefined ? `They are ${states.join(', ')}.` : `Did you mean ${meant}?`,
  })
}
