import type { ControlAnswer } from '../api/control.ts'

/** Returns the error of a command that no instance has applied. */
export function failureOf({ instances }: ControlAnswer): Error | undefined {
  return instances.some(({ outcome }) => outcome === 'APPLIED') ? undefined : instances[0]?.error
}
