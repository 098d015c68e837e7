/**
 * Adds partitions to waiting topics whose sources have grown. This is safe, because a waiting record is in the
 * partition of its source, not in one chosen by its key.
 */

import { type Admin, adminResultsOf, requireAllDone } from '@waybill/kafka'
import { type ActualTopology } from '@waybill/kafka/internal'
import type { ResolvedBinding } from '../binding/resolved-binding.ts'

/** Returns the topology with the added partitions. @throws PartialFailureError */
export async function withGrownWaitingTopics(
  admin: Pick<Admin, 'createPartitions'>,
  bindings: readonly Pick<ResolvedBinding, 'topic' | 'waitingTopic'>[],
  actual: ActualTopology,
): Promise<ActualTopology> {
  const counts = new Map(bindings.flatMap((binding) => missingCount(binding, actual)))
  if (counts.size === 0) return actual
  const outcomes = await adminResultsOf(admin.createPartitions(Object.fromEntries(counts)))
  // Another instance added them concurrently.
  const isDone = (one: (typeof outcomes)[number]): boolean =>
    one.outcome === 'FAILED' && one.error.reason === 'INVALID_PARTITIONS'
  requireAllDone(
    'Adding partitions to waiting topics',
    outcomes.filter((one) => !isDone(one)),
  )
  return new Map(
    [...actual].map(([name, topic]) => [name, { ...topic, partitions: counts.get(name) ?? topic.partitions }]),
  )
}

function missingCount(
  { topic, waitingTopic }: Pick<ResolvedBinding, 'topic' | 'waitingTopic'>,
  actual: ActualTopology,
): readonly (readonly [string, number])[] {
  const source = actual.get(topic)
  const waiting = waitingTopic === undefined ? undefined : actual.get(waitingTopic)
  if (waitingTopic === undefined || source === undefined || waiting === undefined) return []
  return waiting.partitions < source.partitions ? [[waitingTopic, source.partitions]] : []
}
