import type { EventEnvelope } from '@waybill/core'
import type { SqlConnection } from '@waybill/core/internal'
import { type DeadEvent, type OutboxBacklog, type OutboxStore } from '@waybill/outbox'
import {
  type BlockerQuery,
  type BlockingEvent,
  checkOwner,
  type DeadFilter,
  type DeadKey,
  type DeadKeyQuery,
  type DeadQuery,
  type DeadRow,
  type EarlierPart,
  type EarlierRow,
  type EventKey,
  type FailedRow,
  type InsertedRows,
  type InsertOptions,
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
  rowStatusCode,
  type ShardLease,
  type ShardRow,
  type ShardsQuery,
  splitError,
  type WhenDone,
} from '@waybill/outbox/internal'
import { insertChunks } from './insert-chunks.ts'
import { loadLarge } from './load-large.ts'
import { decodeDeadEvent, decodeLease, decodeRow, decodeShardRow, keyIn, type Row, seqOf } from './row/row-codec.ts'
import { toStorable } from './row/storable-event.ts'
import { type Render, run, type StoreContext } from './row/store-context.ts'
import type { RowSteps } from './row-steps.ts'
import { bySeq, byValue } from './seq-order.ts'
import { countDead, deadKeys, deleteDead, queryDead, replayDead } from './statement/dead-rows.ts'
import { earlierRows } from './statement/earlier-rows.ts'
import { inlineBytes, inTurns, takeWithin } from './statement/measured-rows.ts'
import { decodeOpenNumbers, openNumbers, rethrowHidden } from './statement/open-numbers.ts'
import { backlog, existing, statusOf } from './statement/overview.ts'
import { findPending, pollPending } from './statement/pending-rows.ts'
import { readShards } from './statement/read-shards.ts'
import {
  deadChange,
  doneChange,
  type RowChange,
  releaseChange,
  renewChange,
  retryChange,
} from './statement/row-change.ts'
import { releaseShards, shardOwners } from './statement/shard-lease.ts'
import { countBehind, failedRows, findEvent } from './statement/single-rows.ts'

/** The outbox store of a SQL database. It has no state except names: connections and time belong to the callers. */
export class SqlOutboxStore implements OutboxStore {
  readonly #context: StoreContext
  readonly #steps: RowSteps

  constructor(context: StoreContext, steps: RowSteps) {
    this.#context = context
    this.#steps = steps
  }

