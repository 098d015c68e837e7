/** Earliest and latest offsets of partitions. */

import { errorCode } from '../../wire/api/error-codes.ts'
import type { ListOffsetsRequest, ListOffsetsResponse } from '../../wire/api/kafka-apis.ts'
import { byTopic } from '../cluster/by-topic.ts'
import type { Cluster, Leader } from '../cluster/cluster.ts'
import { KafkaError, kafkaError, toKafkaError } from '../cluster/kafka-error.ts'
import { addressOf, type Nodes } from '../cluster/nodes.ts'
import { partitionName } from '../cluster/partition-name.ts'
import type { TopicPartition } from '../cluster/topic-partition.ts'

/** Results by partition name; an error concerns that partition alone. */
export type Found<T> = ReadonlyMap<string, T | KafkaError>

/** A query for the earliest or the latest offset of a partition. */
export interface LogEndQuery extends TopicPartition {
  readonly end: 'EARLIEST' | 'LATEST'
}

const timestampOf = { EARLIEST: -2n, LATEST: -1n } as const

/** Queries the leaders, with one request to each. Rejects with KafkaError when the leaders cannot be determined. */
export async function fetchLogEnds(
  cluster: Cluster,
  nodes: Nodes,
  queries: readonly LogEndQuery[],
  timeoutMs: number,
): Promise<Found<bigint>> {
  const found = new Map<string, bigint | KafkaError>()
  const topics = await cluster.topics([...new Set(queries.map(({ topic }) => topic))], timeoutMs)
  const byLeader = new Map<string, { leader: Leader; queries: LogEndQuery[] }>()
  for (const query of queries) {
    const leader = topics.get(query.topic)?.leaders[query.partition]
    if (leader === null || leader === undefined) {
      cluster.invalidateTopic(query.topic)
      found.set(partitionName(query), new KafkaError(`${partitionName(query)} has no leader.`, 'RETRIABLE'))
      continue
    }
    const known = byLeader.get(addressOf(leader))
    if (known === undefined) byLeader.set(addressOf(leader), { leader, queries: [query] })
    else known.queries.push(query)
  }
  const ask = async (leader: Leader, list: readonly LogEndQuery[]): Promise<void> => {
    for (const [name, result] of await askLeader(nodes, leader, list, timeoutMs)) found.set(name, result)
  }
  await Promise.all([...byLeader.values()].map(({ leader, queries: list }) => ask(leader, list)))
  for (const query of queries) {
    const result = found.get(partitionName(query))
    if (result instanceof KafkaError && result.kind !== 'FATAL') cluster.invalidateTopic(query.topic)
  }
  return found
}

async function askLeader(
  nodes: Nodes,
  leader: Leader,
  queries: readonly LogEndQuery[],
  timeoutMs: number,
): Promise<Found<bigint>> {
  try {
    const answer = await nodes.send(leader, 'ListOffsets', requestOf(queries), timeoutMs)
    return new Map(queries.map((query) => [partitionName(query), offsetIn(answer, query)]))
  } catch (error) {
    const failure = toKafkaError('ListOffsets', error)
    return new Map(queries.map((query) => [partitionName(query), failure]))
  }
}

function requestOf(queries: readonly LogEndQuery[]): ListOffsetsRequest {
  return {
    isolationLevel: 'READ_COMMITTED',
    topics: byTopic(queries, ({ partition, end }) => ({
      partitionIndex: partition,
      currentLeaderEpoch: -1,
      timestamp: timestampOf[end],
    })),
  }
}

function offsetIn(answer: ListOffsetsResponse, query: LogEndQuery): bigint | KafkaError {
  const topic = answer.topics.find(({ name }) => name === query.topic)
  const entry = topic?.partitions.find(({ partitionIndex }) => partitionIndex === query.partition)
  const what = `Reading the offset of ${partitionName(query)}`
  if (entry === undefined) return new KafkaError(`${what}: the leader did not return it.`, 'RETRIABLE')
  if (entry.errorCode === errorCode.NONE) return entry.offset
  return kafkaError(what, entry.errorCode)
}
