/**
 * Checks every commit at the moment when the cluster accepts it.
 *
 * I1: every record below it is settled. I2: it is not behind an earlier commit, unless the same owner's earlier commit
 * was late; and it is never behind the end of what a reader may have seen. I3: the partition has no newer owner.
 */

import { decodeAssignment } from '@waybill/kafka/wire'
import type { SimCluster } from '@waybill/sim'
import type { AcceptedCommit, CommittedOffset } from '@waybill/sim/internal'
import type { Court } from './court.ts'
import type { Ledger } from './ledger.ts'
import type { LogEntry, LogJournal } from './log-journal.ts'

interface LastCommit {
  readonly offset: bigint
  readonly memberId: string
  readonly generationId: number
}

/** Dependencies of a commit checker. */
export interface CommitCheckerParts {
  readonly cluster: () => SimCluster
  readonly court: Court
  readonly ledger: Ledger
  readonly journal: (topic: string, partition: number) => LogJournal
}

/** Checks the commits of one group. */
export class CommitChecker {
  readonly #parts: CommitCheckerParts
  readonly #last = new Map<string, LastCommit>()
  /** Accepted commits, by partition. */
  readonly #counts = new Map<string, number>()
  /** For each partition: entries before this one are settled, and stay so. */
  readonly #verified = new Map<string, number>()

  constructor(parts: CommitCheckerParts) {
    this.#parts = parts
  }

  /** Returns the offset that the group has committed for a partition. */
  committed(topic: string, partition: number): bigint | undefined {
    return this.#last.get(`${topic}-${partition}`)?.offset
  }

  /** Returns how many commits of a partition were accepted so far. */
  countOf({ topic, partition }: Pick<CommittedOffset, 'topic' | 'partition'>): number {
    return this.#counts.get(`${topic}-${partition}`) ?? 0
  }

  accepted(commit: AcceptedCommit): void {
    for (const offset of commit.offsets) {
      this.#counts.set(`${offset.topic}-${offset.partition}`, this.countOf(offset) + 1)
      this.#checkSettled(offset)
      this.#checkOrder(commit, offset)
    }
    if (!commit.transactional) this.#checkOwner(commit)
  }

  /** Returns the first unsettled record; undefined when all are settled. */
  firstUnsettled(journal: LogJournal): LogEntry | undefined {
    const name = `${journal.topic}-${journal.partition}`
    const entries = journal.entries()
    let next = this.#verified.get(name) ?? 0
    for (; next < entries.length; next++) if (!this.#isDone(journal, entries[next] as LogEntry)) break
    this.#verified.set(name, next)
    return entries[next]
  }

  #isDone(journal: LogJournal, entry: LogEntry): boolean {
    if (entry.state === 'ABORTED' || !journal.isKept(entry)) return true
    return entry.state === 'COMMITTED' && this.#parts.ledger.isSettled(journal.topic, journal.partition, entry)
  }

  #checkSettled({ topic, partition, offset }: CommittedOffset): void {
    const { court } = this.#parts
    const journal = this.#parts.journal(topic, partition)
    const unsettled = this.firstUnsettled(journal)
    if (unsettled !== undefined && unsettled.offset < offset)
      court.violate(
        'I1',
        `${topic}-${partition} is committed up to ${offset}, but ${unsettled.id} at ${unsettled.offset} is ${unsettled.state === 'OPEN' ? 'undecided' : 'not settled'}`,
      )
    if (offset > journal.end) court.violate('I2', `${topic}-${partition} is committed up to ${offset}, behind its end`)
  }

  #checkOrder(commit: AcceptedCommit, { topic, partition, offset }: CommittedOffset): void {
    const { court } = this.#parts
    const { memberId, generationId, transactional } = commit
    const name = `${topic}-${partition}`
    const last = this.#last.get(name)
    this.#last.set(name, { offset, memberId, generationId })
    if (last === undefined || offset >= last.offset) return
    const isSameOwner = memberId === last.memberId && generationId === last.generationId
    if (isSameOwner && !transactional) court.reach('group: a late commit of the same owner moves an offset back')
    else
      court.violate(
        'I2',
        `${memberId} of generation ${generationId} moves ${name} back from ${last.offset}, committed by ${last.memberId} of ${last.generationId}, to ${offset}`,
      )
  }

  #checkOwner({ groupId, memberId, offsets }: AcceptedCommit): void {
    const { court } = this.#parts
    for (const other of this.#parts.cluster().group(groupId).members) {
      if (other.memberId === memberId || other.assignment.length === 0) continue
      for (const { topic, partitions } of decodeAssignment(other.assignment))
        for (const taken of offsets)
          if (taken.topic === topic && partitions.includes(taken.partition))
            court.violate(
              'I3',
              `${memberId} commits ${topic}-${taken.partition}, which is assigned to ${other.memberId}`,
            )
    }
  }
}
