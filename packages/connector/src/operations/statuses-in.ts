import type { FleetInstance, InstanceStatus } from '../api/control.ts'

/** Returns the states of all bindings of an instance. */
export function statusesIn({ bindings, ...instance }: FleetInstance): readonly InstanceStatus[] {
  return bindings.map((status) => ({ ...status, ...instance }))
}
