import type { KafkaClient } from '@waybill/kafka'
import type { ResolvedBinding } from '../binding/resolved-binding.ts'
import { partitionsOf } from './dead-letter-log.ts'
import { type ReplayPlan, type ReplayRoute, targetTopicOf } from './replay-plan.ts'

/** Reads the partitions of the topic that copies are written to, and returns the plan of a replay. */
export async function preparePlan(
  { admin }: Pick<KafkaClient, 'admin'>,
  binding: ResolvedBinding,
  route: ReplayRoute,
  maxReplays: number,
): Promise<ReplayPlan> {
  const to = targetTopicOf({ binding, route })
  const partitions = (await partitionsOf(admin, to)).length
  return { binding, route, maxReplays, partitionsOf: (topic) => (topic === to ? partitions : 0) }
}
