/** The part of the brokers that coordinates consumer groups: membership, committed offsets, and what admins ask. */

import { type Runtime, StateError } from '@waybill/core'
import {
  type DescribeGroupsResponse,
  errorCode,
  type OffsetCommitPartition,
  type OffsetCommitRequest,
  type OffsetFetchRequest,
  type OffsetFetchResponse,
  type PartitionErrorsResponse,
  type TxnOffsetCommitRequest,
} from '@waybill/kafka/wire'
import { ConsumerGroup } from './consumer-group.ts'
import type { CoordinatorPlacement } from './coordinator-placement.ts'
import { errorResponses, syncError } from './error-response.ts'
import { metadataOf } from './group-member.ts'
import { type CommittedOffset, type Committer, GroupOffsets } from './group-offsets.ts'
import type { Call, RequestHandlers } from './request-handler.ts'
import type { TopicTable } from './topic-table.ts'

/** A commit that the cluster accepted: of a member, of an outsider, or of a transaction at the moment it committed. */
export interface AcceptedCommit extends Committer {
  readonly groupId: string
  /** True when the offsets came in a transaction. */
  readonly transactional: boolean
  readonly offsets: readonly CommittedOffset[]
}

/** Whether a producer's open transaction includes a group's offsets; else why not. */
export type VerifyGroup = (request: TxnOffsetCommitRequest) => number

interface CoordinatedGroup {
  readonly membership: ConsumerGroup
  readonly offsets: GroupOffsets
}

type GroupApi =
  | 'JoinGroup'
  | 'SyncGroup'
  | 'Heartbeat'
  | 'LeaveGroup'
  | 'OffsetCommit'
  | 'TxnOffsetCommit'
  | 'OffsetFetch'
  | 'ListGroups'
  | 'DescribeGroups'
  | 'DeleteGroups'

/** Sessions outside of these are refused, as a broker for tests is set up. */
const sessionTimeoutBoundsMs = { min: 1_000, max: 1_800_000 }
/** Kafka counts characters. */
const maxMetadataLength = 4_096

/** All groups of a cluster. */
export class GroupCoordinator {
  readonly #runtime: Runtime
  readonly #topics: TopicTable
  readonly #placement: CoordinatorPlacement
  readonly #verify: VerifyGroup
  readonly #onCommit: (commit: AcceptedCommit) => void
  readonly #groups = new Map<string, CoordinatedGroup>()

  constructor(parts: {
    runtime: Runtime
    topics: TopicTable
    placement: CoordinatorPlacement
    verify: VerifyGroup
    onCommit: (commit: AcceptedCommit) => void
  }) {
    this.#runtime = parts.runtime
    this.#topics = parts.topics
    this.#placement = parts.placement
    this.#verify = parts.verify
    this.#onCommit = parts.onCommit
  }

