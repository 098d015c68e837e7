/**
 * Applies a batch of events to the live table, up to the first one that cannot be applied:
 *
 *     read rows ─▶ fold ─▶ nothing changes ─▶ is it still the live build? ─▶ done, without a transaction
 *                    └────▶ BEGIN ─▶ is it still the live build? ─▶ write rows, move positions ─▶ COMMIT
 *                                          └─ no ─▶ ROLLBACK, again from the start
 *
 * Both ask after the rows were read: a table that is not live any more may be built again, and then has events that the
 * live one has not.
 *
 * Rows are read without a lock. A fold is pure, so the state of a row at a version is the same whichever consumer computed
 * it, and a write over a higher version does nothing: two consumers of the same events end with one effect.
 *
 * With positions instead of versions this is not enough, because a position says nothing about one row: there the position
 * of the partition is locked first, and rows are locked and read after it: other partitions may have events of a key too.
 */

import { StateError } from '@waybill/core'
import type { BuildPosition, ProjectionStore, ProjectionTransaction } from '@waybill/core/internal'
import { checkRows } from '../fold/check-state.ts'
import type { AnyProjectedEvent, FoldResult, FoldStop } from '../fold/fold-batch.ts'
import { foldBatch } from '../fold/fold-batch.ts'
import { type KnownBuild, liveOf } from './live-build.ts'
import { lockBeforeQuarantine, rowLocks } from './lock-rows.ts'

/** The place of a record. */
export interface RecordPlace {
  readonly topic: string
  readonly partition: number
  readonly offset: bigint
}

/** An event and its place. */
export interface PlacedEvent extends RecordPlace {
  readonly event: AnyProjectedEvent
}

/** The effect of a batch. MOVED: the live build has changed, or a quarantined key was released: nothing was applied. */
export type ApplyResult = 'MOVED' | (Omit<FoldResult, 'stop'> & { readonly stop: FoldStop | undefined })

/**
 * Applies events to a build.
 *
 * @param dead - the record behind them, if it is no event: it becomes a dead letter
 * @throws an error of the database; nothing was applied then, or COMMIT got no answer
 */
export async function applyBatch(
  store: ProjectionStore,
  live: KnownBuild,
  placed: readonly PlacedEvent[],
  dead?: RecordPlace,
): Promise<ApplyResult> {
  return live.projection.versions === 'POSITION'
    ? applyByPosition(store, live, placed)
    : applyByVersion(store, live, placed, dead)
}

async function applyByVersion(
  store: ProjectionStore,
  live: KnownBuild,
  placed: readonly PlacedEvent[],
  dead: RecordPlace | undefined,
): Promise<ApplyResult> {
  const events = placed.map(({ event }) => event)
  const rows = checkRows(live.projection, await store.read(live.table, keysOf(events)))
  const result = foldBatch(live.projection, rows, events)
  if (result.rows.length === 0 && result.stop === undefined && dead === undefined) return ifLive(store, live, result)
  const behind = result.stop === undefined && dead !== undefined ? [dead] : []
  return whileLive(store, live, async (tx) => {
    await lockBeforeQuarantine(tx, live.table, result.rows, isNew(result.stop) ? [result.stop] : [])
    await tx.write(live.table, result.rows)
    const isKnown = await keepStop(tx, live, result.stop)
    if (!isKnown) return 'MOVED'
    // Past a dead letter too: another revision that becomes live may be able to read it.
    await tx.advance(live.build, positionsBehind([...handled(placed, result.stop), ...behind]))
    return result
  })
}

/**
 * Moves the positions of the live build past records of topics that only another revision reads: when that one becomes live,
 * the switch applies them.
 */
export async function passOver(
  store: ProjectionStore,
  live: KnownBuild,
  places: readonly RecordPlace[],
): Promise<'PASSED' | 'MOVED'> {
  return whileLive(store, live, async (tx) => {
    await tx.advance(live.build, positionsBehind(places))
    return 'PASSED'
  })
}

