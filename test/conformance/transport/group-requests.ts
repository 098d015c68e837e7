/** Members of groups and committed offsets, in the words of the tests. */

import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { encodeSubscription, errorName, type JoinGroupResponse, type OffsetCommitPartition } from '@waybill/kafka/wire'
import { onlyOne } from '@waybill/testkit/internal'
import type { ErrorText } from './log-requests.ts'
import type { WireClient } from './wire-client.ts'

/** Commits from outside the group. */
export const outsider = { generationId: -1, memberId: '', groupInstanceId: null } as const

/** How a member joins. */
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
  /** What it subscribes to: a coordinator looks into it. @defaultValue ['wanted'] */
  readonly topics?: readonly string[]
}

/** What a commit says beside its offset. */
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

/** A member that does what a test says, one request at a time, over connections of its own: a join may wait. */
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

  /** One JoinGroup with the id it has. Takes what it is given. */
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

  /** Joins as members do: for an id first, if it needs one. */
  async enter(): Promise<JoinGroupResponse> {
    let joined = await this.join()
    if (joined.error === 'MEMBER_ID_REQUIRED') joined = await this.join()
    assert.equal(joined.error, 'NONE')
    return joined
  }

  /** Asks for its assignment; a leader gives everyone theirs, as texts by member. */
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

  /** Waits until it is told that the group rebalances. */
  async untilRebalance(): Promise<void> {
    await this.wire.until(
      () => this.heartbeat(),
      (error) => error === 'REBALANCE_IN_PROGRESS',
    )
  }

  async commit(topic: string, offset: bigint, options: CommitOptions = {}): Promise<ErrorText> {
    return commitAs(this.wire, { ...this.#place }, topic, offset, options)
  }

  /** Its own error in the answer. */
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

/** A member that is alone in its group, which is stable. */
export async function enterGroup(wire: WireClient, plainId: string, options: MemberOptions = {}): Promise<WireMember> {
  const member = new WireMember(wire, wire.named(plainId), options)
  await member.enter()
  assert.equal(await member.sync({ [member.memberId]: 'all' }), 'all')
  return member
}

/** Two members of a stable group in its second generation. The first leads. */
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

/** Both ask for their assignments, which the leader gives. */
export async function shareOut(leader: WireMember, follower: WireMember): Promise<void> {
  const given = { [leader.memberId]: 'half', [follower.memberId]: 'other half' }
  assert.deepEqual(await Promise.all([follower.sync(), leader.sync(given)]), ['other half', 'half'])
}

/** Commits one offset as whoever is said. */
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

/** The committed offset, -1 without one, or the error in its place. */
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
