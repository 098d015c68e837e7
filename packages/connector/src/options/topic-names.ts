/** The names of a binding's derived topics and groups. */

import { derivedTopicName, tierSuffix, waitingTopicName } from '@waybill/kafka/internal'
import type { RetryTopicNaming } from '../api/binding.ts'

/** The options that determine names. */
export interface NamingOptions {
  readonly topic: string
  readonly groupId: string
  readonly retryTopicNaming: RetryTopicNaming
}

/** Returns the topic of a tier, counted from 1: `orders.retry-1`, or `orders.billing.retry-1`. */
export function tierTopic(naming: NamingOptions, tier: number, suffix: string = tierSuffix(tier)): string {
  return derivedTopicName(naming.topic, suffix, groupInName(naming))
}

/** Returns the dead letter topic: `orders.DLT`, or `orders.billing.DLT`. */
export function deadLetterTopic(naming: NamingOptions, suffix: string): string {
  return derivedTopicName(naming.topic, suffix, groupInName(naming))
}

/** Returns the waiting topic, which always contains the group: `orders.billing.waiting`. */
export function waitingTopic({ topic, groupId }: Pick<NamingOptions, 'topic' | 'groupId'>): string {
  return waitingTopicName(topic, groupId)
}

/** Returns the group of a tier. It is separate, so that its members do not rebalance the group of the source. */
export function tierGroupId(groupId: string, tier: number): string {
  return `${groupId}-${tierSuffix(tier)}`
}

/**
 * Returns the group whose committed offsets are the replay position. Several topics may share a dead letter topic with
 * an explicit name, and each has its own position in it.
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
