/**
 * Checks one consumer against its contract from outside, by its callbacks, the records it returned, and the requests it
 * wrote to the network.
 *
 * I3: it returns records only of partitions that are owned at that moment and not being released, and only while the
 * session is surely alive; it writes a commit only for a current assignment, in the generation it was made in. I14:
 * records come without a gap, from the committed or sought position. I15: a paused partition returns no records.
 */

import type { KafkaRecord, TopicPartition } from '@waybill/kafka'
import type { OffsetCommit } from '@waybill/kafka/internal'
import { errorCode, type KafkaApi, type RequestOf, type ResponseOf } from '@waybill/kafka/wire'
import type { Court } from './court.ts'
import { idOf, indexAt, type LogEntry, type LogJournal } from './log-journal.ts'

/** Dependencies of a member checker. */
export interface MemberCheckerParts {
  readonly name: string
  readonly court: Court
  readonly sessionTimeoutMs: number
  readonly now: () => number
  readonly journal: (topic: string, partition: number) => LogJournal
  /** Returns the offset that the group has committed. */
  readonly committed: (topic: string, partition: number) => bigint | undefined
  /** False for a member that the group has dropped or replaced, whether the member knows it or not. */
  readonly isMember: (memberId: string) => boolean
}

/** An assignment as reported to the user of the consumer. */
interface Owned {
  readonly epoch: number
  isLeaving: boolean
  isPaused: boolean
  /** The next expected offset: no lower one may come, and none from here on may be skipped. */
  cursor: bigint
  soughtAt: number
}

/** A call of `commit` that has not completed. */
export interface CommitCall {
  readonly offsets: readonly OffsetCommit[]
  readonly generationId: number
}

/** Checks one consumer. */
export class MemberChecker {
  readonly #parts: MemberCheckerParts
  readonly #owned = new Map<string, Owned>()
  readonly #formerEpochs = new Map<string, number>()
  readonly #calls = new Set<CommitCall>()
  /** Committed offsets as the coordinator last reported them. */
  readonly #reported = new Map<string, bigint>()
  #memberId = ''
  #aliveAt = Number.NEGATIVE_INFINITY
  #isStopped = false
  #commitsInFlight = 0
  #beats = 0

  constructor(parts: MemberCheckerParts) {
    this.#parts = parts
  }

  /** True when the coordinator has acknowledged the member within a session, as far as the network shows. */
  get isSessionAlive(): boolean {
    return this.#parts.now() - this.#aliveAt < this.#parts.sessionTimeoutMs
  }

  /** Heartbeats that were acknowledged so far. */
  get acknowledgedBeats(): number {
    return this.#beats
  }

  /** Returns the epoch of a current assignment that is not being released. */
  epochOf(partition: TopicPartition): number | undefined {
    const owned = this.#owned.get(nameOf(partition))
    return owned === undefined || owned.isLeaving ? undefined : owned.epoch
  }

