import { placesOf } from './places.ts'
import type { World } from './world.ts'

/** Describes what is not settled and committed yet, except what an obstruction blocks; undefined when everything is. */
export function obstacleOf(world: World): string | undefined {
  world.discover()
  world.evidence.update()
  for (const place of world.program.bindings.flatMap(placesOf)) {
    if (place.kind === 'DLT') continue
    for (const log of world.logs.values()) {
      if (log.topic !== place.topic || log.end === 0n) continue
      const { topic, partition, end } = log
      if (place.kind !== 'TIER' && world.obstruction.concerns(partition)) continue
      const last = world.commits.last(place.groupId, place.kind === 'WAITING' ? place.source : topic, partition)
      if (world.commits.isSpoilt(place.groupId, topic, partition)) continue
      // A waiting topic may hold only fences of owners that had nothing to commit.
      if (place.kind === 'WAITING' && last === undefined) continue
      // All its records are deleted, and none was ever seen.
      if (last === undefined && world.losses.startOf(topic, partition) === end) continue
      const position = place.kind === 'WAITING' ? last?.state?.waiting?.position : last?.offset
      // An offset that was settled above the position before the log was cut.
      const isBeyond = position !== undefined && position > end
      if (isBeyond && world.logCuts.hasOutlived(place.groupId, { topic, partition, offset: position - 1n })) continue
      if (position !== end)
        return `${place.groupId} has committed ${topic}-${partition} up to ${position ?? 'nothing'}, and its end is ${end}`
    }
  }
  return undefined
}
