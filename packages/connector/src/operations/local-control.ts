import { StateError } from '@waybill/core'
import type { Control, ControlledInstance, DesiredState, InstanceAnswer } from '../api/control.ts'
import { desiredBy, targetKey } from './desired-state.ts'

/** Commands for the own process. What is desired is gone with it. */
export function createLocalControl(): Control {
  const desired = new Map<string, DesiredState>()
  let joined: ControlledInstance | undefined

  return {
    scope: 'INSTANCE',

    join(instance) {
      if (joined !== undefined) throw new StateError(`Instance ${joined.name} has joined this control already.`)
      joined = instance
      return { [Symbol.dispose]: () => (joined = undefined) }
    },

    async submit(request) {
      if (joined === undefined) throw new StateError('No instance has joined this control.')
      const answer = await joined.apply(request)
      const wish = desiredBy(request.command)
      if (hasCome(wish, answer)) remember(desired, targetKey(request.target), wish)
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
 * A refused command is no wish: whoever starts later is not to be held to it. One that failed half way, with a handler that
 * does not end, has come about all the same.
 */
function hasCome(wish: DesiredState | 'FORGET' | undefined, { outcome, state }: InstanceAnswer): boolean {
  return outcome === 'APPLIED' || state === (wish === 'FORGET' ? undefined : wish)
}

function remember(desired: Map<string, DesiredState>, key: string, state: DesiredState | 'FORGET' | undefined): void {
  if (state === 'FORGET') desired.delete(key)
  else if (state !== undefined) desired.set(key, state)
}
