import type { Control } from '@waybill/connector'
import type { ControlledInstance, ControlTarget, DesiredState, InstanceAnswer } from '@waybill/connector/internal'
import { StateError } from '@waybill/core'

/** Returns the controls of several processes that share memory: the smallest fleet that runs the whole suite. */
export function memoryFleet(size: number): readonly Control[] {
  const joined: (ControlledInstance | undefined)[] = Array.from({ length: size }, () => undefined)
  const desired = new Map<string, DesiredState>()
  const members = (): ControlledInstance[] => joined.filter((one) => one !== undefined)

  const controlOf = (place: number): Control => ({
    scope: 'FLEET',
    join(instance) {
      if (joined[place] !== undefined) throw new StateError(`${instance.name} has joined already.`)
      joined[place] = instance
      return { [Symbol.dispose]: () => (joined[place] = undefined) }
    },
    async submit(request) {
      const wish = wishes[request.command.type]
      const told = wish === undefined ? members().slice(0, 1) : members()
      const instances = await Promise.all(told.map((instance) => instance.apply(request)))
      if (wish !== undefined && instances.some((answer) => hasCome(wish, answer))) {
        if (wish === 'FORGET') desired.delete(keyOf(request.target))
        else desired.set(keyOf(request.target), wish)
      }
      return { scope: 'FLEET', instances }
    },
    desired: async (target) => desired.get(keyOf(target)),
    statuses: async () => members().flatMap((instance) => instance.statuses()),
  })
  return joined.map((_, place) => controlOf(place))
}

/** The desired state that each command stores. Commands that move positions store none. */
const wishes: Readonly<Record<string, DesiredState | 'FORGET' | undefined>> = {
  START: 'RUNNING',
  RESUME: 'RUNNING',
  PAUSE: 'PAUSED',
  STOP: 'STOPPED',
  DESTROY: 'FORGET',
  UNREGISTER: 'FORGET',
}

function hasCome(wish: DesiredState | 'FORGET', { outcome, state }: InstanceAnswer): boolean {
  return outcome === 'APPLIED' || state === (wish === 'FORGET' ? undefined : wish)
}

function keyOf({ cluster, groupId, binding }: ControlTarget): string {
  return JSON.stringify([cluster, groupId, binding])
}
