/** What can only be said at the end: every record written is handled, dead or skipped by rule, and in a calm run exactly once. */

import type { Behaviour, BindingPlan } from './binding-plan.ts'
import { type Fate, maySkip, type Original, placeName } from './evidence.ts'
import { isKeyed } from './places.ts'
import type { World } from './world.ts'

/** Judges a seed that has drained and stopped. */
export function judgeEnd(world: World): void {
  world.evidence.update()
  for (const original of world.evidence.originals.values())
    for (const binding of world.program.bindings) judgeOriginal(world, original, binding)
}

function judgeOriginal(world: World, original: Original, binding: BindingPlan): void {
  const { court } = world
  const { plan, record } = original
  const fate = world.evidence.fate(plan.id, binding)
  const who = `${plan.id} at ${record.partition}@${record.offset} in ${binding.groupId}`
  if (plan.isForeign) {
    court.reach('skip: a replay for another group')
    if (fate.calls > 0) court.violate('C-71', `${who} is for another group, and its handler was called`)
    return
  }
  if (plan.content !== 'GOOD' && fate.calls > 0)
    court.violate('S2-041', `${who} is ${plan.content}, and its handler was called`)
  if (plan.content === 'POISON' && fate.deadLetters.length === 0) court.violate('S2-041', `${who} is no dead letter`)
  const isSkipped = maySkip(binding, original, fate)
  if (isSkipped) court.reach('skip: best effort')
  if (fate.successes.size === 0 && fate.deadLetters.length === 0 && !isSkipped)
    court.violate('LOST', `${who} is neither handled, nor dead, nor skipped by rule`)
  if (fate.hops.length > 0 && fate.successes.has(placeName(record)) && isKeyed(binding))
    court.reach('waiting: a copy of a record that the source still has is passed over')
  if (fate.replays.length > 0 && fate.deadLetters.length === 0)
    court.reach('waiting: a replay of what was handled well is passed over')
  if (world.program.isCalm) judgeCalm(world, binding, plan.id, fate, who)
}

/** Nothing failed but handlers: nothing may have happened twice (L5). */
function judgeCalm({ court, program }: World, binding: BindingPlan, id: string, fate: Fate, who: string): void {
  const behaviour = binding.behaviours[Number(id.slice(1))] as Behaviour
  const hasReplays = fate.replays.length > 0
  const outcomes = fate.successes.size + fate.deadLetters.length
  if (outcomes > 1 && !hasReplays)
    court.violate(
      'L5',
      `${who} has ${fate.successes.size} successes and ${fate.deadLetters.length} dead letters, and nothing failed`,
    )
  if (behaviour.kind === 'OK' && binding.down === undefined && fate.calls > 1 && !hasReplays)
    court.violate('L5', `${who} was handled ${fate.calls} times, and nothing failed`)
  const isStill =
    !fate.isRedelivered && program.chaos.every(({ kind }) => kind === 'WALL_JUMP' || kind === 'MOVE_LEADER')
  const [letter] = fate.deadLetters
  const isGuarded = binding.options.circuitBreaker?.enabled === true
  if (isStill && !isGuarded && letter !== undefined && letter.totalAttempts !== fate.calls)
    court.violate(
      'C-03',
      `${who} was handled ${fate.calls} times, and its dead letter tells of ${letter.totalAttempts}`,
    )
}
