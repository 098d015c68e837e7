import { errorCode, type JoinGroupRequest, type JoinGroupResponse } from '@waybill/kafka/wire'
import { type GroupMember, metadataOf, selectProtocol } from './group-member.ts'

/** The sender a request claims. */
export interface ClaimedMember {
  readonly memberId: string
  readonly groupInstanceId: string | null
}

/** The members of a group and which of them leads, in the order they came. */
export class GroupRoster {
  readonly #members = new Map<string, GroupMember>()
  leader: string | null = null

  get size(): number {
    return this.#members.size
  }

  [Symbol.iterator](): IterableIterator<GroupMember> {
    return this.#members.values()
  }

  get(id: string): GroupMember | undefined {
    return this.#members.get(id)
  }

  withInstance(instanceId: string | null): GroupMember | undefined {
    if (instanceId === null) return undefined
    for (const member of this) if (member.instanceId === instanceId) return member
    return undefined
  }

  /** The first to come leads. */
  add(member: GroupMember): void {
    this.#members.set(member.id, member)
    this.leader ??= member.id
  }

  remove(member: GroupMember): void {
    this.#members.delete(member.id)
    if (this.leader === member.id) this.leader = this.#members.keys().next().value ?? null
  }

  /** Puts one in the place of another, also as the leader. */
  replace(former: GroupMember, member: GroupMember): void {
    this.#members.delete(former.id)
    this.#members.set(member.id, member)
    if (this.leader === former.id) this.leader = member.id
  }

  clear(): void {
    this.#members.clear()
    this.leader = null
  }

  /** The member a request is from, or why it is refused. */
  find({ memberId, groupInstanceId }: ClaimedMember): GroupMember | number {
    const member = this.#members.get(memberId)
    if (groupInstanceId === null) return member ?? errorCode.UNKNOWN_MEMBER_ID
    const holder = this.withInstance(groupInstanceId)
    if (holder === undefined) return errorCode.UNKNOWN_MEMBER_ID
    return holder === member ? holder : errorCode.FENCED_INSTANCE_ID
  }

  /** Whether a newcomer has a protocol in common with all others. */
  canSpeakWith({ protocols }: JoinGroupRequest): boolean {
    const members = [...this]
    return protocols.some(({ name }) => members.every((member) => member.protocols.some((one) => one.name === name)))
  }

  /** The protocol they agree on. */
  selectProtocol(): string | null {
    return selectProtocol([...this])
  }

  /** The patience of the most patient. */
  rebalanceTimeoutMs(): number {
    let longest = 0
    for (const { rebalanceTimeoutMs } of this) longest = Math.max(longest, rebalanceTimeoutMs)
    return longest
  }

  /** All members, as the join response lists them for the leader. */
  describe(protocol: string | null): JoinGroupResponse['members'] {
    return [...this].map((member) => ({
      memberId: member.id,
      groupInstanceId: member.instanceId,
      metadata: metadataOf(member, protocol),
    }))
  }
}
