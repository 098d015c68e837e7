/**
 * The life of a binding. What moves it are the commands of {@link legalFrom}; the breaker and the partitions pause and
 * resume it besides, which shows as PAUSED and never as a command.
 *
 *               start                 pause, breaker open
 *     CREATED ─────────▶ RUNNING ───────────────────────────▶ PAUSED
 *                         ▲  │  ▲          resume, probing      │
 *                   start │  │  └───────────────────────────────┤
 *                         │  │ stop                        stop │
 *                         STOPPED ◀─────────────────────────────┘
 *
 *     destroy: from anywhere, to DESTROYED, which is final.
 *     seek, skip, reset: while nothing is delivered; the state stays as it was.
 *
 * PAUSED is no state of its own but RUNNING with a reason not to fetch (D8): a pause leaves no group, and two reasons end
 * one by one. So an operator's pause and an open breaker never undo each other.
 */

import { InvalidContainerStateError } from '../api/connector-errors.ts'
import type { BindingCommand, ContainerState } from '../api/container-state.ts'
import type { PauseReason } from '../api/pause-reason.ts'

/** What a binding was last told, without what pauses it. */
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

/** What `eventbus.container.state` shows. */
export const containerStateCode: Readonly<Record<ContainerState, number>> = {
  CREATED: 0,
  RUNNING: 1,
  PAUSED: 2,
  STOPPED: 3,
  DESTROYED: 4,
}

/** The state everybody sees. */
export function stateOf(commanded: Commanded, pausedBy: ReadonlySet<PauseReason>): ContainerState {
  return commanded === 'RUNNING' && pausedBy.size > 0 ? 'PAUSED' : commanded
}

/**
 * Whether a command may run.
 *
 * A binding that only its breaker pauses can be paused by an operator as well: otherwise nobody could keep it from
 * going on as soon as the breaker probes.
 *
 * @throws InvalidContainerStateError when it may not.
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
