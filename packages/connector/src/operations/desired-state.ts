import type { ControlCommand, ControlTarget, DesiredState, InstanceAnswer } from '../api/control.ts'

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

/**
 * Returns whether an answer makes the desired state of a command count. A refused command must not affect later starts. A
 * command that failed after the state changed, because a handler does not end, counts. An instance that ignored a command for
 * all bindings does not make it count.
 */
export function isReached(
  command: ControlCommand,
  { outcome, state }: Pick<InstanceAnswer, 'outcome' | 'state'>,
): boolean {
  const wish = desiredBy(command)
  const isThere = state === (wish === 'FORGET' ? undefined : wish)
  const isIgnorable = 'isForAll' in command && command.isForAll
  return isThere || (outcome === 'APPLIED' && !isIgnorable)
}

/** Returns the key of a binding's desired state. It is JSON, because names may contain any character. */
export function targetKey({ cluster, groupId, binding }: ControlTarget): string {
  return JSON.stringify([cluster, groupId, binding])
}
