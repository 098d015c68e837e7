import type { ControlAnswer } from '../api/control.ts'

/** Why a command came to nothing: undefined once one instance has followed it. */
export function failureOf({ instances }: ControlAnswer): Error | undefined {
  return instances.some(({ outcome }) => outcome === 'APPLIED') ? undefined : instances[0]?.error
}
