import { createUlidGenerator, type Runtime, StateError, systemRuntime } from '@waybill/core'
import type { Control, ControlledInstance, DesiredState } from '../api/control.ts'
import { desiredBy, isReached, targetKey } from './desired-state.ts'
import { statusesIn } from './statuses-in.ts'

/** Creates a control for this process alone. Desired states are kept in memory. */
export function createLocalControl(runtime: Pick<Runtime, 'clock' | 'random'> = systemRuntime): Control {
  let incarnation: string | undefined
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

    begin() {},

    async submit(request) {
      if (joined === undefined) throw new StateError('Cannot submit a command: no instance has joined this control.')
      const answer = await joined.apply(request)
      const state = desiredBy(request.command)
      if (isReached(request.command, answer)) remember(desired, targetKey(request.target), state)
      return { scope: 'INSTANCE', instances: [answer] }
    },

    async desired(target) {
      return desired.get(targetKey(target))
    },

    async statuses() {
      return (await this.instances()).flatMap(statusesIn)
    },

    async instances() {
      const instance = joined
      if (instance === undefined) return []
      incarnation ??= createUlidGenerator(runtime)()
      const seenAtMs = runtime.clock.now()
      const own = { instance: instance.name, incarnation, version: undefined, seenAtMs, isAlive: true }
      return [{ ...own, bindings: instance.statuses() }]
    },

    reach: () => ({ trouble: undefined, isKnown: true }),
  }
}

function remember(desired: Map<string, DesiredState>, key: string, state: DesiredState | 'FORGET' | undefined): void {
  if (state === 'FORGET') desired.delete(key)
  else if (state !== undefined) desired.set(key, state)
}