  async insertNew(
    connection: SqlConnection,
    events: readonly EventEnvelope[],
    options: InsertOptions,
  ): Promise<InsertedRows> {
    if (options.lease !== null) checkOwner(options.lease.owner)
    const rows = events.map((event) => toStorable(event, this.#context.codec))
    const seqs: bigint[] = []
    let areBoundToCommit = true
    for (const chunk of insertChunks(rows)) {
      const inserted = await this.#steps.insert(connection, chunk, options)
      seqs.push(...inserted.seqs)
      areBoundToCommit &&= inserted.areBoundToCommit
    }
    return { seqs, areBoundToCommit }
  }

  async findPending(connection: SqlConnection, seqs: readonly bigint[]): Promise<Map<bigint, string>> {
    if (seqs.length === 0) return new Map()
    const rows = await this.#rows(connection, findPending(this.#context, seqs))
    return new Map(rows.map((row) => [seqOf(row), String(row['event_id'])]))
  }

  async pollPending(connection: SqlConnection, query: PendingQuery): Promise<PendingRow[]> {
    const most = inlineBytes(query)
    const found = await this.#rows(connection, pollPending(this.#context, query, most))
    const rows = await loadLarge(connection, this.#context, takeWithin(found, query.maxBytes), most)
    return rows.map((row) => decodeRow(row, this.#context.codec)).toSorted(bySeq)
  }

  async claimPending(connection: SqlConnection, lease: RowLease, query: PendingQuery): Promise<PendingRow[]> {
    checkOwner(lease.owner)
    const rows = await this.#steps.claim(connection, lease, query)
    return rows.map((row) => decodeRow(row, this.#context.codec)).toSorted(bySeq)
  }

  renew(connection: SqlConnection, rows: readonly RowRef[], lease: RowLease): Promise<bigint[]> {
    return this.#change(connection, renewChange(this.#context, rows, lease))
  }

  release(connection: SqlConnection, rows: readonly RowRef[], lease: LeaseToken): Promise<bigint[]> {
    return this.#change(connection, releaseChange(this.#context, rows, lease))
  }

  markDone(
    connection: SqlConnection,
    rows: readonly RowRef[],
    fence: LeaseFence,
    { whenDone }: { readonly whenDone: WhenDone },
  ): Promise<bigint[]> {
    return this.#change(connection, doneChange(this.#context, rows, fence, whenDone))
  }

  markRetry(connection: SqlConnection, rows: readonly FailedRow[], fence: LeaseFence): Promise<bigint[]> {
    return this.#change(connection, retryChange(this.#context, rows, fence))
  }

  markDead(connection: SqlConnection, rows: readonly DeadRow[], fence: LeaseFence): Promise<bigint[]> {
    return this.#change(connection, deadChange(this.#context, rows, fence))
  }

  async lockedRows(connection: SqlConnection, rows: readonly RowRef[]): Promise<ReadonlySet<bigint>> {
    const passed = new Set(rows.map(({ seq }) => seq))
    for (const row of await this.#steps.unlockedRows(connection, [...passed])) passed.delete(seqOf(row))
    // A row that was deleted is not found either. Counted as locked, it would be waited for without an end.
    return passed.size === 0
      ? passed
      : new Set((await this.#rows(connection, existing(this.#context, [...passed]))).map(seqOf))
  }

  async statusOf(connection: SqlConnection, eventIds: readonly string[]): Promise<Map<string, RowStatus>> {
    if (eventIds.length === 0) return new Map()
    const rows = await this.#rows(connection, statusOf(this.#context, eventIds))
    return new Map(rows.map((row) => [String(row['event_id']), statusNames.get(Number(row['status'])) as RowStatus]))
  }

  async backlog(connection: SqlConnection, { countUpTo }: { readonly countUpTo: number }): Promise<OutboxBacklog> {
    const [row] = await this.#rows(connection, backlog(this.#context, countUpTo))
    const number = (column: string): number => Number(row?.[column] ?? 0)
    const pending = number('new_rows') + number('retry_rows')
    const dead = number('dead_rows')
    return {
      pending: Math.min(pending, countUpTo),
      retrying: Math.min(number('retrying'), countUpTo),
      dead: Math.min(dead, countUpTo),
      more: pending > countUpTo || dead > countUpTo,
      oldestAgeMs: Math.max(0, number('new_age_ms'), number('retry_age_ms')),
      overdueMs: Math.max(0, number('new_age_ms'), number('due_age_ms')),
    }
  }

  async queryDead(connection: SqlConnection, query: DeadQuery): Promise<DeadEvent[]> {
    const rows = await this.#rows(connection, queryDead(this.#context, query))
    return rows.map((row) => decodeDeadEvent(row, this.#context.codec))
  }

  async countDead(connection: SqlConnection, filter: DeadFilter): Promise<number> {
    const [row] = await this.#rows(connection, countDead(this.#context, filter))
    return Number(row?.['dead'])
  }

  async replayDead(connection: SqlConnection, eventIds: readonly string[]): Promise<number> {
    if (eventIds.length === 0) return 0
    const { changed } = await run(connection, this.#context.grammar, replayDead(this.#context, eventIds))
    return changed
  }

  async deleteDead(connection: SqlConnection, eventIds: readonly string[]): Promise<number> {
    if (eventIds.length === 0) return 0
    const { changed } = await run(connection, this.#context.grammar, deleteDead(this.#context, eventIds))
    return changed
  }

  async find(connection: SqlConnection, eventId: string): Promise<OutboxEvent | undefined> {
    const [row] = await this.#rows(connection, findEvent(this.#context, eventId))
    if (row === undefined) return undefined
    const status = statusNames.get(Number(row['status'])) as RowStatus
    const event = decodeDeadEvent(row, this.#context.codec)
    const isOver = status === 'DONE' || status === 'DEAD'
    const diedAt = isOver ? event.diedAt : null
    return { ...event, diedAt, status, ...instantsIn(row) }
  }

  async blockers(connection: SqlConnection, { limit, countUpTo }: BlockerQuery): Promise<BlockingEvent[]> {
    const blocking: BlockingEvent[] = []
    for (const status of ['DEAD', 'RETRY'] as const)
      for (const row of await this.#rows(connection, failedRows(this.#context, status, limit))) {
        const key = keyIn(row)
        if (key === null) continue
        const seq = seqOf(row)
        const shard = Number(row['shard'])
        const [counted] = await this.#rows(connection, countBehind(this.#context, { key, seq, shard }, countUpTo))
        const behind = Number(counted?.['behind'] ?? 0)
        if (behind === 0) continue
        const { error } = splitError(String(row['last_error']))
        blocking.push({
          seq,
          eventId: String(row['event_id']),
          key,
          status,
          attempts: Number(row['attempts']),
          lastError: error,
          createdAt: instantsIn(row).createdAt,
          behind: Math.min(behind, countUpTo),
          more: behind > countUpTo,
        })
      }
    return blocking.toSorted(bySeq).slice(0, limit)
  }

  purge(connection: SqlConnection, purge: PurgeRequest): Promise<number> {
    return this.#steps.purge(connection, purge)
  }

  async takeShards(
    connection: SqlConnection,
    owner: string,
    shards: readonly number[],
    timeoutMs: number,
  ): Promise<ShardLease[]> {
    checkOwner(owner)
    if (shards.length === 0) return []
    return leasesIn(await this.#steps.takeShards(connection, { owner, shards, timeoutMs }))
  }

  async renewShards(
    connection: SqlConnection,
    leases: readonly ShardLease[],
    timeoutMs: number,
  ): Promise<ShardLease[]> {
    return leases.length === 0 ? [] : leasesIn(await this.#steps.renewShards(connection, leases, timeoutMs))
  }

  async releaseShards(connection: SqlConnection, leases: readonly ShardLease[]): Promise<void> {
    if (leases.length > 0) await run(connection, this.#context.grammar, releaseShards(this.#context, leases))
  }

  async shardOwners(connection: SqlConnection): Promise<ShardLease[]> {
    return leasesIn(await this.#rows(connection, shardOwners(this.#context)))
  }

  async readShards(connection: SqlConnection, query: ShardsQuery): Promise<ShardRow[]> {
    if (query.shards.length === 0) return []
    const most = inlineBytes(query, query.shards.length)
    const found = await this.#rows(connection, readShards(this.#context, query, most))
    const rows = await loadLarge(connection, this.#context, takeInTurns(found, query), most)
    return rows.map((row) => decodeShardRow(row, this.#context.codec)).toSorted(byShardAndSeq)
  }

  async earlierRows(connection: SqlConnection, parts: readonly EarlierPart[]): Promise<EarlierRow[]> {
    if (parts.length === 0) return []
    const rows = await this.#rows(connection, earlierRows(this.#context, parts))
    return rows.map((row) => ({ shard: Number(row['shard']), seq: seqOf(row) }))
  }

  async openNumbers(connection: SqlConnection, above: bigint): Promise<OpenNumbers | null> {
    const statement = openNumbers(this.#context, above)
    if (statement === undefined) return null
    const [row] = await this.#rows(connection, statement).catch(rethrowHidden)
    return decodeOpenNumbers(row, above)
  }

  async deadKeys(connection: SqlConnection, query: DeadKeyQuery): Promise<DeadKey[]> {
    if (query.shards.length === 0) return []
    const rows = await this.#rows(connection, deadKeys(this.#context, query))
    return rows.map((row) => ({ shard: Number(row['shard']), key: keyIn(row) as EventKey, seq: seqOf(row) }))
  }

  async #rows(connection: SqlConnection, render: Render) {
    const { rows } = await run(connection, this.#context.grammar, render)
    return rows
  }

  /** Applies a change. A change of no rows, or fenced by no shard, has no effect and is not sent. */
  async #change(connection: SqlConnection, change: RowChange): Promise<bigint[]> {
    const { seqs, fence } = change
    if (seqs.length === 0 || (fence.kind === 'SHARDS' && fence.leases.length === 0)) return []
    const changed = await this.#steps.change(connection, change)
    return changed.toSorted(byValue)
  }
}

const statusNames = new Map(Object.entries(rowStatusCode).map(([name, code]) => [code as number, name as RowStatus]))

function instantsIn(row: Row): { readonly createdAt: number; readonly availableAt: number } {
  return { createdAt: Math.round(Number(row['created_ms'])), availableAt: Math.round(Number(row['available_ms'])) }
}

function leasesIn(rows: readonly Readonly<Record<string, unknown>>[]): ShardLease[] {
  return rows.map(decodeLease).toSorted((one, other) => one.shard - other.shard)
}

/** Takes rows of several shards up to the limit of bytes. Nearly always that is all of them. */
function takeInTurns(rows: readonly Row[], { shards, maxBytes }: ShardsQuery): readonly Row[] {
  if (takeWithin(rows, maxBytes).length === rows.length) return rows
  const byShard = Map.groupBy(rows, (row) => Number(row['shard']))
  return takeWithin(inTurns(shards.map(({ shard }) => byShard.get(shard) ?? [])), maxBytes)
}

function byShardAndSeq(one: ShardRow, other: ShardRow): number {
  return one.shard - other.shard || bySeq(one, other)
}
