/** Admin calls for groups, sent to their coordinators. */

import type { Buffer } from 'node:buffer'
import { ConsumerProtocolError, decodeAssignment } from '../../wire/api/consumer-protocol.ts'
import { errorCode, errorName } from '../../wire/api/error-codes.ts'
import type { DescribeGroupsResponse, ListGroupsResponse, OffsetFetchResponse } from '../../wire/api/kafka-apis.ts'
import type { NodeAddress } from '../../wire/broker/kafka-transport.ts'
import { byTopic, eachPartition } from '../cluster/by-topic.ts'
import { checkOffset } from '../cluster/check-offset.ts'
import type { Cluster } from '../cluster/cluster.ts'
import { assertNoError, KafkaError, kafkaError, toKafkaError } from '../cluster/kafka-error.ts'
import { addressOf, type Nodes } from '../cluster/nodes.ts'
import { partitionName } from '../cluster/partition-name.ts'
import type { TopicPartition } from '../cluster/topic-partition.ts'
import type { Admin, GroupDescription, GroupOffset } from './admin.ts'
import { type GroupResult, outcomeOf } from './admin-result.ts'
import { askPartitions, offsetsAt, outcomesOf, readPartitions } from './offset-admin.ts'
import { type Answers, mayReadAgain, mayWriteAgain, Placement, type Rounds, type StartRounds } from './rounds.ts'
import { topicError } from './topic-view.ts'

/** The part of {@link Admin} that deals with groups. */
export type GroupAdmin = Pick<
  Admin,
  'groupOffsets' | 'alterGroupOffsets' | 'listGroups' | 'describeGroups' | 'deleteGroups'
>

type ListedGroups = ListGroupsResponse['groups']
type DescribedGroup = DescribeGroupsResponse['groups'][number]

