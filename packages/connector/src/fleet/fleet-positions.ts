/**
 * Moves the positions of a group whose members are in several processes: the broker refuses it while the group has any.
 *
 *     AWAY   every instance leaves the groups of the binding, and keeps its state
 *     MOVE   one of them moves the positions
 *     BACK   every instance returns
 *
 * | failure | consequence |
 * |---|---|
 * | an instance refuses AWAY, as when the binding runs there | BACK; the error of that instance |
 * | an instance does not answer AWAY in time | BACK; InstanceNotAwayError |
 * | an instance was not heard of lately | it is not waited for: if it is a member still, the broker refuses the move |
 * | MOVE fails | BACK; the error of the move |
 * | there is no answer to MOVE | BACK; CommandUnknownError |
 * | BACK cannot be written | CommandUnknownError; it is written as soon as the log accepts it |
 * | this process dies | the others return when they notice; without an instance of its own, when the time of all steps is over |
 */

import type { ControlAnswer, ControlRequest, InstanceAnswer } from '../api/control.ts'
import type { PositionCommand } from '../api/position-command.ts'
import { CommandUnknownError, InstanceNotAwayError } from './fleet-errors.ts'
import type { Asked, FleetSubmitter } from './fleet-submitter.ts'

/** A request to move positions. */
export interface PositionRequest extends ControlRequest {
  readonly command: PositionCommand
}

/** The longest time of a move. */
const moveMs = 60_000

/** The time beyond all steps after which an instance returns by itself. */
const spareMs = 15_000

/** @throws InstanceNotAwayError, CommandUnknownError, or the error of the instance that refused */
export async function movePositions(
  submitter: FleetSubmitter,
  request: PositionRequest,
  { awayMs, answerMs, own }: { readonly awayMs: number; readonly answerMs: number; readonly own: string | undefined },
): Promise<ControlAnswer> {
  const { target, command, operator } = request
  const forMs = awayMs + moveMs + spareMs
  const away = await submitter.ask({
    target,
    operator,
    command: { type: 'AWAY', forMs, ...(own === undefined ? {} : { by: own }) },
    waitMs: awayMs,
  })
  let moved: InstanceAnswer
  let back: Asked
  try {
    assertAllAway(target.binding, away)
    const by = own !== undefined && away.applied.includes(own) ? own : away.applied[0]
    if (by === undefined) throw new InstanceNotAwayError(target.binding, ['no instance'])
    const move = await submitter.ask({
      target,
      operator,
      command: { type: 'MOVE', by, command },
      waitMs: moveMs,
      only: by,
    })
    const [answer] = move.answers
    if (answer === undefined || answer.outcome === 'NO_ANSWER')
      throw new CommandUnknownError(command.type, target.binding)
    if (answer.outcome === 'FAILED') throw answer.error ?? new CommandUnknownError(command.type, target.binding)
    moved = answer
  } finally {
    back = await submitter.ask({
      target,
      operator,
      command: { type: 'BACK', away: away.id },
      waitMs: answerMs + spareMs,
      isKept: true,
    })
  }
  const others = back.answers.filter(({ instance }) => instance !== moved.instance)
  const state = back.answers.find(({ instance }) => instance === moved.instance)?.state ?? moved.state
  return { scope: 'FLEET', instances: [{ ...moved, state }, ...others, ...back.unheard] }
}

function assertAllAway(binding: string, { answers }: Asked): void {
  const failed = answers.find(({ outcome }) => outcome === 'FAILED')
  if (failed?.error !== undefined) throw failed.error
  const silent = answers.filter(({ outcome }) => outcome === 'NO_ANSWER').map(({ instance }) => instance)
  if (silent.length > 0) throw new InstanceNotAwayError(binding, silent)
}
