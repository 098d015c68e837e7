/**
 * The tables of an outbox as a database has them: rows with a status and a lock, and leases of shards. Every statement is
 * one synchronous step, so it happens as a whole or not at all; when it happens is the server's affair.
 *
 * Observers see each change before the next statement, with the row as it is now and as it was.
 */

import type { EventEnvelope } from '@waybill/core'
import { type DeadEvent, type OutboxBacklog } from '@waybill/outbox'
import {
  type BlockerQuery,
  type BlockingEvent,
  type DeadFilter,
  type DeadKey,
  type DeadKeyQuery,
  type DeadQuery,
  type DeadRow,
  type EarlierPart,
  type EarlierRow,
  type FailedRow,
  type InsertOptions,
  keyOf,
  keyText,
  type LeaseFence,
  type LeaseToken,
  type OpenNumbers,
  type OutboxEvent,
  type PendingQuery,
  type PendingRow,
  type PurgeRequest,
  type RowLease,
  type RowRef,
  type RowStatus,
  type ShardRow,
  type ShardsQuery,
  shardOf,
  storableError,
  type WhenDone,
} from '@waybill/outbox/internal'
import {
  asRead,
  inTurns,
  isAbove,
  isLockedBy,
  isPending,
  lock,
  type RowWitness,
  type SimOutboxRow,
  takeWithin,
} from './sim-outbox-row.ts'
import { asBlocking, asFound } from './sim-outbox-view.ts'
import { type SimShard, SimShardLeases } from './sim-shard-leases.ts'

/** See the file's comment. */
export class SimOutboxTable {
  /** By sequence number, rows of open transactions included. */
  readonly rows: SimOutboxRow[] = []
  /** By shard, those whose time is over included. */
  readonly shards: Map<number, SimShard> = new Map()
  readonly leases: SimShardLeases
  readonly #now: () => number
  readonly #witness: RowWitness
  #nextSeq = 1n
  #highestCommitted = 0n
  #life = 1

  /** @param now - the database's clock */
  constructor(now: () => number, witness: RowWitness = () => {}) {
    this.#now = now
    this.leases = new SimShardLeases(this.shards, now)
    this.#witness = witness
  }

  /** The row of an event that is committed. */
  find(eventId: string): SimOutboxRow | undefined {
    return this.rows.find((row) => row.isCommitted && row.event.eventId === eventId)
  }

  /** Whether there is a row with this number that is committed. */
  has(seq: bigint): boolean {
    return this.rows.some((row) => row.seq === seq && row.isCommitted)
  }

  /** Numbers are given here, and seen by others only from {@link commit} on: in whatever order transactions end. */
  insert(events: readonly EventEnvelope[], { lease, availableAt }: InsertOptions): SimOutboxRow[] {
    const now = this.#now()
    return events.map((event) => {
      const row: SimOutboxRow = {
        seq: this.#nextSeq++,
        event,
        shard: shardOf(event),
        createdAt: now,
        status: availableAt !== null && availableAt > now ? 'RETRY' : 'NEW',
        attempts: 0,
        availableAt: availableAt ?? now,
        doneAt: null,
        lastError: null,
        failureType: null,
        lockedBy: lease?.owner ?? null,
        lockedAt: now,
        lockedUntil: now + (lease?.timeoutMs ?? 0),
        version: lease?.version ?? 0n,
        isCommitted: false,
        isBroken: false,
      }
      this.rows.push(row)
      return row
    })
  }

