import { createUlidGenerator, type Runtime, StateError, systemRuntime } from '@waybill/core'
import type { Control, ControlledInstance } from '../api/control.ts'
import { type DesiredBinding, desiredAfter, isReached, nothingDesired, targetKey } from './desired-state.ts'
import { statusesIn } from './statuses-in.ts'

/** Creates a control for this process alone. Desired states are kept in memory. */
export function createLocalControl(runtime: Pick<Runtime, 'clock' | 'random'> = systemRuntime): Control {
  let incarnation: string | undefined
  const desired = new Map<string, DesiredBinding>()
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
      if (isReached(request.command, answer)) {
        const key = targetKey(request.target)
        const after = desiredAfter(desired.get(key) ?? nothingDesired, request.command)
        if (after.state === null) desired.delete(key)
        else desired.set(key, after)
      }
      return { scope: 'INSTANCE', instances: [answer] }
    },

    async desired(target) {
      return desired.get(targetKey(target))?.state ?? undefined
    },

    pausedTiers: (target) => desired.get(targetKey(target))?.tiers ?? [],

    async statuses() {
      return (await this.instances()).flatMap(statusesIn)
    },

    async instances() {
      const instance = joined
      if (instance === undefined) return []
      incarnation ??= createUlidGenerator(runtime)()
      const seenAtMs = runtime.clock.now()
      const own = { instance: instance.name, incarnation, version: undefined, seenAtMs, isAlive: true }
      return [{ ...own, bindings: instance.statuses(), health: instance.health?.() }]
    },

    reach: () => ({ trouble: undefined, isKnown: true }),
  }
}