export function createGroupAdmin(cluster: Cluster, nodes: Nodes, start: StartRounds): GroupAdmin {
  /** Sends one request to each coordinator, with the items of its groups. */
  const askCoordinators = async <I, T>(
    rounds: Rounds,
    items: readonly I[],
    groupOf: (item: I) => string,
    ask: (node: NodeAddress, items: readonly I[]) => Promise<Answers<I, T>>,
  ): Promise<Answers<I, T>> => {
    const placement = new Placement<I>()
    const lost = new Map<I, KafkaError>()
    const place = async ([groupId, inGroup]: [string, readonly I[]]): Promise<void> => {
      try {
        const node = await cluster.coordinator('GROUP', groupId, rounds.timeoutMs)
        for (const item of inGroup) placement.add(node, item)
      } catch (error) {
        const failure = toKafkaError(`The coordinator of ${groupId}`, error)
        for (const item of inGroup) lost.set(item, failure)
      }
    }
    await Promise.all([...Map.groupBy(items, groupOf)].map(place))
    const answers = new Map([...lost, ...(await placement.ask(ask))])
    for (const [item, answer] of answers) {
      if (answer instanceof KafkaError && saysMoved(answer)) cluster.invalidateCoordinator('GROUP', groupOf(item))
    }
    return answers
  }

  const groupsOn = async (rounds: Rounds, node: NodeAddress): Promise<ListedGroups> => {
    const answer = await nodes.send(node, 'ListGroups', { states: [] }, rounds.timeoutMs)
    assertNoError(`Listing the groups of ${addressOf(node)}`, answer.errorCode)
    return answer.groups
  }

  /** Returns every committed offset of the group. */
  const committedBy = async (rounds: Rounds, groupId: string): Promise<ReadonlyMap<string, CommittedEntry>> => {
    const node = await cluster.coordinator('GROUP', groupId, rounds.timeoutMs)
    try {
      // Without requireStable, the response has the committed offset: an open transaction has not changed it yet.
      const request = { groupId, topics: null, requireStable: false }
      const answer = await nodes.send(node, 'OffsetFetch', request, rounds.timeoutMs)
      assertNoError(`Reading the offsets of ${groupId}`, answer.errorCode)
      return committedIn(answer)
    } catch (error) {
      if (error instanceof KafkaError && saysMoved(error)) cluster.invalidateCoordinator('GROUP', groupId)
      throw error
    }
  }

  return {
    async groupOffsets(groupId, partitions, options) {
      const rounds = start(options)
      // Read the commits before the ends: a record written in between makes the lag too large, never too small.
      const committed = await rounds.one(mayReadAgain, () => committedBy(rounds, groupId))
      const wanted = partitions ?? [...committed.values()].map(({ topic, partition }) => ({ topic, partition }))
      const ends = await rounds.settle(wanted, mayReadAgain, (open) =>
        askPartitions(cluster, rounds, open, offsetsAt(nodes, rounds, 'LATEST')),
      )
      return outcomesOf(ends, (end, partition) => groupOffset(committed.get(partitionName(partition)), end))
    },

    async alterGroupOffsets(groupId, offsets, options) {
      for (const one of offsets) checkOffset(one, one.offset)
      const rounds = start(options)
      const answers = await rounds.settle(offsets, mayWriteAgain, (open) =>
        askCoordinators(
          rounds,
          open,
          () => groupId,
          async (node, items) => {
            const topics = byTopic(items, ({ partition, offset, metadata = '' }) => ({
              partitionIndex: partition,
              committedOffset: offset,
              committedLeaderEpoch: -1,
              committedMetadata: metadata,
            }))
            const request = { groupId, generationId: -1, memberId: '', groupInstanceId: null, topics }
            const answer = await nodes.send(node, 'OffsetCommit', request, rounds.timeoutMs)
            return readPartitions(
              items,
              answer.topics,
              () => true,
              (code, { topic }) =>
                code === errorCode.UNKNOWN_MEMBER_ID
                  ? hasMembers(groupId, code)
                  : topicError('Setting its offset', topic, code),
            )
          },
        ),
      )
      return outcomesOf(answers, () => ({}))
    },

    async listGroups(options) {
      const rounds = start(options)
      const brokers = await rounds.one(mayReadAgain, () => cluster.brokers(rounds.timeoutMs))
      const answers = await rounds.settle(brokers, mayReadAgain, (open) => {
        const placement = new Placement<NodeAddress>()
        for (const node of open) placement.add(node, node)
        return placement.ask(async (node, [item = node]) => new Map([[item, await groupsOn(rounds, node)]]))
      })
      const found = new Map<string, ListedGroups[number]>()
      for (const [node, groups] of answers) {
        if (groups instanceof KafkaError) throw shortList(node, groups)
        for (const group of groups) found.set(group.groupId, group)
      }
      return [...found.values()].map(({ groupId, groupState, groupType }) => ({
        groupId,
        groupState,
        groupType: groupType.toUpperCase(),
      }))
    },

    async describeGroups(groupIds, options) {
      const rounds = start(options)
      const answers = await rounds.settle(groupIds, mayReadAgain, (open) =>
        askCoordinators(rounds, open, String, async (node, items) => {
          const { groups } = await nodes.send(node, 'DescribeGroups', { groups: items }, rounds.timeoutMs)
          // Dead means that the group does not exist, or has another type: only the list tells them apart.
          const listed = groups.some(isDead) ? await groupsOn(rounds, node) : []
          return new Map(groups.map((group) => [group.groupId, describe(group, listed)]))
        }),
      )
      return groupOutcomes(answers, (description) => description)
    },

    async deleteGroups(groupIds, options) {
      const rounds = start(options)
      const answers = await rounds.settle(groupIds, mayWriteAgain, (open) =>
        askCoordinators(rounds, open, String, async (node, items) => {
          const { groups } = await nodes.send(node, 'DeleteGroups', { groups: items }, rounds.timeoutMs)
          return new Map(groups.map((group) => [group.groupId, deletionOf(group.groupId, group.errorCode)]))
        }),
      )
      return groupOutcomes(answers, () => ({}))
    },
  }
}

const movedReasons: ReadonlySet<string> = new Set([
  'NOT_COORDINATOR',
  'COORDINATOR_NOT_AVAILABLE',
  'COORDINATOR_LOAD_IN_PROGRESS',
])

