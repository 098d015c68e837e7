import type { ControlTarget, FleetInstance, InstanceAnswer } from '../api/control.ts'
import { targetKey } from '../operations/desired-state.ts'
import type { FleetCommand, FleetMember, FleetState } from './fleet-state.ts'

/** Returns the members that have a binding. */
export function membersWith(state: FleetState, target: ControlTarget): readonly FleetMember[] {
  const key = targetKey(target)
  return currentMembers(state).filter(({ status }) => status.bindings.some((one) => targetKey(one.target) === key))
}

/**
 * Returns the members without those that a process of the same name has replaced: its first status is behind their last.
 * Two processes of one name that both run are both there.
 */
export function currentMembers(state: FleetState): readonly FleetMember[] {
  const all = [...state.members.values()]
  return all.filter(
    (one) => !all.some((other) => other.status.instance === one.status.instance && other.joinedAt > one.position),
  )
}

/** Returns whether a member was heard of lately. */
export function isAlive({ seenAt }: FleetMember, readAt: number, aliveMs: number): boolean {
  return readAt - seenAt < aliveMs
}

/**
 * Returns whether the time of a command's answers is over: the time it was given, or every instance that was asked has answered,
 * left, died, or was replaced.
 */
export function isOver(
  state: FleetState,
  { entry, answers, seenAt }: FleetCommand,
  { now, readAt, aliveMs }: { readonly now: number; readonly readAt: number; readonly aliveMs: number },
): boolean {
  if (now >= seenAt + entry.waitMs) return true
  const open = entry.awaited.filter((one) => !answers.has(one))
  if (open.length === 0) return true
  const present = presentIn(state, readAt, aliveMs)
  return !open.some((one) => present.has(one))
}

/** Returns the incarnations that were heard of lately, and that no process of the same name has replaced. */
export function presentIn(state: FleetState, readAt: number, aliveMs: number): ReadonlySet<string> {
  const alive = currentMembers(state).filter((one) => isAlive(one, readAt, aliveMs))
  return new Set(alive.map(({ status }) => status.incarnation))
}

/** Returns what is known of a member that did not answer. */
export function noAnswer(
  { status, seenAt }: FleetMember,
  target: ControlTarget,
  nowMs: number,
  now: number,
): InstanceAnswer {
  const key = targetKey(target)
  const known = status.bindings.find((one) => targetKey(one.target) === key)
  return {
    instance: status.instance,
    outcome: 'NO_ANSWER',
    state: known?.state,
    lastSeenAtMs: nowMs - Math.max(0, now - seenAt),
  }
}

/** Returns a member as operators see it. */
export function instanceOf(
  { status, seenAt }: FleetMember,
  at: { readonly nowMs: number; readonly now: number; readonly isAlive: boolean },
): FleetInstance {
  const { instance, incarnation, version, bindings, health } = status
  return {
    instance,
    incarnation,
    version,
    seenAtMs: at.nowMs - Math.max(0, at.now - seenAt),
    isAlive: at.isAlive,
    bindings,
    health,
  }
}
