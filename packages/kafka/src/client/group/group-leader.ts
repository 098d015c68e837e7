/**
 * What the leader of a group does beyond being a member: it shares the partitions out, and notices when there are others
 * to share. The coordinator does neither.
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

/** What a leader needs to know. */
export interface GroupLeaderOptions {
  readonly assignment: 'COOPERATIVE' | 'EAGER'
  readonly requestTimeoutMs: number
}

interface Led {
  readonly topics: readonly string[]
  /** How many partitions of each topic the assignment in force gives to somebody. */
  readonly counts: PartitionCounts
}

const nothingLed: Led = { topics: [], counts: new Map() }

/** The leader's part of one member. It does nothing while somebody else leads. */
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

  /** Topics whose partitions this member shares out, also those that do not exist yet; none while somebody else leads. */
  get topics(): readonly string[] {
    return this.#led.topics
  }

  /** True when the topics have other partitions than those that were shared out. One that is missing has none to share. */
  hasChanged(topics: ReadonlyMap<string, TopicDescription>): boolean {
    const { counts } = this.#led
    return this.#led.topics.some((name) => {
      const count = topics.get(name)?.leaders.length
      return count !== undefined && count !== (counts.get(name) ?? 0)
    })
  }

  /** Somebody else leads. */
  resign(): void {
    this.#led = nothingLed
  }

  /** Over the union of all members' topics, each member getting only what it asked for. */
  async assign(joined: JoinGroupResponse): Promise<SyncGroupRequest['assignments']> {
    const candidates = joined.members.map((member) => this.#candidate(member))
    const topics = [...new Set(candidates.flatMap((candidate) => candidate.topics))]
    if (joined.skipAssignment) {
      // A static leader has come back and the coordinator keeps what it has; new partitions may not be part of it.
      this.#led = { topics, counts: await this.#assignedCounts() }
      return []
    }
    const described = await this.#cluster.refresh(topics, this.#options.requestTimeoutMs)
    const counts = new Map([...described.values()].map(({ name, leaders }) => [name, leaders.length]))
    const given =
      this.#options.assignment === 'EAGER'
        ? assignRange(candidates, counts)
        : withoutStillHeld(assignSticky(candidates, counts), candidates)
    // What was held back for its holder's sake counts as not shared out. A static holder that restarts at this moment
    // keeps its new assignment and has nothing to give back, so nobody but the leader would ask for another round.
    this.#led = { topics, counts: countByTopic([...given.values()].flat()) }
    return [...given].map(([memberId, partitions]) => ({
      memberId,
      assignment: encodeAssignment(groupByTopic(partitions)),
    }))
  }

  /** A member whose bytes cannot be read gets nothing, and the others get theirs. */
  #candidate({ memberId, metadata }: { memberId: string; metadata: Buffer }): GroupCandidate {
    try {
      return { memberId, ...decodeSubscription(metadata) }
    } catch (error) {
      if (!(error instanceof ConsumerProtocolError)) throw error
      this.#logger.error({ memberId, err: error }, 'A member of the group cannot be understood and gets nothing')
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
