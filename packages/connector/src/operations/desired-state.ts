import type { ControlCommand, ControlTarget, DesiredState } from '../api/control.ts'

/** Returns the desired state after a command: a state, 'FORGET' to remove it, or undefined to keep it. */
export function desiredBy({ type }: ControlCommand): DesiredState | 'FORGET' | undefined {
  switch (type) {
    case 'START':
    case 'RESUME':
      return 'RUNNING'
    case 'PAUSE':
      return 'PAUSED'
    case 'STOP':
      return 'STOPPED'
    case 'DESTROY':
    case 'UNREGISTER':
      return 'FORGET'
    case 'PAUSE_TIER':
    case 'RESUME_TIER':
    case 'SEND_TO_DLT':
    case 'SEEK':
    case 'SKIP':
    case 'RESET':
      return undefined
  }
}

/** Returns the key of a binding's desired state. It is JSON, because names may contain any character. */
export function targetKey({ cluster, groupId, binding }: ControlTarget): string {
  return JSON.stringify([cluster, groupId, binding])
}
