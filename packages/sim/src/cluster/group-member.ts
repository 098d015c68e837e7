import { Buffer } from 'node:buffer'
import type { JoinGroupRequest, JoinGroupResponse, SyncGroupResponse } from '@waybill/kafka/wire'

/** The persisted state of a member, which survives a move of the coordinator. */
export interface MemberRecord {
  readonly id: string
  readonly instanceId: string | null
  readonly clientId: string
  readonly sessionTimeoutMs: number
  readonly rebalanceTimeoutMs: number
  readonly protocols: JoinGroupRequest['protocols']
  readonly assignment: Buffer
}

/** A member of a group, with the requests of it that wait for an answer. */
export interface GroupMember extends MemberRecord {
  sessionTimeoutMs: number
  rebalanceTimeoutMs: number
  protocols: JoinGroupRequest['protocols']
  assignment: Buffer
  /** Its JoinGroup that waits for the others. */
  join: ((response: JoinGroupResponse) => void) | null
  /** Its SyncGroup that waits for the leader's. */
  sync: ((response: SyncGroupResponse) => void) | null
  /** It has no generation yet and sends no heartbeats, so its pending join keeps it for minutes. */
  isNew: boolean
  session: Disposable | null
}

const noBytes = Buffer.alloc(0)

/** A member's metadata in the protocol the group chose. */
export function metadataOf(member: MemberRecord, protocol: string | null): Buffer {
  return member.protocols.find(({ name }) => name === protocol)?.metadata ?? noBytes
}

/** Whether a member asks for what it has asked for before. */
export function hasSameProtocols(member: MemberRecord, { protocols }: JoinGroupRequest): boolean {
  return (
    member.protocols.length === protocols.length &&
    member.protocols.every((one, index) => {
      const other = protocols[index]
      return other !== undefined && other.name === one.name && other.metadata.equals(one.metadata)
    })
  )
}

/** The protocol all can speak that most would choose first. Every member has at least one of the candidates. */
export function selectProtocol(members: readonly MemberRecord[]): string | null {
  const [first, ...others] = members
  const candidates = (first?.protocols ?? [])
    .map(({ name }) => name)
    .filter((name) => others.every(({ protocols }) => protocols.some((one) => one.name === name)))
  const votes = new Map<string, number>(candidates.map((name) => [name, 0]))
  for (const { protocols } of members) {
    const vote = protocols.find(({ name }) => votes.has(name))
    if (vote !== undefined) votes.set(vote.name, (votes.get(vote.name) ?? 0) + 1)
  }
  let chosen: string | null = null
  for (const [name, count] of votes) if (chosen === null || count > (votes.get(chosen) ?? 0)) chosen = name
  return chosen
}
