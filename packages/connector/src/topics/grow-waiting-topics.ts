/**
 * Gives waiting topics the partitions that their sources have got meanwhile. To add them is safe: what waits lies in the
 * partition of its source, and not in one that its key decides.
 */

import { type Admin, adminResultsOf, requireAllDone } from '@waybill/kafka'
import { type ActualTopology } from '@waybill/kafka/internal'
import type { ResolvedBinding } from '../binding/resolved-binding.ts'

/** Answers the topology as it is after that. @throws PartialFailureError */
export async function withGrownWaitingTopics(
  admin: Pick<Admin, 'createPartitions'>,
  bindings: readonly Pick<ResolvedBinding, 'topic' | 'waitingTopic'>[],
  actual: ActualTopology,
): Promise<ActualTopology> {
  const counts = Object.fromEntries(bindings.flatMap((binding) => missingCount(binding, actual)))
  if (Object.keys(counts).length === 0) return actual
  const outcomes = await adminResultsOf(admin.createPartitions(counts))
  // Another instance has done it at the same time.
  const isDone = (one: (typeof outcomes)[number]): boolean =>
    one.outcome === 'FAILED' && one.error.reason === 'INVALID_PARTITIONS'
  requireAllDone(
    'Adding partitions to waiting topics',
    outcomes.filter((one) => !isDone(one)),
  )
  return new Map([...actual].map(([name, topic]) => [name, { ...topic, partitions: counts[name] ?? topic.partitions }]))
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
