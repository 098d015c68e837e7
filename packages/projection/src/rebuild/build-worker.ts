/**
 * Builds from one partition at a time, as many as its leases allow:
 *
 *     CLAIMING ──lease──▶ READING ──batch──▶ rows and position in one transaction ──▶ READING
 *         ▲                  │                          └─ fenced: another worker has the partition ─▶ CLAIMING
 *         └── nothing left ──┘
 *
 * A crash loses nothing: the position is in the transaction of the rows, and the lease expires. A batch commits only if the
 * position is where the worker read from: a switch, live events or another worker may have moved it.
 */

import { type Runtime, type Schemas, StateError } from '@waybill/core'
import {
  abortReason,
  type BuildState,
  type BuildTable,
  type ClaimedPartition,
  type ProjectionStore,
  type ProjectionTransaction,
} from '@waybill/core/internal'
import type { Projection } from '../definition/projection.ts'
import { RebuildFailedError } from '../definition/projection-errors.ts'
import { checkRows } from '../fold/check-state.ts'
import type { AnyProjectedEvent } from '../fold/fold-batch.ts'
import { rowLocks } from '../projector/lock-rows.ts'
import { addPartitions } from './add-partitions.ts'
import { type BuildStep, decodeAll, foldPast, writeStep } from './apply-build.ts'
import { type RebuildSource, type SourcePartition, type SourceRecord, samePartition } from './rebuild-source.ts'
import { RowCache } from './row-cache.ts'

/** The parts of a rebuild that its workers use. */
export interface WorkerDeps {
  readonly store: ProjectionStore
  readonly projection: Projection<Schemas, unknown>
  readonly table: BuildTable
  readonly source: RebuildSource
  readonly runtime: Runtime
  readonly owner: string
  /** The first events may be gone from the topics: they came from elsewhere. */
  readonly hasHistory: boolean
  readonly recordsPerBatch: number
  /** Waits until so many more events may be applied. */
  readonly pace: (events: number) => Promise<void>
  /** Counts keys that were quarantined. @throws RebuildFailedError for so many that the source must be incomplete */
  readonly onGaps: (gaps: BuildStep['quarantined']) => Promise<void>
  readonly onApplied: (events: number) => void
}

const leaseMs = 30_000
const idleMs = 250
/** The states in which a build is written by its workers. */
const building: ReadonlySet<BuildState> = new Set(['CATCHING_UP', 'VERIFYING', 'READY'])

/** Works until the signal aborts or the build is no longer built. @throws RebuildFailedError, or an error of the database */
export async function runWorker(deps: WorkerDeps, signal: AbortSignal): Promise<void> {
  const { store, table, owner, runtime } = deps
  let without = 0
  while (!signal.aborted) {
    const claimed = await store.claim(table, owner, leaseMs)
    const outcome = claimed === null ? 'NONE' : await readPartition(deps, claimed, signal)
    if (outcome === 'OVER') return
    without = outcome === 'READ' ? 0 : without + 1
    // Waits once no partition has anything new; the least recently leased one is claimed next.
    if (outcome !== 'NONE' && without < (await store.positions(table)).length) continue
    if (!(await isBuilding(deps))) return
    await addPartitions(store, table, deps.source)
    await sleep(runtime, idleMs, signal)
    without = 0
  }
}

/** Reads a partition to its end, then releases it. READ: it had something new. */
async function readPartition(
  deps: WorkerDeps,
  claimed: ClaimedPartition,
  signal: AbortSignal,
): Promise<'OVER' | 'READ' | 'NOTHING'> {
  const { source, recordsPerBatch, store, table } = deps
  const partition = await partitionOf(source, claimed)
  if (partition === undefined) return 'NOTHING'
  refuseCut(deps, claimed, claimed.next, partition.start)
  let held = claimed
  let at = claimed.next > partition.start ? claimed.next : partition.start
  const hasMore = at < partition.end
  if (hasMore) {
    await using reader = source.open(held, at, partition.end)
    // A new one for each lease: meanwhile another worker may have written.
    const cache = new RowCache(store, deps.projection, table)
    while (!signal.aborted && at < partition.end) {
      const records = (await reader.next(recordsPerBatch)) ?? []
      const isMissing = (records[0]?.offset ?? partition.end) > at
      if (isMissing && !(await isWhole(deps, held, at, partition.end))) return 'NOTHING'
      // Offsets without a record, such as markers of transactions, may follow the last one.
      at = (records.at(-1)?.offset ?? partition.end - 1n) + 1n
      const outcome = await applyRecords(deps, held, at, records, cache)
      if (outcome === 'OVER') return 'OVER'
      if (outcome === 'FENCED') return 'NOTHING'
      held = outcome
    }
  }
  await store.transaction((tx) => tx.advanceClaimed(table, held, held.next, 0))
  return hasMore ? 'READ' : 'NOTHING'
}

