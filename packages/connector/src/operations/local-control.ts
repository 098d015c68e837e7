import { StateError } from '@waybill/core'
import type { Control, ControlledInstance, DesiredState, InstanceAnswer } from '../api/control.ts'
import { desiredBy, targetKey } from './desired-state.ts'

/** Creates a control for this process alone. Desired states are kept in memory. */
export function createLocalControl(): Control {
  const desired = new Map<string, DesiredState>()
  let joined: ControlledInstance | undefined

  return {
    scope: 'INSTANCE',

    join(instance) {
      if (joined !== undefined)
        throw new StateError(`Cannot join: instance ${joined.name} has already joined this control.`)
      joined = instance
      return { [Symbol.dispose]: () => (joined = undefined) }
    },

    async submit(request) {
      if (joined === undefined) throw new StateError('Cannot submit a command: no instance has joined this control.')
      const answer = await joined.apply(request)
      const state = desiredBy(request.command)
      if (isReached(state, answer)) remember(desired, targetKey(request.target), state)
      return { scope: 'INSTANCE', instances: [answer] }
    },

    async desired(target) {
      return desired.get(targetKey(target))
    },

    async statuses() {
      return joined?.statuses() ?? []
    },
  }
}

/**
 * Returns whether to remember the desired state. A refused command must not affect later starts. A command that failed
 * after the state changed, because a handler does not end, counts.
 */
function isReached(target: DesiredState | 'FORGET' | undefined, { outcome, state }: InstanceAnswer): boolean {
  return outcome === 'APPLIED' || state === (target === 'FORGET' ? undefined : target)
}

function remember(desired: Map<string, DesiredState>, key: string, state: DesiredState | 'FORGET' | undefined): void {
  if (state === 'FORGET') desired.delete(key)
  else if (state !== undefined) desired.set(key, state)
}
