/** Admin calls for partition offsets, sent to their leaders. */

import { errorCode } from '../../wire/api/error-codes.ts'
import type { NodeAddress } from '../../wire/broker/kafka-transport.ts'
import { byTopic } from '../cluster/by-topic.ts'
import { checkOffset } from '../cluster/check-offset.ts'
import type { Cluster } from '../cluster/cluster.ts'
import { KafkaError, kafkaError } from '../cluster/kafka-error.ts'
import type { Nodes } from '../cluster/nodes.ts'
import { partitionName } from '../cluster/partition-name.ts'
import type { TopicPartition } from '../cluster/topic-partition.ts'
import type { Admin, OffsetAt } from './admin.ts'
import { outcomeOf, type PartitionResult } from './admin-result.ts'
import { type Answers, mayReadAgain, mayWriteAgain, Placement, type Rounds, type StartRounds } from './rounds.ts'
import { leaderIn, viewTopics } from './topic-view.ts'

/** The part of {@link Admin} that deals with offsets of partitions. */
export type OffsetAdmin = Pick<Admin, 'deleteRecords' | 'listOffsets'>

/** Sends one request to one leader. */
type AskLeader<I, T> = (node: NodeAddress, items: readonly I[]) => Promise<Answers<I, T>>

export function createOffsetAdmin(cluster: Cluster, nodes: Nodes, start: StartRounds): OffsetAdmin {
  return {
    async listOffsets(partitions, at, options) {
      const rounds = start(options)
      const answers = await rounds.settle(partitions, mayReadAgain, (open) =>
        askPartitions(cluster, rounds, open, offsetsAt(nodes, rounds, at)),
      )
      return outcomesOf(answers, (offset) => ({ offset: offset < 0n ? null : offset }))
    },

    async deleteRecords(partitions, options) {
      // -1 on the wire means the end of the log: an offset that is one too low must not delete everything.
      for (const { before, ...partition } of partitions) if (before !== 'END') checkOffset(partition, before)
      const rounds = start(options)
      // A retried delete up to the end would also delete records written since.
      const answers = await rounds.settle(partitions, mayWriteAgain, (open) =>
        askPartitions(cluster, rounds, open, deleteBefore(nodes, rounds)),
      )
      return outcomesOf(answers, (earliest) => ({ earliest }))
    },
  }
}

/** Queries each partition's leader, from fresh metadata. */
export async function askPartitions<I extends TopicPartition, T>(
  cluster: Cluster,
  rounds: Rounds,
  partitions: readonly I[],
  ask: AskLeader<I, T>,
): Promise<Answers<I, T>> {
  const views = await viewTopics(cluster, [...new Set(partitions.map(({ topic }) => topic))], rounds.timeoutMs)
  const placement = new Placement<I>()
  const refused = new Map<I, KafkaError>()
  for (const item of partitions) {
    const leader = leaderIn(views, item.topic, item.partition)
    if (leader instanceof KafkaError) refused.set(item, leader)
    else placement.add(leader, item)
  }
  return new Map([...refused, ...(await placement.ask(ask))])
}

/** Queries offsets from a leader; negative when no record is that late. */
export function offsetsAt<I extends TopicPartition>(nodes: Nodes, rounds: Rounds, at: OffsetAt): AskLeader<I, bigint> {
  const timestamp = at === 'EARLIEST' ? -2n : at === 'LATEST' ? -1n : BigInt(at.timestampMs)
  return async (node, items) => {
    const topics = byTopic(items, ({ partition }) => ({ partitionIndex: partition, currentLeaderEpoch: -1, timestamp }))
    const request = { isolationLevel: 'READ_UNCOMMITTED', topics } as const
    const answer = await nodes.send(node, 'ListOffsets', request, rounds.timeoutMs)
    return readPartitions(items, answer.topics, ({ offset }) => offset, leaderError('Reading the offset of'))
  }
}

function deleteBefore<I extends TopicPartition & { readonly before: bigint | 'END' }>(
  nodes: Nodes,
  rounds: Rounds,
): AskLeader<I, bigint> {
  return async (node, items) => {
    const topics = byTopic(items, ({ partition, before }) => ({
      partitionIndex: partition,
      offset: before === 'END' ? -1n : before,
    }))
    const timeoutMs = Math.ceil(rounds.timeoutMs)
    const answer = await nodes.send(node, 'DeleteRecords', { topics, timeoutMs }, rounds.timeoutMs)
    return readPartitions(items, answer.topics, ({ lowWatermark }) => lowWatermark, leaderError('Deleting records of'))
  }
}

/** Creates errors for partitions that exist in the metadata: if the leader does not have one, it has moved. */
function leaderError(what: string): (code: number, item: TopicPartition) => KafkaError {
  return (code, partition) => kafkaError(`${what} ${partitionName(partition)}`, code)
}

interface PartitionEntry {
  readonly partitionIndex: number
  readonly errorCode: number
}

/** Reads the entries of partitions from a response. */
export function readPartitions<I extends TopicPartition, P extends PartitionEntry, T>(
  items: readonly I[],
  topics: readonly { readonly name: string; readonly partitions: readonly P[] }[],
  valueOf: (entry: P) => T,
  errorOf: (code: number, item: I) => KafkaError,
): Answers<I, T> {
  const entries = new Map(
    topics.flatMap(({ name: topic, partitions }) =>
      partitions.map((entry) => [partitionName({ topic, partition: entry.partitionIndex }), entry]),
    ),
  )
  return new Map(
    items.flatMap((item): [I, T | KafkaError][] => {
      const entry = entries.get(partitionName(item))
      if (entry === undefined) return []
      return [[item, entry.errorCode === errorCode.NONE ? valueOf(entry) : errorOf(entry.errorCode, item)]]
    }),
  )
}

/** Converts responses to results. */
export function outcomesOf<T, V extends object>(
  answers: Answers<TopicPartition, T>,
  valueOf: (answer: T, partition: TopicPartition) => V,
): PartitionResult<V>[] {
  return [...answers].map(([item, answer]) => ({
    topic: item.topic,
    partition: item.partition,
    ...outcomeOf(answer, (value) => valueOf(value, item)),
  }))
}
