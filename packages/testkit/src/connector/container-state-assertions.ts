import assert from 'node:assert/strict'
import type { Connector, ContainerState } from '@waybill/kafka'
import { type EventuallyOptions, eventually } from '../eventually.ts'

/** Looks at the states of a connector's bindings. */
export interface ContainerStateAssertions {
  /** Fails unless the binding is in that state now. */
  is(binding: string, state: ContainerState): void
  /** Waits until it is. */
  reaches(binding: string, state: ContainerState): Promise<void>
}

/** Makes {@link ContainerStateAssertions} of a connector. */
export function containerStateAssertions(
  connector: Pick<Connector, 'getState'>,
  options: EventuallyOptions = {},
): ContainerStateAssertions {
  const is = (binding: string, state: ContainerState): void => {
    const actual = connector.getState(binding)
    assert.equal(actual, state, `Binding '${binding}' is ${actual}, not ${state}.`)
  }
  return { is, reaches: (binding, state) => eventually(() => is(binding, state), options) }
}
