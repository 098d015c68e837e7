/** What topics and groups of a binding are called (S0-108, S0-125, C-71). */

import { derivedTopicName, tierSuffix, waitingTopicName } from '@waybill/kafka/internal'
import type { RetryTopicNaming } from '../api/binding.ts'

/** What a name is made of. */
export interface NamingOptions {
  readonly topic: string
  readonly groupId: string
  readonly retryTopicNaming: RetryTopicNaming
}

/** The topic of tier `tier`, counted from 1: `orders.retry-1`, or `orders.billing.retry-1`. */
export function tierTopic(naming: NamingOptions, tier: number, suffix: string = tierSuffix(tier)): string {
  return derivedTopicName(naming.topic, suffix, groupInName(naming))
}

/** The dead letter topic: `orders.DLT`, or `orders.billing.DLT`. */
export function deadLetterTopic(naming: NamingOptions, suffix: string): string {
  return derivedTopicName(naming.topic, suffix, groupInName(naming))
}

/** The waiting topic, which is the group's own however tiers are named: `orders.billing.waiting`. */
export function waitingTopic({ topic, groupId }: Pick<NamingOptions, 'topic' | 'groupId'>): string {
  return waitingTopicName(topic, groupId)
}

/** The group that reads a tier: its members come and go without a rebalance of the source's group. */
export function tierGroupId(groupId: string, tier: number): string {
  return `${groupId}-${tierSuffix(tier)}`
}

/**
 * The group whose offsets are the position of replays. A dead letter topic of its own name may be that of several topics,
 * and each of them has its own position in it.
 */
export function replayGroupId({
  topic,
  groupId,
  dlt,
}: Pick<NamingOptions, 'topic' | 'groupId'> & { readonly dlt: { readonly topic: string | undefined } }): string {
  return dlt.topic === undefined ? `${groupId}-dlt-replay` : `${groupId}-${topic}-dlt-replay`
}

function groupInName({ groupId, retryTopicNaming }: NamingOptions): string | undefined {
  return retryTopicNaming === 'PER_GROUP' ? groupId : undefined
}
