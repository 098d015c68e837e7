import type { Buffer } from 'node:buffer'
import { ConsumerProtocolError, decodeSubscription } from '../../wire/api/consumer-protocol.ts'
import { errorCode } from '../../wire/api/error-codes.ts'
import { kafkaError } from '../cluster/kafka-error.ts'
import type { CoordinatorLink } from './coordinator-link.ts'

/**
 * Returns the topics that the current holder of this instance id joined with. Undefined when no member holds it, or
 * when the coordinator hides its topics because a rebalance is in progress. Rejects with KafkaError when the
 * coordinator does not answer.
 */
export async function formerTopics(
  link: CoordinatorLink,
  instanceId: string,
  timeoutMs: number,
): Promise<ReadonlySet<string> | undefined> {
  const { groupId } = link
  const { groups } = await link.send('BEAT', 'DescribeGroups', { groups: [groupId] }, timeoutMs)
  for (const { errorCode: code, members } of groups) {
    if (link.hasMoved(code)) throw kafkaError(`Describing group ${groupId}`, code)
    const former = members.find((member) => member.groupInstanceId === instanceId)
    if (code === errorCode.NONE && former !== undefined) return topicsIn(former.memberMetadata)
  }
  return undefined
}

function topicsIn(metadata: Buffer): ReadonlySet<string> | undefined {
  try {
    return new Set(decodeSubscription(metadata).topics)
  } catch (error) {
    if (!(error instanceof ConsumerProtocolError)) throw error
    return undefined
  }
}
