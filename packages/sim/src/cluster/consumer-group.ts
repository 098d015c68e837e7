/**
 * One group of the classic protocol, as its coordinator runs it.
 *
 *     Empty ──first join──▶ PreparingRebalance ──all joined, or the rebalance timeout──▶ CompletingRebalance
 *       ▲                     ▲            ▲                                              │            │
 *       │                     │            └──member joins, leaves, dies, never syncs────┘      leader's SyncGroup
 *       │                     └──────────member joins, leaves, dies──────── Stable ◀──────────────────┘
 *       └──no member joined── PreparingRebalance
 *
 * The generation rises on the way to CompletingRebalance. While it is prepared, the old generation may still heartbeat
 * (and must rejoin) and commit. A dynamic member that has not rejoined in time is removed; a static one goes when
 * its session ends, or when it does not sync in the next generation either. A member that waits for a join or sync cannot
 * time out, unless it is new. What survives a move to another node is what was written down last: at the leader's
 * SyncGroup, when the group became empty, and when a static member was replaced. So a move can bring back members that
 * had left, and take away a generation that had begun.
 */

import { Buffer } from 'node:buffer'
import type { Runtime } from '@waybill/core'
import {
  errorCode,
  type HeartbeatRequest,
  type JoinGroupRequest,
  type JoinGroupResponse,
  type LeaveGroupRequest,
  type SyncGroupRequest,
  type SyncGroupResponse,
} from '@waybill/kafka/wire'
import { awaitedTimer } from './awaited-timer.ts'
import { drawUuid } from './draw-uuid.ts'
import { joinError, syncError } from './error-response.ts'
import { type GroupMember, hasSameProtocols, type MemberRecord } from './group-member.ts'
import { type ClaimedMember, GroupRoster } from './group-roster.ts'

/** Where a group stands. One that is gone has no state: it is not in its coordinator's table. */
export type GroupState = 'Empty' | 'PreparingRebalance' | 'CompletingRebalance' | 'Stable'

type Answer<T> = (response: T) => void

/** The longest wait of a new member's join; it sends no heartbeats meanwhile. */
const newMemberJoinTimeoutMs = 300_000
const noBytes = Buffer.alloc(0)

interface WrittenGroup {
  readonly generation: number
  readonly protocolType: string
  readonly protocol: string | null
  readonly leader: string | null
  readonly members: readonly MemberRecord[]
}

const nothingWritten: WrittenGroup = { generation: 0, protocolType: '', protocol: null, leader: null, members: [] }

/** A consumer group's members and generations. */
export class ConsumerGroup {
  readonly groupId: string
  readonly #runtime: Runtime
  readonly #roster = new GroupRoster()
  /** Ids that were handed out with MEMBER_ID_REQUIRED. They hold up a rebalance as members do. */
  readonly #pending = new Map<string, Disposable>()
  /** Members that know the generation and have not requested their assignment. */
  readonly #unsynced = new Set<string>()
  #written: WrittenGroup = nothingWritten
  #state: GroupState = 'Empty'
  #generation = 0
  #protocolType = ''
  #protocol: string | null = null
  /** Ends the wait for joins; in the first rebalance of an empty group only this does. */
  #joinTimer: Disposable | null = null
  /** Ends the wait for the SyncGroup of everybody, also of those who would not be needed. */
  #syncTimer: Disposable | null = null
  #isFirstRebalance = false

  constructor(groupId: string, runtime: Runtime) {
    this.groupId = groupId
    this.#runtime = runtime
  }

  get state(): GroupState {
    return this.#state
  }

  get generation(): number {
    return this.#generation
  }

  get protocolType(): string {
    return this.#protocolType
  }

  /** The protocol in force; empty while there is none. */
  get protocol(): string {
    return this.#state === 'Stable' ? (this.#protocol ?? '') : ''
  }

  get members(): Iterable<GroupMember> {
    return this.#roster
  }