  commit(rows: Iterable<SimOutboxRow>): void {
    for (const row of rows) {
      row.isCommitted = true
      if (row.seq > this.#highestCommitted) this.#highestCommitted = row.seq
      this.#witness(row, { kind: 'COMMITTED' })
    }
  }

  /** Simulates a fail-over: the new server reuses the numbers that were not committed. */
  failOver(): void {
    this.#life++
    this.#nextSeq = this.#highestCommitted + 1n
  }

  rollBack(rows: Iterable<SimOutboxRow>): void {
    for (const row of rows) {
      this.#delete(row)
      this.#witness(row, { kind: 'ROLLED_BACK' })
    }
  }

  pollPending(query: PendingQuery): PendingRow[] {
    return takeWithin(this.#due(query).slice(0, query.limit), query.maxBytes).map(asRead)
  }

  findPending(seqs: readonly bigint[]): Map<bigint, string> {
    const wanted = new Set(seqs)
    const found = this.rows.filter((row) => wanted.has(row.seq) && row.isCommitted && isPending(row))
    return new Map(found.map(({ seq, event }) => [seq, event.eventId]))
  }

  /** @param isSkipped - whether another transaction has locked the row */
  claimPending(lease: RowLease, query: PendingQuery, isSkipped: (seq: bigint) => boolean = () => false): PendingRow[] {
    const now = this.#now()
    const claimable = this.#due(query)
      .filter(({ seq }) => !isSkipped(seq))
      .filter((row) => row.lockedBy === null || row.lockedUntil <= now || isLockedBy(row, lease))
      .slice(0, query.limit)
    const taken = takeWithin(claimable, query.maxBytes)
    for (const row of taken) {
      const former = row.lockedBy === null ? null : { owner: row.lockedBy, version: row.version }
      const formerAt = row.lockedAt
      lock(row, lease, now)
      this.#witness(row, { kind: 'CLAIMED', former, formerAt, lease })
    }
    return taken.map(asRead)
  }

  renew(rows: readonly RowRef[], lease: RowLease): bigint[] {
    const held = this.#named(rows).filter((row) => isLockedBy(row, lease))
    for (const row of held) row.lockedUntil = this.#now() + lease.timeoutMs
    return held.map(({ seq }) => seq)
  }

  release(rows: readonly RowRef[], lease: LeaseToken): bigint[] {
    const held = this.#named(rows).filter((row) => isLockedBy(row, lease))
    for (const row of held) row.lockedBy = null
    return held.map(({ seq }) => seq)
  }

  markDone(rows: readonly RowRef[], fence: LeaseFence, whenDone: WhenDone): bigint[] {
    return this.#finish(rows, fence, (row) => {
      row.status = 'DONE'
      row.doneAt = this.#now()
      if (whenDone === 'DELETE') this.#delete(row)
    })
  }

