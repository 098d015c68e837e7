/**
 * The lifecycle of a binding. The commands of {@link legalFrom} change its state. The breaker and the partitions also
 * pause and resume it, which shows as PAUSED and is not a command.
 *
 *               start                 pause, breaker open
 *     CREATED ─────────▶ RUNNING ───────────────────────────▶ PAUSED
 *                         ▲  │  ▲          resume, probing      │
 *                   start │  │  └───────────────────────────────┤
 *                         │  │ stop                        stop │
 *                         STOPPED ◀─────────────────────────────┘
 *
 *     destroy: from any state to DESTROYED, which is final.
 *     seek, skip, reset: only while nothing is delivered; they do not change the state.
 *
 * PAUSED is RUNNING with at least one reason not to fetch: a paused binding stays in its groups, and each reason ends
 * separately. Therefore an operator's pause and an open breaker never undo each other.
 */

import { InvalidContainerStateError } from '../api/connector-errors.ts'
import type { BindingCommand, ContainerState } from '../api/container-state.ts'
import type { PauseReason } from '../api/pause-reason.ts'

/** The state set by the last command, regardless of pauses. */
export type Commanded = Exclude<ContainerState, 'PAUSED'>

const legalFrom: Readonly<Record<BindingCommand, readonly ContainerState[]>> = {
  start: ['CREATED', 'STOPPED'],
  stop: ['RUNNING', 'PAUSED'],
  pause: ['RUNNING'],
  resume: ['PAUSED'],
  destroy: ['CREATED', 'RUNNING', 'PAUSED', 'STOPPED'],
  unregister: ['CREATED', 'STOPPED'],
  seek: ['CREATED', 'PAUSED', 'STOPPED'],
  skip: ['CREATED', 'PAUSED', 'STOPPED'],
  reset: ['CREATED', 'PAUSED', 'STOPPED'],
}

/** Values of `eventbus.container.state`. */
export const containerStateCode: Readonly<Record<ContainerState, number>> = {
  CREATED: 0,
  RUNNING: 1,
  PAUSED: 2,
  STOPPED: 3,
  DESTROYED: 4,
}

/** Returns the visible state. */
export function stateOf(commanded: Commanded, pausedBy: ReadonlySet<PauseReason>): ContainerState {
  return commanded === 'RUNNING' && pausedBy.size > 0 ? 'PAUSED' : commanded
}

/**
 * Checks that the state allows a command.
 *
 * An operator can pause a binding that only its breaker has paused: otherwise it would resume as soon as the breaker
 * probes.
 *
 * @throws InvalidContainerStateError if the state does not allow it
 */
export function checkCommand(
  command: BindingCommand,
  binding: string,
  commanded: Commanded,
  pausedBy: ReadonlySet<PauseReason>,
): void {
  const state = stateOf(commanded, pausedBy)
  if (legalFrom[command].includes(state)) return
  if (command === 'pause' && state === 'PAUSED' && !pausedBy.has('OPERATOR')) return
  throw new InvalidContainerStateError(command, binding, state, legalFrom[command])
}
