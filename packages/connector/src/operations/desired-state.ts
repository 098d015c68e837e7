import type { ControlCommand, ControlTarget, DesiredState, InstanceAnswer } from '../api/control.ts'
import { mostTiers } from '../options/binding-rules.ts'

/** The result of all commands for a binding. */
export interface DesiredBinding {
  /** Null: forgotten. Undefined: never set. */
  readonly state: DesiredState | null | undefined
  /** The tiers that are paused on their own, in ascending order. */
  readonly tiers: readonly number[]
}

/** The desired state of a binding without commands. */
export const nothingDesired: DesiredBinding = Object.freeze({ state: undefined, tiers: Object.freeze([]) })

/** Returns the desired state after a command that counts. A stop ends the pauses of tiers. */
export function desiredAfter(before: DesiredBinding, command: ControlCommand): DesiredBinding {
  const { state, tiers } = before
  if (command.type === 'PAUSE_TIER') return { state, tiers: tiersOf([...tiers, command.tier]) }
  if (command.type === 'RESUME_TIER') return { state, tiers: tiers.filter((tier) => tier !== command.tier) }
  const wish = desiredBy(command)
  if (wish === undefined) return before
  return { state: wish === 'FORGET' ? null : wish, tiers: wish === 'RUNNING' || wish === 'PAUSED' ? tiers : [] }
}

/** Reads a list of tiers. Everything else in it is dropped: other programs may write to the log of a fleet. */
export function tiersOf(given: unknown): readonly number[] {
  if (!Array.isArray(given)) return []
  const tiers = given.filter((tier) => Number.isInteger(tier) && tier >= 1 && tier <= mostTiers) as number[]
  return [...new Set(tiers)].toSorted((one, other) => one - other)
}

/** Returns whether a command sets the desired state. */
export function isDesire(command: ControlCommand): boolean {
  return command.type === 'PAUSE_TIER' || command.type === 'RESUME_TIER' || desiredBy(command) !== undefined
}

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
  if (wish === undefined) return outcome === 'APPLIED'
  const isThere = state === (wish === 'FORGET' ? undefined : wish)
  const isIgnorable = 'isForAll' in command && command.isForAll
  return isThere || (outcome === 'APPLIED' && !isIgnorable)
}

/** Returns the key of a binding's desired state. It is JSON, because names may contain any character. */
export function targetKey({ cluster, groupId, binding }: ControlTarget): string {
  return JSON.stringify([cluster, groupId, binding])
}
