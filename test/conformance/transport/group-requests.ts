/** Requests about group members and committed offsets. */

import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { encodeSubscription, errorName, type JoinGroupResponse, type OffsetCommitPartition } from '@waybill/kafka/wire'
import { onlyOne } from '@waybill/testkit/internal'
import type { ErrorText } from './log-requests.ts'
import type { WireClient } from './wire-client.ts'

/** The identity of a commit from outside the group. */
export const outsider = { generationId: -1, memberId: '', groupInstanceId: null } as const

/** Settings of a member that joins. */
export interface MemberOptions {
  readonly instanceId?: string
  /** @defaultValue 30,000: no session ends unless a test wants it to */
  readonly sessionTimeoutMs?: number
  /** @defaultValue 30,000 */
  readonly rebalanceTimeoutMs?: number
  /** @defaultValue ['range'] */
  readonly protocols?: readonly string[]
  /** @defaultValue 'consumer' */
  readonly protocolType?: string
  /** Subscribed topics: the coordinator reads them. @defaultValue ['wanted'] */
  readonly topics?: readonly string[]
}

/** Fields of a commit beside its offset. */
export interface CommitOptions {
  readonly partition?: number
  readonly metadata?: string | null
}

/** One offset of a commit. */
export function offsetOf(
  partitionIndex: number,
  offset: bigint,
  metadata: string | null = null,
): OffsetCommitPartition {
  return { partitionIndex, committedOffset: offset, committedLeaderEpoch: -1, committedMetadata: metadata }
}

/** A member that sends one request at a time, over its own connections, because a join may block. */
export class WireMember {
  readonly wire: WireClient
  readonly groupId: string
  readonly options: MemberOptions
  memberId = ''
  generationId = -1

  constructor(wire: WireClient, groupId: string, options: MemberOptions = {}) {
    this.wire = wire.another()
    this.groupId = groupId
    this.options = options
  }

  /** Sends one JoinGroup with its current member id, and adopts the response. */
  async join(change: MemberOptions = {}): Promise<JoinGroupResponse & { readonly error: ErrorText }> {
    const options = { ...this.options, ...change }
    const metadata = encodeSubscription({ topics: options.topics ?? ['wanted'], owned: [], generationId: -1 })
    const answer = await this.wire.send('JoinGroup', {
      groupId: this.groupId,
      sessionTimeoutMs: options.sessionTimeoutMs ?? 30_000,
      rebalanceTimeoutMs: options.rebalanceTimeoutMs ?? 30_000,
      memberId: this.memberId,
      groupInstanceId: this.#instanceId,
      protocolType: options.protocolType ?? 'consumer',
      protocols: (options.protocols ?? ['range']).map((name) => ({ name, metadata })),
      reason: 'a test',
    })
    const error = errorName(answer.errorCode)
    if (error === 'NONE' || error === 'MEMBER_ID_REQUIRED') this.memberId = answer.memberId
    if (error === 'NONE') this.generationId = answer.generationId
    return { ...answer, error }
  }

  /** Joins the group, and first obtains a member id if it has none. */
  async enter(): Promise<JoinGroupResponse> {
    let joined = await this.join()
    if (joined.error === 'MEMBER_ID_REQUIRED') joined = await this.join()
    assert.equal(joined.error, 'NONE')
    return joined
  }

  /** Sends SyncGroup. A leader passes the assignments, as texts by member id. */
  async sync(assignments: Readonly<Record<string, string>> = {}): Promise<string> {
    const answer = await this.wire.send('SyncGroup', {
      ...this.#place,
      protocolType: 'consumer',
      protocolName: 'range',
      assignments: Object.entries(assignments).map(([memberId, text]) => ({ memberId, assignment: Buffer.from(text) })),
    })
    return answer.errorCode === 0 ? answer.assignment.toString() : errorName(answer.errorCode)
  }

  async heartbeat(change: { generationId?: number; memberId?: string } = {}): Promise<ErrorText> {
    const answer = await this.wire.send('Heartbeat', { ...this.#place, ...change })
    return errorName(answer.errorCode)
  }

  /** Sends heartbeats until the response says that the group rebalances. */
  async untilRebalance(): Promise<void> {
    await this.wire.until(
      () => this.heartbeat(),
      (error) => error === 'REBALANCE_IN_PROGRESS',
    )
  }

  async commit(topic: string, offset: bigint, options: CommitOptions = {}): Promise<ErrorText> {
    return commitAs(this.wire, { ...this.#place }, topic, offset, options)
  }

  /** Returns its own error in a response. */
  async leave(): Promise<ErrorText> {
    const member = { memberId: this.memberId, groupInstanceId: this.#instanceId, reason: 'over' }
    const answer = await this.wire.send('LeaveGroup', { groupId: this.groupId, members: [member] })
    assert.equal(answer.errorCode, 0)
    return errorName(onlyOne(answer.members).errorCode)
  }

  get #instanceId(): string | null {
    return this.options.instanceId ?? null
  }

  get #place(): { groupId: string; generationId: number; memberId: string; groupInstanceId: string | null } {
    const { groupId, generationId, memberId } = this
    return { groupId, generationId, memberId, groupInstanceId: this.#instanceId }
  }
}

/** Creates the only member of a stable group. */
export async function enterGroup(wire: WireClient, plainId: string, options: MemberOptions = {}): Promise<WireMember> {
  const member = new WireMember(wire, wire.named(plainId), options)
  await member.enter()
  assert.equal(await member.sync({ [member.memberId]: 'all' }), 'all')
  return member
}

/** Creates two members of a stable group in its second generation. The first is the leader. */
export async function enterGroupTogether(
  wire: WireClient,
  plainId: string,
  first: MemberOptions = {},
  second: MemberOptions = {},
): Promise<[WireMember, WireMember]> {
  const leader = await enterGroup(wire, plainId, first)
  const follower = new WireMember(wire, leader.groupId, second)
  const entering = follower.enter()
  await leader.untilRebalance()
  await Promise.all([leader.join(), entering])
  await shareOut(leader, follower)
  return [leader, follower]
}

/** Syncs both members, the leader with the assignments. */
export async function shareOut(leader: WireMember, follower: WireMember): Promise<void> {
  const given = { [leader.memberId]: 'half', [follower.memberId]: 'other half' }
  assert.deepEqual(await Promise.all([follower.sync(), leader.sync(given)]), ['other half', 'half'])
}

/** Commits one offset under the given identity. */
export async function commitAs(
  wire: WireClient,
  committer: { groupId: string; generationId: number; memberId: string; groupInstanceId: string | null },
  topic: string,
  offset: bigint,
  { partition = 0, metadata = null }: CommitOptions = {},
): Promise<ErrorText> {
  const topics = [{ name: topic, partitions: [offsetOf(partition, offset, metadata)] }]
  const answer = await wire.send('OffsetCommit', { ...committer, topics })
  return errorName(onlyOne(answer.topics[0]?.partitions).errorCode)
}

/** Returns the committed offset, -1 if there is none, or the error. */
export async function committedOffset(
  wire: WireClient,
  groupId: string,
  topic: string,
  { partition = 0, requireStable = true }: { partition?: number; requireStable?: boolean } = {},
): Promise<bigint | ErrorText> {
  const topics = [{ name: topic, partitionIndexes: [partition] }]
  const answer = await wire.send('OffsetFetch', { groupId, topics, requireStable })
  if (answer.errorCode !== 0) return errorName(answer.errorCode)
  const { errorCode, committedOffset: offset } = onlyOne(answer.topics[0]?.partitions)
  return errorCode === 0 ? offset : errorName(errorCode)
}