  assigned(partitions: readonly TopicPartition[], epoch: number): void {
    const { court, name } = this.#parts
    court.note(name, () => `assigned ${list(partitions)} as ${epoch}`)
    for (const { topic, partition } of partitions) {
      const key = `${topic}-${partition}`
      if (this.#owned.has(key)) court.violate('I3', `${name} is assigned ${key}, which it has already`)
      const former = this.#formerEpochs.get(key)
      if (former !== undefined && former >= epoch)
        court.violate('I3', `${name} is assigned ${key} as ${epoch} after ${former}`)
      if (former !== undefined) court.reach('group: a partition is lost and comes back to the same member')
      this.#formerEpochs.set(key, epoch)
      const cursor = this.#startOf(topic, partition)
      this.#owned.set(key, { epoch, isLeaving: false, isPaused: false, cursor, soughtAt: Number.NEGATIVE_INFINITY })
    }
  }

  /** Returns where an owner begins. A member that was replaced while frozen cannot know its successor's commits. */
  #startOf(topic: string, partition: number): bigint {
    const { journal, committed, isMember } = this.#parts
    const reported = this.#reported.get(`${topic}-${partition}`)
    const start = isMember(this.#memberId) ? committed(topic, partition) : reported
    return start ?? journal(topic, partition).start
  }

  /**
   * Marks partitions as being released. Returns a function that ends exactly these assignments if they have not ended
   * before.
   */
  revoking(partitions: readonly TopicPartition[]): () => void {
    const { court, name } = this.#parts
    court.note(name, () => `revoking ${list(partitions)}`)
    const leaving: [key: string, owned: Owned][] = []
    for (const partition of partitions) {
      const key = nameOf(partition)
      const owned = this.#owned.get(key)
      if (owned === undefined) {
        court.violate('I3', `${name} is asked for ${key}, which it does not have`)
        continue
      }
      owned.isLeaving = true
      leaving.push([key, owned])
    }
    return () => {
      court.note(name, () => `gave back ${list(partitions)}`)
      for (const [key, owned] of leaving) if (this.#owned.get(key) === owned) this.#owned.delete(key)
    }
  }

  /** Marks partitions as lost. Returns true when that happened during a drain. */
  lost(partitions: readonly TopicPartition[]): boolean {
    const { court, name } = this.#parts
    court.note(name, () => `lost ${list(partitions)}`)
    let wasLeaving = false
    for (const partition of partitions) {
      wasLeaving ||= this.#owned.get(nameOf(partition))?.isLeaving ?? false
      this.#owned.delete(nameOf(partition))
    }
    return wasLeaving
  }

  /** Marks the consumer as stopped: it must not commit anything more (I18). */
  stopped(): void {
    this.#isStopped = true
    this.#owned.clear()
  }

  paused(partition: TopicPartition, isPaused: boolean): void {
    const owned = this.#owned.get(nameOf(partition))
    if (owned !== undefined) owned.isPaused = isPaused
  }

  sought(partition: TopicPartition, offset: bigint): void {
    const { court, name } = this.#parts
    court.note(name, () => `seeks ${nameOf(partition)} to ${offset}`)
    const owned = this.#owned.get(nameOf(partition))
    if (owned === undefined) return
    owned.cursor = offset
    owned.soughtAt = this.#parts.now()
  }

  /** Records that a fetch sent at that time has returned records. */
  fetched(partition: TopicPartition, sentAt: number): void {
    const { court } = this.#parts
    const owned = this.#owned.get(nameOf(partition))
    if (owned === undefined) court.reach('fetch: an answer comes for a partition that is not owned any more')
    else if (owned.soughtAt >= sentAt) court.reach('fetch: an answer comes after a seek')
    else if (owned.isPaused) court.reach('fetch: a record of a paused partition is buffered')
  }

  handedOut(records: readonly KafkaRecord[]): void {
    if (records.length === 0) return
    const { court, name } = this.#parts
    court.note(name, () => `handed out ${records.map((record) => `${nameOf(record)}@${record.offset}`).join(' ')}`)
    if (!this.isSessionAlive)
      court.violate('I3', `${name} is handed ${records.length} records although its session may have ended`)
    for (const record of records) this.#checkRecord(record)
  }

  /** Records the start of a commit. */
  committing(call: CommitCall): void {
    const { court, name } = this.#parts
    court.note(
      name,
      () =>
        `commits in ${call.generationId}: ${call.offsets.map((one) => `${nameOf(one)}=${one.offset} (${one.epoch})`).join(' ')}`,
    )
    this.#calls.add(call)
  }

  /** Records the completion of a commit. */
  committed(call: CommitCall): void {
    this.#calls.delete(call)
  }

  /** Checks a request as it is written. */
  sending(api: KafkaApi, request: RequestOf<KafkaApi>): void {
    if (api !== 'OffsetCommit') return
    this.#commitsInFlight++
    this.#checkCommit(request as RequestOf<'OffsetCommit'>)
  }

  /** Processes a response. */
  answered(api: KafkaApi, response: ResponseOf<KafkaApi>, sentAt: number): void {
    if (api === 'OffsetCommit') this.#commitsInFlight--
    if (api === 'OffsetFetch') this.#tell(response as ResponseOf<'OffsetFetch'>)
    if (api !== 'Heartbeat' && api !== 'JoinGroup' && api !== 'SyncGroup') return
    const { errorCode: code } = response as ResponseOf<'Heartbeat'>
    if (api === 'JoinGroup' && code === errorCode.NONE) this.#memberId = (response as ResponseOf<'JoinGroup'>).memberId
    const isRebalance = code === errorCode.REBALANCE_IN_PROGRESS
    if (isRebalance && this.#commitsInFlight > 0)
      this.#parts.court.reach('group: a rebalance begins while a commit is in flight')
    if (code !== errorCode.NONE && !(api === 'Heartbeat' && isRebalance)) return
    if (api === 'Heartbeat') this.#beats++
    this.#aliveAt = Math.max(this.#aliveAt, sentAt)
  }

  unanswered(api: KafkaApi): void {
    if (api !== 'OffsetCommit') return
    this.#commitsInFlight--
    this.#parts.court.reach('group: the answer to a commit is lost')
  }

  #tell({ topics }: ResponseOf<'OffsetFetch'>): void {
    for (const { name, partitions } of topics)
      for (const { partitionIndex, committedOffset } of partitions)
        if (committedOffset >= 0n) this.#reported.set(`${name}-${partitionIndex}`, committedOffset)
        else this.#reported.delete(`${name}-${partitionIndex}`)
  }

  #checkRecord(record: KafkaRecord): void {
    const { court, name } = this.#parts
    const where = `${nameOf(record)}@${record.offset}`
    const owned = this.#owned.get(nameOf(record))
    if (owned === undefined) return court.violate('I3', `${name} is handed ${where}, which it does not own`)
    if (owned.epoch !== record.epoch)
      court.violate('I3', `${name} is handed ${where} of assignment ${record.epoch} in assignment ${owned.epoch}`)
    if (owned.isLeaving) court.violate('I3', `${name} is handed ${where}, which it is giving back`)
    if (owned.isPaused) court.violate('I15', `${name} is handed ${where}, which is paused`)
    this.#checkGap(record, owned, where)
    owned.cursor = record.offset + 1n
  }

  #checkGap(record: KafkaRecord, { cursor }: Owned, where: string): void {
    const { court, name } = this.#parts
    if (record.offset < cursor) court.violate('I14', `${name} is handed ${where}, and was already at ${cursor}`)
    const journal = this.#parts.journal(record.topic, record.partition)
    const entries = journal.upTo(record.offset + 1n)
    const index = indexAt(entries, record.offset)
    const entry = entries[index]
    if (entry === undefined || entry.offset !== record.offset || entry.id !== idOf(record.value))
      return court.violate('I14', `${name} is handed ${where}, which is not in the log`)
    if (entry.state !== 'COMMITTED')
      court.violate('I13', `${name} is handed ${where}, whose transaction is ${entry.state}`)
    for (let before = index - 1; before >= 0; before--) {
      const skipped = entries[before] as LogEntry
      if (skipped.offset < cursor) break
      if (skipped.state === 'COMMITTED' && journal.isKept(skipped))
        return court.violate(
          'I14',
          `${name} is handed ${where} without ${skipped.id} at ${skipped.offset}; it was at ${cursor}`,
        )
    }
  }