  join(request: JoinGroupRequest, clientId: string): Promise<JoinGroupResponse> {
    return new Promise((answer) => {
      if (!this.#canTakePart(request)) answer(joinError(errorCode.INCONSISTENT_GROUP_PROTOCOL, request.memberId))
      else if (request.memberId === '') this.#joinAnew(request, clientId, answer)
      else this.#joinKnown(request, clientId, answer)
    })
  }

  sync(request: SyncGroupRequest): Promise<SyncGroupResponse> | SyncGroupResponse {
    const member = this.#memberOfGeneration(request)
    if (typeof member === 'number') return syncError(member)
    if (request.protocolType !== this.#protocolType || request.protocolName !== this.#protocol)
      return syncError(errorCode.INCONSISTENT_GROUP_PROTOCOL)
    switch (this.#state) {
      case 'Empty':
        return syncError(errorCode.UNKNOWN_MEMBER_ID)
      case 'PreparingRebalance':
        return syncError(errorCode.REBALANCE_IN_PROGRESS)
      case 'Stable':
        this.#hasSynced(member)
        this.#renewSession(member)
        return { errorCode: errorCode.NONE, assignment: member.assignment }
      case 'CompletingRebalance':
        this.#hasSynced(member)
        return new Promise((answer) => {
          member.sync = answer
          if (member.id === this.#roster.leader) this.#assign(request.assignments)
        })
    }
  }

  heartbeat(request: HeartbeatRequest): number {
    const member = this.#memberOfGeneration(request)
    if (typeof member === 'number') return member
    this.#renewSession(member)
    return this.#state === 'PreparingRebalance' ? errorCode.REBALANCE_IN_PROGRESS : errorCode.NONE
  }

  /** Removes members one by one and answers each one's error. */
  leave(leaving: LeaveGroupRequest['members']): number[] {
    return leaving.map(({ memberId, groupInstanceId }) => {
      if (this.#forgetPending(memberId)) return errorCode.NONE
      const id = memberId === '' ? (this.#roster.withInstance(groupInstanceId)?.id ?? '') : memberId
      const member = this.#roster.find({ memberId: id, groupInstanceId })
      if (typeof member === 'number') return member
      this.#remove(member)
      return errorCode.NONE
    })
  }

  /** Why a commit is refused; null when it is accepted. Ownership of the partitions is not looked at: Kafka does not. */
  commitProblem(committer: ClaimedMember & { generationId: number }, isTransactional: boolean): number | null {
    const { memberId, groupInstanceId, generationId } = committer
    if (generationId < 0 && this.#state === 'Empty') return null
    if (generationId < 0 && memberId === '' && groupInstanceId === null)
      return isTransactional ? null : errorCode.UNKNOWN_MEMBER_ID
    const member = this.#memberOfGeneration(committer)
    if (typeof member === 'number') return member
    if (isTransactional) return null
    if (this.#state === 'CompletingRebalance') return errorCode.REBALANCE_IN_PROGRESS
    this.#renewSession(member)
    return null
  }

  /** Makes the members join again. */
  rebalance(): void {
    if (this.#state === 'Stable' || this.#state === 'CompletingRebalance') this.#prepareRebalance()
  }

  /** Ends a member's session now. False when there is no such member. */
  expire(memberId: string): boolean {
    const member = this.#roster.get(memberId)
    if (member !== undefined) this.#remove(member)
    return member !== undefined || this.#forgetPending(memberId)
  }

  /** Ends the group on this node: pending requests are redirected and timers canceled. */
  unload(): void {
    for (const timer of [this.#joinTimer, this.#syncTimer, ...this.#pending.values()]) timer?.[Symbol.dispose]()
    this.#isFirstRebalance = false
    this.#pending.clear()
    this.#unsynced.clear()
    for (const member of this.#roster) {
      member.session?.[Symbol.dispose]()
      answerWaiting(member, errorCode.NOT_COORDINATOR)
    }
    this.#roster.clear()
  }

  /** A node takes it over with what was written down. */
  load(): void {
    const { generation, protocolType, protocol, leader, members } = this.#written
    this.#generation = generation
    this.#protocolType = protocolType
    this.#protocol = protocol
    this.#state = members.length === 0 ? 'Empty' : 'Stable'
    for (const record of members) {
      const member: GroupMember = { ...record, join: null, sync: null, isNew: false, session: null }
      this.#roster.add(member)
      this.#renewSession(member)
    }
    this.#roster.leader = leader
  }

  #joinAnew(request: JoinGroupRequest, clientId: string, answer: Answer<JoinGroupResponse>): void {
    const { groupInstanceId } = request
    const id = `${groupInstanceId ?? clientId}-${drawUuid(this.#runtime.random)}`
    const former = this.#roster.withInstance(groupInstanceId)
    if (former !== undefined) return this.#replaceStatic(former, id, request, answer)
    if (groupInstanceId !== null) return this.#add(id, request, clientId, answer)
    this.#pending.set(
      id,
      this.#runtime.timers.schedule(request.sessionTimeoutMs, () => this.#forgetPending(id)),
    )
    answer(joinError(errorCode.MEMBER_ID_REQUIRED, id))
  }

  #joinKnown(request: JoinGroupRequest, clientId: string, answer: Answer<JoinGroupResponse>): void {
    const { memberId } = request
    const pending = this.#pending.get(memberId)
    if (pending !== undefined) {
      pending[Symbol.dispose]()
      this.#pending.delete(memberId)
      return this.#add(memberId, request, clientId, answer)
    }
    const member = this.#roster.find(request)
    if (typeof member === 'number') return answer(joinError(member, memberId))
    // A repeated join may follow a lost response. Only the leader of a stable group requests a rebalance that way.
    const isLeader = memberId === this.#roster.leader
    const isRepeated = this.#state === 'CompletingRebalance' || (this.#state === 'Stable' && !isLeader)
    if (isRepeated && hasSameProtocols(member, request)) return answer(this.#joined(member))
    update(member, request, answer)
    this.#rebalanceOrCompleteJoin()
  }

  #add(id: string, request: JoinGroupRequest, clientId: string, answer: Answer<JoinGroupResponse>): void {
    const { sessionTimeoutMs, rebalanceTimeoutMs, protocols, groupInstanceId: instanceId } = request
    if (this.#roster.size === 0) this.#protocolType = request.protocolType
    const described = { id, instanceId, clientId, sessionTimeoutMs, rebalanceTimeoutMs, protocols }
    const member = { ...described, assignment: noBytes, join: answer, sync: null, isNew: true, session: null }
    this.#roster.add(member)
    this.#renewSession(member, newMemberJoinTimeoutMs)
    this.#rebalanceOrCompleteJoin()
  }

  /** A static member came back without its id. It takes the place of its former self, which is fenced from here on. */
  #replaceStatic(former: GroupMember, id: string, request: JoinGroupRequest, answer: Answer<JoinGroupResponse>): void {
    answerWaiting(former, errorCode.FENCED_INSTANCE_ID)
    former.session?.[Symbol.dispose]()
    const member: GroupMember = { ...former, id, join: null, sync: null, session: null }
    this.#roster.replace(former, member)
    if (this.#unsynced.delete(former.id)) this.#unsynced.add(id)
    update(member, request, answer)
    this.#renewSession(member)
    if (this.#state !== 'Stable' || this.#roster.selectProtocol() !== this.#protocol)
      return this.#rebalanceOrCompleteJoin()
    member.join = null
    this.#write()
    answer({ ...this.#joined(member), skipAssignment: this.#roster.leader === id })
  }

  #rebalanceOrCompleteJoin(): void {
    if (this.#state === 'PreparingRebalance') this.#completeJoinIfAllAreHere()
    else this.#prepareRebalance()
  }

  #prepareRebalance(): void {
    this.#syncTimer?.[Symbol.dispose]()
    this.#unsynced.clear()
    for (const member of this.#roster) {
      if (this.#state === 'CompletingRebalance') member.assignment = noBytes
      if (member.sync === null) continue
      member.sync(syncError(errorCode.REBALANCE_IN_PROGRESS))
      member.sync = null
      // A session that expired during the wait was not checked, and nothing else would check it.
      this.#renewSession(member)
    }
    this.#isFirstRebalance = this.#state === 'Empty'
    this.#state = 'PreparingRebalance'
    this.#waitForJoins(this.#isFirstRebalance ? 0 : this.#roster.rebalanceTimeoutMs())
    this.#completeJoinIfAllAreHere()
  }

  #waitForJoins(ms: number): void {
    this.#joinTimer?.[Symbol.dispose]()
    this.#joinTimer = awaitedTimer(this.#runtime.timers, ms, () => this.#completeJoin())
  }

  #completeJoinIfAllAreHere(): void {
    if (this.#isFirstRebalance || this.#pending.size > 0) return
    for (const { join } of this.#roster) if (join === null) return
    this.#completeJoin()
  }

  #completeJoin(): void {
    for (const member of this.#roster) if (member.join === null && member.instanceId === null) this.#drop(member)
    const joined = [...this.#roster].filter(({ join }) => join !== null)
    // Only static members, and none of them is here: their sessions decide.
    if (joined.length === 0 && this.#roster.size > 0) return this.#waitForJoins(this.#roster.rebalanceTimeoutMs())
    this.#joinTimer?.[Symbol.dispose]()
    this.#isFirstRebalance = false
    this.#generation++
    if (!joined.some(({ id }) => id === this.#roster.leader)) this.#roster.leader = joined[0]?.id ?? null
    this.#protocol = this.#roster.selectProtocol()
    this.#state = joined.length === 0 ? 'Empty' : 'CompletingRebalance'
    if (this.#state === 'Empty') this.#write()
    else this.#startGeneration()
  }

  #startGeneration(): void {
    this.#syncTimer = awaitedTimer(this.#runtime.timers, this.#roster.rebalanceTimeoutMs(), () => this.#expireSync())
    for (const member of this.#roster) {
      member.isNew = false
      this.#unsynced.add(member.id)
      this.#renewSession(member)
      member.join?.(this.#joined(member))
      member.join = null
    }
  }

  #assign(assignments: SyncGroupRequest['assignments']): void {
    const byMember = new Map(assignments.map(({ memberId, assignment }) => [memberId, assignment]))
    this.#state = 'Stable'
    for (const member of this.#roster) {
      member.assignment = byMember.get(member.id) ?? noBytes
      if (member.sync === null) continue
      this.#renewSession(member)
      member.sync({ errorCode: errorCode.NONE, assignment: member.assignment })
      member.sync = null
    }
    this.#write()
  }

  /** Members that joined and then said nothing leave the rest without assignments, or partitions without an owner. */
  #expireSync(): void {
    for (const id of this.#unsynced) this.#drop(this.#roster.get(id) as GroupMember)
    this.#prepareRebalance()
  }

  #hasSynced({ id }: GroupMember): void {
    if (this.#unsynced.delete(id) && this.#unsynced.size === 0) this.#syncTimer?.[Symbol.dispose]()
  }

  #expireSession(member: GroupMember): void {
    if (this.#roster.get(member.id) !== member) return
    const isWaiting = !member.isNew && (member.join !== null || member.sync !== null)
    if (!isWaiting) this.#remove(member)
  }

  #remove(member: GroupMember): void {
    answerWaiting(member, errorCode.UNKNOWN_MEMBER_ID)
    this.#drop(member)
    this.#rebalanceOrCompleteJoin()
  }

  #drop(member: GroupMember): void {
    member.session?.[Symbol.dispose]()
    this.#roster.remove(member)
    this.#hasSynced(member)
  }

  #forgetPending(id: string): boolean {
    const timer = this.#pending.get(id)
    if (timer === undefined) return false
    timer[Symbol.dispose]()
    this.#pending.delete(id)
    if (this.#state === 'PreparingRebalance') this.#completeJoinIfAllAreHere()
    return true
  }

  #renewSession(member: GroupMember, ms = member.sessionTimeoutMs): void {
    member.session?.[Symbol.dispose]()
    member.session = this.#runtime.timers.schedule(ms, () => this.#expireSession(member))
  }

  #write(): void {
    const members = [...this.#roster].map(({ join: _join, sync: _sync, session: _session, ...record }) => record)
    this.#written = {
      generation: this.#generation,
      protocolType: this.#protocolType,
      protocol: this.#protocol,
      leader: this.#roster.leader,
      members,
    }
  }

  #joined(member: GroupMember): JoinGroupResponse {
    const leader = this.#roster.leader ?? ''
    return {
      errorCode: errorCode.NONE,
      generationId: this.#generation,
      protocolName: this.#protocol,
      leader,
      skipAssignment: false,
      memberId: member.id,
      members: member.id === leader ? this.#roster.describe(this.#protocol) : [],
    }
  }

  #canTakePart(request: JoinGroupRequest): boolean {
    if (this.#roster.size === 0) return request.protocolType !== '' && request.protocols.length > 0
    return request.protocolType === this.#protocolType && this.#roster.canSpeakWith(request)
  }

  /** The member that a request of the current generation is from, or why it is refused. */
  #memberOfGeneration(claimed: ClaimedMember & { readonly generationId: number }): GroupMember | number {
    const member = this.#roster.find(claimed)
    if (typeof member === 'number' || claimed.generationId === this.#generation) return member
    return errorCode.ILLEGAL_GENERATION
  }
}

function update(member: GroupMember, request: JoinGroupRequest, answer: Answer<JoinGroupResponse>): void {
  member.protocols = request.protocols
  member.sessionTimeoutMs = request.sessionTimeoutMs
  member.rebalanceTimeoutMs = request.rebalanceTimeoutMs
  member.join = answer
}

function answerWaiting(member: GroupMember, code: number): void {
  member.join?.(joinError(code, member.id))
  member.sync?.(syncError(code))
  member.join = null
  member.sync = null
}
