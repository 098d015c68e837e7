import type { ControlAnswer } from '../api/control.ts'

/** Returns the error of a command that no instance has applied. Without any answer it is unknown, and no failure. */
export function failureOf({ instances }: ControlAnswer): Error | undefined {
  return instances.some(({ outcome }) => outcome === 'APPLIED')
    ? undefined
    : instances.find(({ error }) => error !== undefined)?.error
}
