/**
 * The duties of a group's leader beyond those of a member: it assigns the partitions, and notices when topics gain or
 * lose partitions. The coordinator does neither.
 */

import type { Buffer } from 'node:buffer'
import type { Runtime } from '@waybill/core'
import {
  ConsumerProtocolError,
  decodeAssignment,
  decodeSubscription,
  encodeAssignment,
} from '../../wire/api/consumer-protocol.ts'
import type { JoinGroupResponse, SyncGroupRequest } from '../../wire/api/kafka-apis.ts'
import type { Cluster, TopicDescription } from '../cluster/cluster.ts'
import { assertNoError } from '../cluster/kafka-error.ts'
import type { TopicPartition } from '../cluster/topic-partition.ts'
import type { CoordinatorLink } from './coordinator-link.ts'
import { assignRange } from './range-assignment.ts'
import {
  assignSticky,
  type GroupCandidate,
  groupByTopic,
  type PartitionCounts,
  withoutStillHeld,
} from './sticky-assignment.ts'

/** Options of a leader. */
export interface GroupLeaderOptions {
  readonly assignment: 'COOPERATIVE' | 'EAGER'
  readonly requestTimeoutMs: number
}

interface Led {
  readonly topics: readonly string[]
  /** Number of assigned partitions per topic in the current assignment. */
  readonly counts: PartitionCounts
}

const nothingLed: Led = { topics: [], counts: new Map() }

/** The leader role of one member. It does nothing while another member leads. */
export class GroupLeader {
  readonly #link: CoordinatorLink
  readonly #cluster: Cluster
  readonly #logger: Runtime['logger']
  readonly #options: GroupLeaderOptions
  #led = nothingLed

  constructor(link: CoordinatorLink, cluster: Cluster, logger: Runtime['logger'], options: GroupLeaderOptions) {
    this.#link = link
    this.#cluster = cluster
    this.#logger = logger
    this.#options = options
  }

  /**
   * Topics whose partitions this member assigns, including topics that do not exist yet; none while another member
   * leads.
   */
  get topics(): readonly string[] {
    return this.#led.topics
  }

  /** Returns true when partition counts differ from those assigned. A missing topic does not count as a change. */
  hasChanged(topics: ReadonlyMap<string, TopicDescription>): boolean {
    const { counts } = this.#led
    return this.#led.topics.some((name) => {
      const count = topics.get(name)?.leaders.length
      return count !== undefined && count !== (counts.get(name) ?? 0)
    })
  }

  /** Ends the leader role: another member leads. */
  resign(): void {
    this.#led = nothingLed
  }

  /** Assigns the partitions of all members' topics, to each member only those of its own topics. */
  async assign(joined: JoinGroupResponse): Promise<SyncGroupRequest['assignments']> {
    const candidates = joined.members.map((member) => this.#candidate(member))
    const topics = [...new Set(candidates.flatMap((candidate) => candidate.topics))]
    if (joined.skipAssignment) {
      // A static leader restarted and the coordinator keeps the assignment, which may lack new partitions.
      this.#led = { topics, counts: await this.#assignedCounts() }
      return []
    }
    const described = await this.#cluster.refresh(topics, this.#options.requestTimeoutMs)
    const counts = new Map([...described.values()].map(({ name, leaders }) => [name, leaders.length]))
    const given =
      this.#options.assignment === 'EAGER'
        ? assignRange(candidates, counts)
        : withoutStillHeld(assignSticky(candidates, counts), candidates)
    // Partitions withheld because another member still holds them count as unassigned. If a static holder restarts now,
    // it keeps its new assignment and has nothing to release, so only the leader would trigger another rebalance.
    this.#led = { topics, counts: countByTopic([...given.values()].flat()) }
    return [...given].map(([memberId, partitions]) => ({
      memberId,
      assignment: encodeAssignment(groupByTopic(partitions)),
    }))
  }

  /**
   * Decodes a member's subscription. A member whose bytes cannot be decoded gets no partitions; the others are not
   * affected.
   */
  #candidate({ memberId, metadata }: { memberId: string; metadata: Buffer }): GroupCandidate {
    try {
      return { memberId, ...decodeSubscription(metadata) }
    } catch (error) {
      if (!(error instanceof ConsumerProtocolError)) throw error
      this.#logger.error(
        { memberId, err: error },
        'Group member without a readable subscription, nothing assigned to it',
      )
      return { memberId, topics: [], owned: [], generationId: -1 }
    }
  }

  async #assignedCounts(): Promise<PartitionCounts> {
    const { groupId } = this.#link
    const answer = await this.#link.send(
      'BEAT',
      'DescribeGroups',
      { groups: [groupId] },
      this.#options.requestTimeoutMs,
    )
    const counts = new Map<string, number>()
    for (const group of answer.groups) {
      this.#link.hasMoved(group.errorCode)
      assertNoError(`Describing group ${groupId}`, group.errorCode)
      for (const { memberAssignment } of group.members)
        for (const { topic, partitions } of decodeAssignment(memberAssignment))
          counts.set(topic, (counts.get(topic) ?? 0) + partitions.length)
    }
    return counts
  }
}

function countByTopic(partitions: readonly TopicPartition[]): PartitionCounts {
  const counts = new Map<string, number>()
  for (const { topic } of partitions) counts.set(topic, (counts.get(topic) ?? 0) + 1)
  return counts
}
