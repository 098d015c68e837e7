/** Topics as a broker describes them now. Nothing is cached: an administrator must not act on stale data. */

import { errorCode } from '../../wire/api/error-codes.ts'
import type { MetadataResponse } from '../../wire/api/kafka-apis.ts'
import type { Cluster, Leader } from '../cluster/cluster.ts'
import { KafkaError, kafkaError } from '../cluster/kafka-error.ts'
import { partitionName } from '../cluster/partition-name.ts'

/** One partition: its leader, replicas and in-sync replicas. */
export interface PartitionView {
  readonly partition: number
  /** Its leader; null while it has none. */
  readonly leader: Leader | null
  readonly replicas: readonly number[]
  readonly inSyncReplicas: readonly number[]
}

/** One topic. A topic that was deleted and created again has a different id. */
export interface TopicView {
  readonly topicId: string
  readonly isInternal: boolean
  /** By partition number. */
  readonly partitions: readonly PartitionView[]
  /** Replica count of its first partition; the others have the same unless one was reassigned manually. */
  readonly replication: number
}

/** Creates the error of a missing topic. FATAL, since a retry does not create it. */
export function missingTopic(topic: string): KafkaError {
  return new KafkaError(`The topic ${topic} does not exist.`, 'FATAL', { reason: 'UNKNOWN_TOPIC_OR_PARTITION' })
}

/** Returns true for the error of a topic or partition that does not exist. */
export function isMissing({ reason }: KafkaError): boolean {
  return reason === 'UNKNOWN_TOPIC_OR_PARTITION'
}

/** Creates the error for a topic's error code. */
export function topicError(what: string, topic: string, code: number, detail: string | null = null): KafkaError {
  return code === errorCode.UNKNOWN_TOPIC_OR_PARTITION ? missingTopic(topic) : kafkaError(what, code, detail)
}

/** Describes these topics, each with its own error; null describes all. */
export async function viewTopics(
  cluster: Cluster,
  topics: readonly string[] | null,
  timeoutMs: number,
): Promise<Map<string, TopicView | KafkaError>> {
  return viewsIn(await cluster.anyNode('Metadata', { topics }, timeoutMs))
}

/** Reads the topics from one response. */
export function viewsIn(answer: MetadataResponse): Map<string, TopicView | KafkaError> {
  const nodeById = new Map(answer.brokers.map((broker) => [broker.nodeId, broker]))
  return new Map(answer.topics.flatMap((topic) => (topic.name === null ? [] : [[topic.name, viewOf(topic, nodeById)]])))
}

function viewOf(
  topic: MetadataResponse['topics'][number],
  nodeById: ReadonlyMap<number, MetadataResponse['brokers'][number]>,
): TopicView | KafkaError {
  const name = topic.name ?? ''
  if (topic.errorCode !== errorCode.NONE) return topicError(`Describing ${name}`, name, topic.errorCode)
  const partitions = topic.partitions
    .map((entry): PartitionView => {
      const node = nodeById.get(entry.leaderId)
      return {
        partition: entry.partitionIndex,
        leader: node === undefined ? null : { ...node, leaderEpoch: entry.leaderEpoch },
        replicas: entry.replicaNodes,
        inSyncReplicas: entry.isrNodes,
      }
    })
    .toSorted((one, other) => one.partition - other.partition)
  const replication = partitions[0]?.replicas.length ?? 0
  return { topicId: topic.topicId, isInternal: topic.isInternal, partitions, replication }
}

/** Returns the leader of a partition, or the error why there is none. */
export function leaderIn(
  views: ReadonlyMap<string, TopicView | KafkaError>,
  topic: string,
  partition: number,
): Leader | KafkaError {
  const view = views.get(topic) ?? missingTopic(topic)
  if (view instanceof KafkaError) return view
  const found = view.partitions[partition]
  if (found === undefined) {
    const count = view.partitions.length
    return new KafkaError(`Topic ${topic} has ${count} partitions and no partition ${partition}.`, 'FATAL', {
      reason: 'UNKNOWN_TOPIC_OR_PARTITION',
    })
  }
  return (
    found.leader ??
    new KafkaError(`${partitionName({ topic, partition })} has no leader.`, 'RETRIABLE', {
      reason: 'LEADER_NOT_AVAILABLE',
    })
  )
}
