import type { SharedLogWrite } from '@waybill/core/internal'
import { desiredKey, valueOf } from './fleet-entry.ts'
import { type FleetCommand, type FleetState, type IsOver, isStateCommand } from './fleet-state.ts'

/** Times of the caretaker, monotonic. */
export interface CareTimes {
  readonly now: number
  readonly by: string
  readonly keepMs: number
  readonly isOver: IsOver
}

/** The time after the last answer to a command at which its submitter must have written the state. */
const graceMs = 2_000

/**
 * Returns the entries that keep the log short: desired states that their submitter did not write, and deletions of old
 * commands, of their answers, and of instances that died. A command is deleted only when a desired state that includes it
 * is in the log. Repeating it changes nothing.
 */
export function takeCare(state: FleetState, { now, by, keepMs, isOver }: CareTimes): readonly SharedLogWrite[] {
  const commands = [...state.commands.values()]
  return [
    ...state.replacedSnapshots().map((entry) => ({ key: desiredKey(entry.target), value: valueOf(entry) })),
    ...commands.flatMap((command) => stateWrites(state, command, { now, by, isOver })),
    ...commands.flatMap((command) => deletions(state, command, { now, by, keepMs })),
    ...[...state.members].flatMap(([key, { seenAt }]) => (now - seenAt >= keepMs ? [{ key, value: null }] : [])),
  ]
}

function stateWrites(
  state: FleetState,
  command: FleetCommand,
  { now, by, isOver }: Omit<CareTimes, 'keepMs'>,
): readonly SharedLogWrite[] {
  const { entry, position, seenAt } = command
  if (!isStateCommand(entry) || now - seenAt < graceMs) return []
  // An earlier command may be open, too, and a state that is written decides about all before it.
  if (state.desired(entry.target, isOver, position).open !== undefined) return []
  const snapshot = state.snapshotFor(entry.target, position, by)
  return snapshot === undefined ? [] : [{ key: desiredKey(entry.target), value: valueOf(snapshot) }]
}

function deletions(
  state: FleetState,
  command: FleetCommand,
  { now, by, keepMs }: Omit<CareTimes, 'isOver'>,
): readonly SharedLogWrite[] {
  const { entry, position, seenAt } = command
  if (now - seenAt < keepMs + entry.waitMs) return []
  if (isStateCommand(entry) && state.snapshotFor(entry.target, position, by) !== undefined) return []
  return state.keysOf(command).map((key) => ({ key, value: null }))
}
