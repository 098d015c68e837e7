/**
 * Checks what can only be decided at the end: every written record is handled, dead or skipped by rule, and in a calm
 * run exactly once.
 */

import { type Behaviour, type BindingPlan, isFiltered } from './binding-plan.ts'
import { type Fate, maySkip, type Original } from './evidence.ts'
import { isKeyed } from './places.ts'
import { isForgedReplay } from './record-plan.ts'
import type { World } from './world.ts'

/** Judges a seed that has drained and stopped. */
export function judgeEnd(world: World): void {
  world.evidence.update()
  for (const binding of world.program.bindings) {
    let lost = 0
    for (const original of world.evidence.everything()) if (judgeOriginal(world, original, binding)) lost++
    judgeLosses(world, binding, lost)
  }
}

/** Checks that every loss is counted, and that only deleted records are. */
function judgeLosses({ losses, court, program }: World, { name, groupId }: BindingPlan, lost: number): void {
  const counted = losses.counted(name)
  if (counted > 0) court.reach('loss: records that were deleted before they were read are reported')
  // Records of a deleted topic cannot be counted, and a member that released the partition before the topic was
  // recreated is not notified.
  const isRecreated = program.logCuts.length > 0 || program.chaos.some(({ kind }) => kind === 'RECREATE_SOURCE')
  if (isRecreated && lost > 0 && counted > 0) court.reach('loss: a source that was created again is reported')
  if (counted < lost && !isRecreated)
    court.violate('C-72', `${groupId} has lost ${lost} records, and ${counted} are reported`)
  if (counted > 0 && !isRecreated && !program.chaos.some(({ kind }) => kind === 'DELETE_RECORDS'))
    court.violate('C-72', `${groupId} reports ${counted} lost records, and nothing was deleted`)
}

/** Returns true when the record is lost legitimately. */
function judgeOriginal(world: World, original: Original, binding: BindingPlan): boolean {
  const { court } = world
  const { plan, record } = original
  const fate = original.fates.get(binding.groupId) as Fate
  const who = `${plan.id} at ${record.partition}@${record.offset} in ${binding.groupId}`
  const hasOutcome = fate.successes.size > 0 || fate.deadLetters.length > 0
  if (original.isGone) return !hasOutcome
  if (isFiltered(binding, plan)) {
    judgeFiltered(world, binding, fate, who)
    return false
  }
  // An operator has decided to skip it, or a copy of it.
  if (!hasOutcome && fate.isPassedOver) return false
  if (!hasOutcome && world.commits.isExcused(binding.groupId, record))
    return world.losses.isReported(binding.groupId, record.topic, record.partition, record.offset)
  if (plan.content !== 'GOOD' && fate.calls > 0)
    court.violate('S2-041', `${who} is ${plan.content}, and its handler was called`)
  if (plan.content === 'POISON' && fate.deadLetters.length === 0) court.violate('S2-041', `${who} is no dead letter`)
  const isSkipped = maySkip(binding, original, fate)
  if (isSkipped) court.reach('skip: best effort')
  const isRepeat = world.marks.mayPassOver(binding, original)
  if (isRepeat && !hasOutcome) court.reach('deduplicate: another record with its key was handled')
  if (hasOutcome && isForgedReplay(plan)) court.reach('delivery: a forged replay for another group')
  if (!hasOutcome && !isSkipped && !isRepeat)
    court.violate('LOST', `${who} is neither handled, nor dead, nor skipped by rule`)
  if (fate.hops.length > 0 && fate.successes.has(record.place) && isKeyed(binding))
    court.reach('waiting: a copy of a record that the source still has is passed over')
  if (fate.replays.length > 0 && fate.deadLetters.length === 0)
    court.reach('waiting: a replay of what was handled well is passed over')
  if (world.program.isCalm) judgeCalm(world, binding, plan.id, fate, who)
  return false
}

/** Checks that no handler saw a record that the filter rejects, and that it is no dead letter. */
function judgeFiltered({ court }: World, { options }: BindingPlan, fate: Fate, who: string): void {
  court.reach('skip: a filter rejects it')
  if (fate.hops.length > 0) court.reach('skip: a filter rejects a record that waits for its key')
  if (fate.calls > 0) court.violate('FILTER', `${who} is filtered, and its handler was called`)
  const { enabled, automaticPauseOnOpen } = options.circuitBreaker ?? {}
  // An open circuit without a pause may forward it before the filter runs.
  if (fate.deadLetters.length > 0 && !(enabled === true && automaticPauseOnOpen === false))
    court.violate('FILTER', `${who} is filtered, and a dead letter`)
}

/** Checks a seed in which only handlers failed: nothing may have happened twice (L5). */
function judgeCalm(
  { court, program, obstruction }: World,
  binding: BindingPlan,
  id: string,
  fate: Fate,
  who: string,
): void {
  const behaviour = binding.behaviours[Number(id.slice(1))] as Behaviour
  const hasReplays = fate.replays.length > 0 || fate.isRepeated
  const outcomes = fate.successes.size + fate.deadLetters.length
  if (program.chaos.some(({ kind }) => kind === 'RECREATE_SOURCE')) return
  // A process that dies, or cannot write a dead letter before the partition is reassigned, may leave a copy behind.
  if (obstruction.plan?.kind === 'DEAD_PROCESS' || obstruction.plan?.kind === 'NO_DEAD_LETTER_TOPIC') return
  // A mark or commit that comes after a timeout belongs to a failed call.
  const mayBeLate = binding.deduplicate !== undefined && binding.options.handlerTimeoutMs !== false
  // A handler that was stuck until its partition had another owner may succeed where the repeated call fails.
  const wasStuck = obstruction.plan?.kind === 'STUCK_HANDLER' && fate.isRedelivered
  if (outcomes > 1 && !hasReplays && !mayBeLate && !wasStuck)
    court.violate(
      'L5',
      `${who} has ${fate.successes.size} successes and ${fate.deadLetters.length} dead letters, and nothing failed`,
    )
  if (hasTwins(fate) && !hasReplays && !mayBeLate)
    court.violate('L5', `${who} has the same retry record twice, and nothing failed`)
  if (
    (behaviour.kind === 'OK' || isHopelessAtOnce(binding, behaviour)) &&
    binding.down === undefined &&
    obstruction.plan === undefined &&
    fate.calls > 1 &&
    !hasReplays
  )
    court.violate('L5', `${who} was handled ${fate.calls} times, and nothing failed`)
  const isStill =
    !fate.isRedelivered && program.chaos.every(({ kind }) => kind === 'WALL_JUMP' || kind === 'MOVE_LEADER')
  const [letter] = fate.deadLetters
  if (isStill && letter !== undefined && letter.totalAttempts !== fate.calls)
    court.violate('C-03', `${who} was handled ${fate.calls} times, and its dead letter reports ${letter.totalAttempts}`)
}

/**
 * Returns true when a record was forwarded twice from the same place: after a clean stop the next owner repeats
 * nothing.
 */
function hasTwins({ hops }: Fate): boolean {
  const names = hops.filter(({ place }) => place.kind === 'TIER').map(({ tier, attempt }) => `${tier} ${attempt}`)
  return new Set(names).size < names.length
}

/** Returns true when a record becomes a dead letter after its first call, even if its process is stopped. */
function isHopelessAtOnce({ options }: BindingPlan, { kind }: Behaviour): boolean {
  return kind === 'FATAL' && options.circuitBreaker?.enabled !== true && options.listenerType !== 'BATCH'
}
