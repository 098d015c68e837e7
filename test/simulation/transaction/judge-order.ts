import type { Judged } from './judge-logs.ts'
import { outputTopic, sourceTopic } from './program.ts'
import { outcomeOf } from './record-plan.ts'

interface Place {
  readonly partition: number
  readonly offset: bigint
}

/** Checks that outputs from one partition to one partition keep the order of their records (I7). */
export function judgeOrder(world: Judged): void {
  const places = orderedPlaces(world)
  for (const journal of world.journalsOf(outputTopic)) {
    const last = new Map<number, bigint>()
    for (const { id, state } of journal.entries()) {
      const place = state === 'COMMITTED' ? places.get(id.slice(0, id.indexOf('/'))) : undefined
      if (place === undefined) continue
      if (place.offset < (last.get(place.partition) ?? 0n))
        world.court.violate('I7', `${outputTopic}-${journal.partition} has ${id} behind what was written after it`)
      last.set(place.partition, place.offset)
    }
  }
}

/**
 * Returns the places of records whose outputs were produced on the source, once, and whose position never moved back.
 */
function orderedPlaces(world: Judged): Map<string, Place> {
  const direct = new Set(world.program.records.filter((plan) => outcomeOf(plan, 0) === 'ok').map(({ value }) => value))
  const places = new Map<string, Place>()
  for (const { journal, settled, isMovedBack } of world.booksOf(sourceTopic)) {
    if (isMovedBack) continue
    const { partition } = journal
    for (const { id, offset } of journal.entries())
      if (direct.has(id) && settled.get(id)?.times === 1) places.set(id, { partition, offset })
  }
  return places
}