async function applyByPosition(
  store: ProjectionStore,
  live: KnownBuild,
  placed: readonly PlacedEvent[],
): Promise<ApplyResult> {
  // Most batches are new as a whole; one that was handled before needs no transaction.
  const known = await store.positions(live.build)
  if (placed.every((one) => isBehind(one, known))) return ifLive(store, live, nothingNew(placed))
  const lockRows = await rowLocks(store, live.table, keysOf(placed.map(({ event }) => event)))
  return whileLive(store, live, async (tx) => {
    const locked = await tx.lockPositions(live.build, positionsBehind(placed))
    const fresh = placed.filter((one) => !isBehind(one, locked))
    const events = fresh.map(({ event }) => event)
    const rows = checkRows(live.projection, await lockRows(tx, keysOf(events)))
    const result = foldBatch(live.projection, rows, events)
    await tx.write(live.table, result.rows)
    // Not past the event that stopped it: after a crash before its dead letter it would count as a repeat.
    await tx.advance(live.build, positionsBehind(fresh.slice(0, result.stop?.index)))
    const repeated = placed.length - fresh.length
    const stop = result.stop && { ...result.stop, index: result.stop.index + repeated }
    return { ...result, repeated, stop }
  })
}

/** Runs the work if the build is still the live one, and keeps it so until COMMIT. */
export async function whileLive<T>(
  store: ProjectionStore,
  { build }: KnownBuild,
  work: (tx: ProjectionTransaction) => Promise<T | 'MOVED'>,
): Promise<T | 'MOVED'> {
  try {
    return await store.transaction(async (tx) => {
      const live = liveOf(await tx.lock(build.projection, 'SHARED'))
      const result = live?.number === build.number ? await work(tx) : 'MOVED'
      // Thrown, because returning it would commit what was written before.
      if (result === 'MOVED') throw moved
      return result
    })
  } catch (error) {
    if (error === moved) return 'MOVED'
    throw error
  }
}

/** Returns a result that wrote nothing, if the build that it was read from is still the live one. */
async function ifLive<T>(store: ProjectionStore, { build }: KnownBuild, result: T): Promise<T | 'MOVED'> {
  const live = liveOf(await store.builds(build.projection))
  return live?.number === build.number ? result : 'MOVED'
}

const moved = new StateError('The live build or a key has changed.')

/** Records the event that stopped the batch. Returns false if the key has changed since it was read. */
async function keepStop(
  tx: ProjectionTransaction,
  { build, table }: KnownBuild,
  stop: FoldStop | undefined,
): Promise<boolean> {
  switch (stop?.reason) {
    case 'GAP':
    case 'POISON': {
      const { key, reason, expected, found } = stop
      return tx.quarantine(table, { key, reason, expected, found })
    }
    case 'QUARANTINED':
      return tx.extendQuarantine(build, stop.key, stop.found)
    case 'INPUT':
    case undefined:
      return true
  }
}

function isNew(stop: FoldStop | undefined): stop is FoldStop {
  return stop?.reason === 'GAP' || stop?.reason === 'POISON'
}

/** The events up to the one that stopped the batch: that one becomes a dead letter. */
function handled(placed: readonly PlacedEvent[], stop: FoldStop | undefined): readonly PlacedEvent[] {
  return stop === undefined ? placed : placed.slice(0, stop.index + 1)
}

function keysOf(events: readonly AnyProjectedEvent[]): string[] {
  return [...new Set(events.map(({ key }) => key))]
}

/** Returns the position behind the last event of each partition. */
export function positionsBehind(placed: readonly RecordPlace[]): BuildPosition[] {
  const positions = new Map<string, BuildPosition>()
  for (const { topic, partition, offset } of placed) {
    const name = `${topic}-${partition}`
    const known = positions.get(name)
    if (known === undefined || known.next <= offset) positions.set(name, { topic, partition, next: offset + 1n })
  }
  return [...positions.values()]
}

function isBehind({ topic, partition, offset }: PlacedEvent, positions: readonly BuildPosition[]): boolean {
  return positions.some((one) => one.topic === topic && one.partition === partition && offset < one.next)
}

function nothingNew(placed: readonly PlacedEvent[]): FoldResult {
  return { rows: [], applied: 0, repeated: placed.length, stop: undefined }
}