/**
 * Returns whether a log still has its end where it was, although offsets behind `at` have no record. Markers of transactions
 * leave offsets out, and so does retention while a partition is read.
 *
 * @throws RebuildFailedError if retention has removed them
 */
async function isWhole(deps: WorkerDeps, held: ClaimedPartition, at: bigint, end: bigint): Promise<boolean> {
  const now = await partitionOf(deps.source, held)
  if (now === undefined || now.end < end) return false
  refuseCut(deps, held, at, now.start)
  return true
}

async function partitionOf(source: RebuildSource, claimed: ClaimedPartition): Promise<SourcePartition | undefined> {
  return (await source.partitions()).find((one) => samePartition(one, claimed))
}

function refuseCut(
  { hasHistory }: WorkerDeps,
  { topic, partition }: ClaimedPartition,
  next: bigint,
  start: bigint,
): void {
  if (next >= start || (next === 0n && hasHistory)) return
  throw new RebuildFailedError(`${topic}-${partition} was cut at offset ${start}, and the rebuild was at ${next}`, {
    impact: 'The live table was not touched.',
    hint: 'Raise the retention, or give the rebuild an older source.',
  })
}

async function applyRecords(
  deps: WorkerDeps,
  claimed: ClaimedPartition,
  next: bigint,
  records: readonly SourceRecord[],
  cache: RowCache,
): Promise<ClaimedPartition | 'FENCED' | 'OVER'> {
  const { projection, table } = deps
  const events = await decodeAll(projection, records)
  await deps.pace(events.length)
  const keys = [...new Set(events.map(({ key }) => key))]
  if (projection.versions === 'POSITION') return applyLocked(deps, claimed, next, events, keys)
  for (;;) {
    const step = foldPast(projection, await cache.read(keys), events)
    if (step.quarantined.length > 0) await deps.onGaps(step.quarantined)
    await deps.runtime.failpoint('rebuild.batch')
    const outcome = await commitBatch(deps, claimed, next, (tx) => writeStep(tx, table, step))
    if (outcome === 'STALE') cache.clear()
    else if (outcome === 'COMMITTED') {
      cache.keep(step)
      deps.onApplied(step.applied)
      return { ...claimed, next }
    } else return outcome
  }
}

/** Without versions, a row says nothing about the events of another partition: it is read under its lock. */
async function applyLocked(
  deps: WorkerDeps,
  claimed: ClaimedPartition,
  next: bigint,
  events: readonly AnyProjectedEvent[],
  keys: readonly string[],
): Promise<ClaimedPartition | 'FENCED' | 'OVER'> {
  const { projection, store, table } = deps
  let applied = 0
  const lockRows = await rowLocks(store, table, keys)
  await deps.runtime.failpoint('rebuild.batch')
  const outcome = await commitBatch(deps, claimed, next, async (tx) => {
    const step = foldPast(projection, checkRows(projection, await lockRows(tx, keys)), events)
    applied = step.applied
    return writeStep(tx, table, step)
  })
  if (outcome === 'STALE') throw new StateError('A row by position was quarantined.')
  if (outcome !== 'COMMITTED') return outcome
  deps.onApplied(applied)
  return { ...claimed, next }
}

async function commitBatch(
  { store, table }: WorkerDeps,
  claimed: ClaimedPartition,
  next: bigint,
  work: (tx: ProjectionTransaction) => Promise<boolean>,
): Promise<'COMMITTED' | 'FENCED' | 'OVER' | 'STALE'> {
  try {
    await store.transaction(async (tx) => {
      const builds = await tx.lock(table.projection, 'SHARED')
      const state = builds.find(({ number }) => number === table.number)?.state
      if (state === undefined || !building.has(state)) throw over
      if (!(await tx.advanceClaimed(table, claimed, next, leaseMs))) throw fenced
      if (!(await work(tx))) throw stale
    })
    return 'COMMITTED'
  } catch (error) {
    if (error === over) return 'OVER'
    if (error === fenced) return 'FENCED'
    if (error === stale) return 'STALE'
    throw error
  }
}

const over = new StateError('The build is over.')
const fenced = new StateError('Another worker has the partition.')
const stale = new StateError('Another writer has changed a row.')

async function isBuilding({ store, table }: WorkerDeps): Promise<boolean> {
  const builds = await store.builds(table.projection)
  return builds.some(({ number, state }) => number === table.number && building.has(state))
}

async function sleep({ timers }: Runtime, ms: number, signal: AbortSignal): Promise<void> {
  try {
    await timers.sleep(ms, signal)
  } catch (error) {
    if (!signal.aborted) throw error
    void abortReason(signal)
  }
}