  markRetry(rows: readonly FailedRow[], fence: LeaseFence): bigint[] {
    const failed = new Map(rows.map((row) => [row.seq, row]))
    return this.#finish(rows, fence, (row) => {
      const { attempts, delayMs, error, failureType = null } = failed.get(row.seq) as FailedRow
      row.status = 'RETRY'
      row.availableAt = this.#now() + delayMs
      row.lastError = storableError(error)
      row.failureType = failureType
      row.attempts = attempts
    })
  }

  markDead(rows: readonly DeadRow[], fence: LeaseFence): bigint[] {
    const dead = new Map(rows.map((row) => [row.seq, row]))
    return this.#finish(rows, fence, (row) => {
      const { error, failureType = null } = dead.get(row.seq) as DeadRow
      row.status = 'DEAD'
      row.doneAt = this.#now()
      row.lastError = storableError(error)
      row.failureType = failureType
      row.attempts++
    })
  }

  statusOf(eventIds: readonly string[]): Map<string, RowStatus> {
    const wanted = new Set(eventIds)
    const found = this.rows.filter(({ isCommitted, event }) => isCommitted && wanted.has(event.eventId))
    return new Map(found.map(({ event, status }) => [event.eventId, status]))
  }

  backlog(countUpTo: number): OutboxBacklog {
    const pending = this.rows.filter((row) => row.isCommitted && isPending(row))
    const dead = this.#dead({}).length
    const now = this.#now()
    const retrying = pending.filter(({ attempts }) => attempts > 0).length
    const ageBy = (instant: (row: SimOutboxRow) => number): number =>
      now - pending.reduce((at, row) => Math.min(at, instant(row)), now)
    return {
      pending: Math.min(countUpTo, pending.length),
      retrying: Math.min(countUpTo, retrying),
      dead: Math.min(countUpTo, dead),
      more: pending.length > countUpTo || dead > countUpTo,
      oldestAgeMs: ageBy(pendingSince),
      overdueMs: ageBy(dueAt),
    }
  }

  queryDead({ after, limit, ...filter }: DeadQuery): DeadEvent[] {
    return this.#dead(filter)
      .filter(({ seq }) => after === undefined || seq > after)
      .slice(0, limit)
      .map((row) => ({
        seq: row.seq,
        eventId: row.event.eventId,
        attempts: row.attempts,
        event: row.isBroken ? null : row.event,
        lastError: row.lastError,
        failureType: row.failureType,
        diedAt: row.doneAt,
      }))
  }

  countDead(filter: DeadFilter): number {
    return this.#dead(filter).length
  }

  replayDead(eventIds: readonly string[]): number {
    const dead = this.#dead({}).filter(({ event }) => eventIds.includes(event.eventId))
    for (const row of dead) {
      row.status = 'NEW'
      row.attempts = 0
      row.availableAt = this.#now()
      row.doneAt = null
      row.lastError = null
      row.failureType = null
      row.lockedBy = null
      this.#witness(row, { kind: 'REPLAYED' })
    }
    return dead.length
  }

  deleteDead(eventIds: readonly string[]): number {
    const dead = this.#dead({ eventIds })
    for (const row of dead) {
      this.#delete(row)
      this.#witness(row, { kind: 'PURGED' })
    }
    return dead.length
  }

  findEvent(eventId: string): OutboxEvent | undefined {
    const row = this.rows.find(({ isCommitted, event }) => isCommitted && event.eventId === eventId)
    return row === undefined ? undefined : asFound(row)
  }

  blockers({ limit, countUpTo }: BlockerQuery): BlockingEvent[] {
    const failed = this.rows.filter(
      ({ isCommitted, status, lastError }) =>
        isCommitted && lastError !== null && (status === 'RETRY' || status === 'DEAD'),
    )
    return failed.flatMap((row) => asBlocking(row, this.rows, countUpTo)).slice(0, limit)
  }

  purge(purge: PurgeRequest): number {
    const before = this.#now() - purge.olderThanMs
    const isOver = (row: SimOutboxRow): boolean =>
      purge.kind === 'AGE'
        ? row.createdAt < before
        : row.status === purge.status && (row.doneAt ?? row.createdAt) < before
    const old = this.rows.filter((row) => row.isCommitted && isOver(row)).slice(0, purge.limit)
    for (const row of old) {
      this.#delete(row)
      this.#witness(row, { kind: 'PURGED' })
    }
    return old.length
  }

  readShards({ shards, limit, maxBytes }: ShardsQuery): ShardRow[] {
    const now = this.#now()
    const groups = shards.map(({ shard, floor, without }) => {
      const held = new Set(without.map(keyText))
      const isWanted = (row: SimOutboxRow): boolean => {
        if (row.shard !== shard || !row.isCommitted || !isPending(row) || !isAbove(row, floor)) return false
        const key = keyOf(row.event)
        return key === null ? row.availableAt <= now : !held.has(keyText(key))
      }
      return this.rows.filter(isWanted).slice(0, limit)
    })
    const taken = new Set(takeWithin(inTurns(groups), maxBytes))
    return groups.flat().flatMap((row) =>
      taken.has(row)
        ? [
            {
              ...asRead(row),
              shard: row.shard,
              key: keyOf(row.event),
              dueInMs: Math.max(0, row.availableAt - now),
            },
          ]
        : [],
    )
  }

  earlierRows(parts: readonly EarlierPart[]): EarlierRow[] {
    return parts.flatMap(({ shard, above, upTo, keys, except }) => {
      const wanted = new Set(keys.map(keyText))
      const first = this.rows.find((row) => {
        const key = keyOf(row.event)
        if (row.shard !== shard || !isAbove(row, above) || row.seq > upTo || !row.isCommitted || !isPending(row))
          return false
        return key !== null && wanted.has(keyText(key)) && !except.includes(row.seq)
      })
      return first === undefined ? [] : [{ shard, seq: first.seq }]
    })
  }

  /** Each row that is not committed stands for its transaction. */
  openNumbers(): OpenNumbers {
    const server = String(this.#life)
    const open = this.rows.filter(({ isCommitted }) => !isCommitted)
    return { given: this.#nextSeq - 1n, writers: open.map(({ seq }) => `${server}/${seq}`), server }
  }

  deadKeys({ shards, limit }: DeadKeyQuery): DeadKey[] {
    const first = new Map<string, DeadKey>()
    for (const { event, shard, seq } of this.#dead({})) {
      const key = keyOf(event)
      if (key === null || !shards.includes(shard) || first.has(keyText(key))) continue
      first.set(keyText(key), { shard, key, seq })
    }
    return [...first.values()]
      .toSorted((one, other) => one.shard - other.shard || Number(one.seq - other.seq))
      .slice(0, limit)
  }

  #due({ status, skipRecentMs, floor, shards }: PendingQuery): SimOutboxRow[] {
    const now = this.#now()
    return this.rows.filter(
      (row) =>
        row.isCommitted &&
        row.status === status &&
        row.availableAt <= now &&
        row.createdAt <= now - skipRecentMs &&
        isAbove(row, floor) &&
        (shards === null || shards.includes(row.shard)),
    )
  }

  /** The pending rows with these numbers, as far as they are of these events. */
  #named(rows: readonly RowRef[]): SimOutboxRow[] {
    const eventIds = new Map(rows.map(({ seq, eventId }) => [seq, eventId]))
    return this.rows.filter((row) => eventIds.get(row.seq) === row.event.eventId && row.isCommitted && isPending(row))
  }

  #finish(named: readonly RowRef[], fence: LeaseFence, change: (row: SimOutboxRow) => void): bigint[] {
    const rows = this.#named(named).filter((row) => this.#passes(fence, row))
    for (const row of rows) {
      const { status: former, lockedBy } = row
      row.lockedBy = null
      change(row)
      this.#witness(row, { kind: 'FINISHED', former, fence, lockedBy })
    }
    return rows.map(({ seq }) => seq)
  }

  #passes(fence: LeaseFence, row: SimOutboxRow): boolean {
    if (fence.kind === 'NONE') return true
    if (fence.kind === 'LEASE') return isLockedBy(row, fence)
    if (fence.kind === 'TABLE') return this.leases.isLatest(fence.lease)
    return fence.leases.some((lease) => lease.shard === row.shard && this.leases.holds(lease))
  }

  #dead({ eventIds, eventType, aggregateType, diedUntil }: DeadFilter): SimOutboxRow[] {
    return this.rows.filter(
      ({ status, event, doneAt }) =>
        status === 'DEAD' &&
        (diedUntil === undefined || (doneAt ?? 0) <= diedUntil) &&
        (eventIds === undefined || eventIds.includes(event.eventId)) &&
        (eventType === undefined || event.eventType === eventType) &&
        (aggregateType === undefined || event.aggregateType === aggregateType),
    )
  }

  #delete(row: SimOutboxRow): void {
    const at = this.rows.indexOf(row)
    if (at >= 0) this.rows.splice(at, 1)
  }
}

/** When a row began to be late: an event written for a later time has no error before its time. */
function pendingSince({ status, lastError, availableAt, createdAt }: SimOutboxRow): number {
  return status === 'RETRY' && lastError === null ? availableAt : createdAt
}

function dueAt({ status, availableAt, createdAt }: SimOutboxRow): number {
  return status === 'RETRY' ? availableAt : createdAt
}