  #checkCommit({ topics, generationId }: RequestOf<'OffsetCommit'>): void {
    const { court, name } = this.#parts
    if (this.#isStopped) court.violate('I18', `${name} commits after it stopped`)
    if (!this.isSessionAlive) court.violate('I3', `${name} commits although its session may have ended`)
    for (const { name: topic, partitions } of topics) {
      for (const { partitionIndex: partition, committedOffset } of partitions) {
        const key = `${topic}-${partition}`
        const owned = this.#owned.get(key)
        if (owned === undefined) court.violate('I3', `${name} sends a commit of ${key}, which it does not own`)
        else if (!this.#isAskedFor({ topic, partition, offset: committedOffset, epoch: owned.epoch }, generationId))
          court.violate(
            'I3',
            `${name} sends a commit of ${key} in generation ${generationId} and assignment ${owned.epoch}, and no call of commit matches these`,
          )
      }
    }
  }

  #isAskedFor({ topic, partition, offset, epoch }: OffsetCommit, generationId: number): boolean {
    for (const call of this.#calls) {
      if (call.generationId !== generationId) continue
      for (const one of call.offsets)
        if (one.topic === topic && one.partition === partition && one.offset === offset && one.epoch === epoch)
          return true
    }
    return false
  }
}

function nameOf({ topic, partition }: TopicPartition): string {
  return `${topic}-${partition}`
}

function list(partitions: readonly TopicPartition[]): string {
  return partitions.map(nameOf).join(' ')
}
