import type { ControlCommand, ControlTarget, DesiredState } from '../api/control.ts'

/** What a command leaves desired: a state, 'FORGET' when nothing is any more, undefined when it changes nothing. */
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
    case 'SEEK':
    case 'SKIP':
    case 'RESET':
      return undefined
  }
}

/** Under which name the desired state of a binding is kept. Names hold any characters. */
export function targetKey({ cluster, groupId, binding }: ControlTarget): string {
  return JSON.stringify([cluster, groupId, binding])
}