/** Returns true when the node did not answer, or answered that it is not the coordinator. */
function saysMoved({ reason }: KafkaError): boolean {
  return reason === undefined || movedReasons.has(reason)
}

interface CommittedEntry extends TopicPartition {
  readonly committed: bigint
  readonly metadata: string | null
}

function committedIn({ topics }: OffsetFetchResponse): Map<string, CommittedEntry> {
  const entries = topics.flatMap(({ name, partitions }) =>
    partitions.map(({ partitionIndex, committedOffset, metadata }) => ({
      topic: name,
      partition: partitionIndex,
      committed: committedOffset,
      metadata,
    })),
  )
  return new Map(entries.map((entry) => [partitionName(entry), entry]))
}

function groupOffset(entry: CommittedEntry | undefined, end: bigint): GroupOffset {
  if (entry === undefined || entry.committed < 0n) return { committed: null, metadata: null, end, lag: null }
  return { committed: entry.committed, metadata: entry.metadata, end, lag: end - entry.committed }
}

/** Creates the error of setting offsets of, or deleting, a group with members. */
export function hasMembers(groupId: string, code: number): KafkaError {
  return new KafkaError(`The group ${groupId} has members.`, 'FATAL', {
    reason: errorName(code),
    impact: 'Its offsets are unchanged.',
    hint: 'Stop every member, wait until their sessions have expired, and try again.',
  })
}

function shortList(node: NodeAddress, cause: KafkaError): KafkaError {
  return new KafkaError(`The groups of ${addressOf(node)} cannot be listed: ${cause.message}`, cause.kind, { cause })
}

function isDead(group: DescribedGroup): boolean {
  return group.groupState === 'Dead' || group.errorCode === errorCode.GROUP_ID_NOT_FOUND
}

function describe(group: DescribedGroup, listed: ListedGroups): GroupDescription | KafkaError {
  if (!isDead(group)) return group.errorCode === errorCode.NONE ? described(group) : describeError(group)
  const found = listed.find(({ groupId }) => groupId === group.groupId)
  if (found === undefined) return missingGroup(group.groupId)
  return { groupState: found.groupState, groupType: found.groupType.toUpperCase(), protocol: '', members: null }
}

function described(group: DescribedGroup): GroupDescription {
  const isConsumer = group.protocolType === 'consumer'
  return {
    groupState: group.groupState,
    groupType: 'CLASSIC',
    protocol: group.protocolData,
    members: group.members.map((member) => ({
      memberId: member.memberId,
      instanceId: member.groupInstanceId,
      clientId: member.clientId,
      host: member.clientHost,
      assignment: isConsumer ? readAssignment(member.memberAssignment) : null,
    })),
  }
}

/** Decodes an assignment. Null while the group rebalances, or when another client uses an unknown format. */
function readAssignment(bytes: Buffer): TopicPartition[] | null {
  try {
    return eachPartition(decodeAssignment(bytes))
  } catch (error) {
    if (error instanceof ConsumerProtocolError) return null
    throw error
  }
}

function describeError(group: DescribedGroup): KafkaError {
  return kafkaError(`Describing ${group.groupId}`, group.errorCode)
}

function missingGroup(groupId: string): KafkaError {
  return new KafkaError(`Group ${groupId} does not exist.`, 'FATAL', { reason: 'GROUP_ID_NOT_FOUND' })
}

function deletionOf(groupId: string, code: number): true | KafkaError {
  if (code === errorCode.NONE) return true
  if (code === errorCode.NON_EMPTY_GROUP) return hasMembers(groupId, code)
  return code === errorCode.GROUP_ID_NOT_FOUND ? missingGroup(groupId) : kafkaError(`Deleting ${groupId}`, code)
}

function groupOutcomes<T, V extends object>(answers: Answers<string, T>, valueOf: (answer: T) => V): GroupResult<V>[] {
  return [...answers].map(([groupId, answer]) => ({ groupId, ...outcomeOf(answer, valueOf) }))
}
