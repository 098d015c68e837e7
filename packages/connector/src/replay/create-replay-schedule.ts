import type { ResolvedBinding } from '../binding/resolved-binding.ts'
import { DeadLetterDesk, type DeskDeps } from './dead-letter-desk.ts'
import { ReplaySchedule } from './replay-schedule.ts'

/**
 * The schedule of a binding; undefined where nobody but operators looks at its dead letters.
 * @param parts - the same binding for each topic that it reads now
 */
export function createReplaySchedule(
  { binding, client, runtime }: DeskDeps,
  parts: () => readonly ResolvedBinding[],
): ReplaySchedule | undefined {
  const { strategy } = binding.deadLetter
  if (strategy !== 'SCHEDULED_REPLAY' && strategy !== 'CUSTOM') return undefined
  const deskOf = (part: ResolvedBinding): DeadLetterDesk => new DeadLetterDesk({ binding: part, client, runtime })
  return new ReplaySchedule({ binding, runtime, parts, deskOf })
}
