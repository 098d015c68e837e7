import type { ResolvedBinding } from '../binding/resolved-binding.ts'
import { DeadLetterDesk, type DeskDeps } from './dead-letter-desk.ts'
import { ReplaySchedule } from './replay-schedule.ts'

/**
 * Creates the replay schedule of a binding; undefined when only operators process its dead letters.
 * @param parts - returns the binding once for each topic it currently reads
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