  readonly handlers: RequestHandlers<GroupApi> = {
    JoinGroup: (request, call) => {
      const problem = this.#placeProblem(request.groupId, call) ?? sessionProblem(request.sessionTimeoutMs)
      const existing = this.#groups.get(request.groupId)
      if (problem !== null) return errorResponses.JoinGroup(request, problem)
      if (existing === undefined && request.memberId !== '')
        return errorResponses.JoinGroup(request, errorCode.UNKNOWN_MEMBER_ID)
      return this.#groupOf(request.groupId).membership.join(request, call.clientId)
    },

    SyncGroup: (request, call) => {
      const problem = this.#placeProblem(request.groupId, call)
      if (problem !== null) return syncError(problem)
      return this.#groups.get(request.groupId)?.membership.sync(request) ?? syncError(errorCode.UNKNOWN_MEMBER_ID)
    },

    Heartbeat: (request, call) => {
      const problem = this.#placeProblem(request.groupId, call)
      if (problem !== null) return { errorCode: problem }
      const group = this.#groups.get(request.groupId)
      return { errorCode: group?.membership.heartbeat(request) ?? errorCode.UNKNOWN_MEMBER_ID }
    },

    LeaveGroup: (request, call) => {
      const problem = this.#placeProblem(request.groupId, call)
      if (problem !== null) return errorResponses.LeaveGroup(request, problem)
      const codes = this.#groups.get(request.groupId)?.membership.leave(request.members)
      const members = request.members.map(({ memberId, groupInstanceId }, index) => ({
        memberId,
        groupInstanceId,
        errorCode: codes?.[index] ?? errorCode.UNKNOWN_MEMBER_ID,
      }))
      return { errorCode: errorCode.NONE, members }
    },

    OffsetCommit: (request, call) => {
      const problem = this.#placeProblem(request.groupId, call) ?? this.#commitProblem(request, false)
      if (problem !== null) return errorResponses.OffsetCommit(request, problem)
      const { response, accepted } = this.#checkOffsets(request)
      this.#groupOf(request.groupId).offsets.commit(accepted)
      this.#report(request.groupId, committerOf(request, call), accepted, false)
      return response
    },

    TxnOffsetCommit: (request, call) => {
      const problem =
        this.#placeProblem(request.groupId, call) ??
        this.#transactionProblem(request) ??
        this.#commitProblem(request, true)
      if (problem !== null) return errorResponses.TxnOffsetCommit(request, problem)
      const { response, accepted } = this.#checkOffsets(request)
      const committer = committerOf(request, call)
      if (accepted.length > 0)
        this.#groupOf(request.groupId).offsets.hold(request.producerId, {
          producerEpoch: request.producerEpoch,
          committer,
          offsets: accepted,
        })
      return response
    },

    OffsetFetch: (request, call) => {
      const problem = this.#placeProblem(request.groupId, call)
      if (problem !== null) return errorResponses.OffsetFetch(request, problem)
      return { errorCode: errorCode.NONE, topics: this.#fetchOffsets(request) }
    },

    ListGroups: ({ states }, call) => ({
      errorCode: errorCode.NONE,
      groups: [...this.#groups.values()]
        .map(({ membership }) => membership)
        .filter(({ groupId, state }) => this.#isHere(groupId, call) && (states.length === 0 || states.includes(state)))
        .map(({ groupId, protocolType, state }) => ({
          groupId,
          protocolType,
          groupState: state,
          groupType: 'classic',
        })),
    }),

    DescribeGroups: ({ groups }, call) => ({ groups: groups.map((groupId) => this.#describe(groupId, call)) }),

    DeleteGroups: ({ groups }, call) => ({
      groups: groups.map((groupId) => ({ groupId, errorCode: this.#delete(groupId, call) })),
    }),
  }

  /** Makes a transaction's offsets count, or drops them. */
  endTransaction(groupId: string, producerId: bigint, committed: boolean): void {
    const ended = this.#groups.get(groupId)?.offsets.endTransaction(producerId, committed) ?? []
    for (const { committer, offsets } of ended) this.#report(groupId, committer, offsets, true)
  }

  /** Forgets the offsets of a topic that was deleted. */
  forgetTopic(topic: string): void {
    for (const { offsets } of this.#groups.values()) offsets.forgetTopic(topic)
  }

  /** Its node went down. */
  unload(groupId: string): void {
    this.#groups.get(groupId)?.membership.unload()
  }

  /** A node has it now. */
  load(groupId: string): void {
    this.#groups.get(groupId)?.membership.load()
  }

  /** The group a test speaks of. @throws StateError when there is none. */
  existing(groupId: string): CoordinatedGroup {
    const group = this.#groups.get(groupId)
    if (group === undefined) throw new StateError(`The simulated cluster has no group ${groupId}.`)
    return group
  }

  #groupOf(groupId: string): CoordinatedGroup {
    let group = this.#groups.get(groupId)
    if (group === undefined) {
      group = { membership: new ConsumerGroup(groupId, this.#runtime), offsets: new GroupOffsets() }
      this.#groups.set(groupId, group)
    }
    return group
  }

  #isHere(groupId: string, { node }: Call): boolean {
    return this.#placement.nodeOf('GROUP', groupId) === node
  }

  #placeProblem(groupId: string, call: Call): number | null {
    if (groupId === '') return errorCode.INVALID_GROUP_ID
    return this.#isHere(groupId, call) ? null : errorCode.NOT_COORDINATOR
  }

  #commitProblem(request: OffsetCommitRequest | TxnOffsetCommitRequest, isTransactional: boolean): number | null {
    const group = this.#groups.get(request.groupId)
    if (group !== undefined) return group.membership.commitProblem(request, isTransactional)
    if (request.generationId < 0) return null
    return isTransactional ? errorCode.ILLEGAL_GENERATION : errorCode.GROUP_ID_NOT_FOUND
  }

  /** The offsets topic asks the transaction's coordinator once for each transaction, at its first commit. */
  #transactionProblem(request: TxnOffsetCommitRequest): number | null {
    const { groupId, producerId, producerEpoch } = request
    if (this.#groups.get(groupId)?.offsets.heldEpoch(producerId) === producerEpoch) return null
    const code = this.#verify(request)
    return code === errorCode.NONE ? null : code
  }

  #checkOffsets({ topics }: Pick<OffsetCommitRequest, 'topics'>): {
    response: PartitionErrorsResponse
    accepted: CommittedOffset[]
  } {
    const accepted: CommittedOffset[] = []
    const answered = topics.map(({ name, partitions }) => ({
      name,
      partitions: partitions.map((partition) => {
        const code = this.#offsetProblem(name, partition)
        if (code === errorCode.NONE) accepted.push(committedOffset(name, partition))
        return { partitionIndex: partition.partitionIndex, errorCode: code }
      }),
    }))
    return { response: { topics: answered }, accepted }
  }

  #offsetProblem(topic: string, { partitionIndex, committedMetadata }: OffsetCommitPartition): number {
    if (this.#topics.partition(topic, partitionIndex) === undefined) return errorCode.UNKNOWN_TOPIC_OR_PARTITION
    return (committedMetadata?.length ?? 0) > maxMetadataLength ? errorCode.OFFSET_METADATA_TOO_LARGE : errorCode.NONE
  }

  #report(groupId: string, committer: Committer, offsets: readonly CommittedOffset[], transactional: boolean): void {
    if (offsets.length > 0) this.#onCommit({ groupId, ...committer, transactional, offsets })
  }

  #fetchOffsets({ groupId, topics, requireStable }: OffsetFetchRequest): OffsetFetchResponse['topics'] {
    const offsets = this.#groups.get(groupId)?.offsets ?? new GroupOffsets()
    return (topics ?? committedTopics(offsets)).map(({ name, partitionIndexes }) => ({
      name,
      partitions: partitionIndexes.map((partitionIndex) => {
        const isRefused = requireStable && offsets.isUnstable(name, partitionIndex)
        const committed = isRefused ? undefined : offsets.get(name, partitionIndex)
        return {
          partitionIndex,
          committedOffset: committed?.offset ?? -1n,
          committedLeaderEpoch: committed?.leaderEpoch ?? -1,
          metadata: committed?.metadata ?? '',
          errorCode: isRefused ? errorCode.UNSTABLE_OFFSET_COMMIT : errorCode.NONE,
        }
      }),
    }))
  }

  #describe(groupId: string, call: Call): DescribeGroupsResponse['groups'][number] {
    const problem = this.#placeProblem(groupId, call) ?? errorCode.NONE
    const group = problem === errorCode.NONE ? this.#groups.get(groupId)?.membership : undefined
    const protocol = group?.protocol ?? ''
    return {
      errorCode: problem,
      groupId,
      groupState: group?.state ?? (problem === errorCode.NONE ? 'Dead' : ''),
      protocolType: group?.protocolType ?? '',
      protocolData: protocol,
      members: [...(group?.members ?? [])].map((member) => ({
        memberId: member.id,
        groupInstanceId: member.instanceId,
        clientId: member.clientId,
        clientHost: '/sim',
        memberMetadata: metadataOf(member, protocol),
        memberAssignment: member.assignment,
      })),
    }
  }

  #delete(groupId: string, call: Call): number {
    const problem = this.#placeProblem(groupId, call)
    if (problem !== null) return problem
    const group = this.#groups.get(groupId)
    if (group === undefined) return errorCode.GROUP_ID_NOT_FOUND
    if (group.membership.state !== 'Empty') return errorCode.NON_EMPTY_GROUP
    this.#groups.delete(groupId)
    return errorCode.NONE
  }
}

function committerOf(request: OffsetCommitRequest | TxnOffsetCommitRequest, { client }: Call): Committer {
  const { memberId, groupInstanceId, generationId } = request
  return { client, memberId, groupInstanceId, generationId }
}

function committedOffset(topic: string, partition: OffsetCommitPartition): CommittedOffset {
  return {
    topic,
    partition: partition.partitionIndex,
    offset: partition.committedOffset,
    leaderEpoch: partition.committedLeaderEpoch,
    metadata: partition.committedMetadata ?? '',
  }
}

/** Every partition with an offset, or with one on its way. */
function committedTopics(offsets: GroupOffsets): { name: string; partitionIndexes: number[] }[] {
  const topics = new Map<string, Set<number>>()
  for (const { topic, partition } of [...offsets.all, ...offsets.unstable]) {
    const partitions = topics.get(topic)
    if (partitions === undefined) topics.set(topic, new Set([partition]))
    else partitions.add(partition)
  }
  return [...topics].map(([name, partitions]) => ({ name, partitionIndexes: [...partitions] }))
}

function sessionProblem(sessionTimeoutMs: number): number | null {
  const { min, max } = sessionTimeoutBoundsMs
  return sessionTimeoutMs >= min && sessionTimeoutMs <= max ? null : errorCode.INVALID_SESSION_TIMEOUT
}
