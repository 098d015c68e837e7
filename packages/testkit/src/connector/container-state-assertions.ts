import assert from 'node:assert/strict'
import type { Connector, ContainerState } from '@waybill/connector'
import { ArgumentError } from '@waybill/core'
import { nearest } from '@waybill/core/option'
import { requireMethods } from '../require-argument.ts'
import { type EventuallyOptions, eventually } from '../wait/eventually.ts'

/** Asserts the states of a connector's bindings. */
export interface ContainerStateAssertions {
  /** Throws unless the binding is in that state now. */
  is(binding: string, state: ContainerState): void
  /** Waits until the binding is in that state. Rejects at once when it does not exist. */
  reaches(binding: string, state: ContainerState): Promise<void>
}

/** Creates {@link ContainerStateAssertions} for a connector. */
export function containerStateAssertions(
  connector: Pick<Connector, 'getState'>,
  options: EventuallyOptions = {},
): ContainerStateAssertions {
  requireMethods(
    'containerStateAssertions()',
    'a connector',
    connector,
    ['getState'],
    'Pass the result of createConnector().',
  )
  const check = (binding: string, state: ContainerState): void => {
    const actual = connector.getState(binding)
    assert.ok(actual === state, `Binding '${binding}' is ${actual}, not ${state}.`)
  }
  return {
    is(binding, state) {
      requireState(state)
      check(binding, state)
    },
    async reaches(binding, state) {
      requireState(state)
      connector.getState(binding) // Throws for an unknown binding, which a wait would not create.
      await eventually(() => check(binding, state), options)
    },
  }
}

/** All states; the compiler reports a missing one. */
const states: readonly string[] = Object.keys({
  CREATED: 0,
  RUNNING: 0,
  PAUSED: 0,
  STOPPED: 0,
  DESTROYED: 0,
} satisfies Record<ContainerState, 0>)

/** Refuses an unknown state, which no binding ever reaches. */
function requireState(state: string): void {
  if (states.includes(state)) return
  const meant = nearest(state, states)
  throw new ArgumentError(`Unknown container state ${state}.`, {
    hint: meant === undefined ? `Use one of ${states.join(', ')}.` : `Did you mean ${meant}?`,
  })
}
