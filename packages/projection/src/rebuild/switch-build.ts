/**
 * Switches readers and writers to the table that was built, in one transaction:
 *
 *     lock the builds ─▶ no live batch is open, and none begins
 *                     ─▶ apply what the live table has and this one has not: at most a few batches, for a few seconds
 *                     ─▶ no row may be behind that of the live table
 *                     ─▶ LIVE, RETIRED, view ─▶ COMMIT
 *
 * A crash anywhere before COMMIT leaves the live table live.
 */

import { type Runtime, type Schemas, StateError } from '@waybill/core'
import type {
  BuildPosition,
  BuildTable,
  ProjectionBuild,
  ProjectionStore,
  ProjectionTransaction,
} from '@waybill/core/internal'
import type { Projection } from '../definition/projection.ts'
import { checkRows } from '../fold/check-state.ts'
import { liveOf } from '../projector/live-build.ts'
import { decodeAll, foldPast, writeStep } from './apply-build.ts'
import { gapsWithin, keysBehind } from './build-gaps.ts'
import { positionsRead, type RebuildSource, samePartition, withinLog } from './rebuild-source.ts'

/** The most records that are applied while writers wait. */
const mostRecords = 5_000n
const recordsPerBatch = 1_000

/** The most time for it: a broker may not answer. */
const mostCatchUpMs = 3_000

/** The parts of a rebuild that a switch uses. */
export interface SwitchDeps {
  readonly store: ProjectionStore
  readonly source: RebuildSource
  readonly projection: Projection<Schemas, unknown>
  /** Returns the table of the live build, with its own columns. */
  readonly tableOf: (live: ProjectionBuild) => BuildTable
  /** Keys that may be behind the live table. */
  readonly mostBehind: number
  readonly runtime: Runtime
}

/** BEHIND: too many records are missing for now. GAPS: keys were quarantined in the new table since it was compared. */
export type SwitchOutcome = 'SWITCHED' | 'BEHIND' | 'GAPS'

/** Switches to a build if it includes everything that the live table does. @throws StateError unless the build is READY */
export async function switchBuild(deps: SwitchDeps, table: BuildTable): Promise<SwitchOutcome> {
  try {
    await deps.store.transaction((tx) => switchWithin(tx, deps, table))
    return 'SWITCHED'
  } catch (error) {
    if (error === behind) return 'BEHIND'
    if (error === gaps) return 'GAPS'
    throw error
  }
}

const behind = new StateError('The build is too far behind the live table to switch.')
const gaps = new StateError('Keys of the build are behind the live table.')

async function switchWithin(tx: ProjectionTransaction, deps: SwitchDeps, table: BuildTable): Promise<void> {
  const { projection, tableOf, mostBehind } = deps
  const builds = await tx.lock(projection.name, 'EXCLUSIVE')
  const own = builds.find(({ number }) => number === table.number)
  if (own?.state === 'LIVE') return
  if (own?.state !== 'READY')
    throw new StateError(
      `Build ${table.number} of projection ${projection.name} is ${own?.state ?? 'gone'}, not READY`,
      {
        impact: 'Nothing was changed.',
      },
    )
  const live = liveOf(builds)
  if (live !== undefined) {
    const endAt = deps.runtime.clock.monotonic() + mostCatchUpMs
    const missing = await missingRanges(deps, await tx.positions(live), await tx.positions(table), endAt)
    if (missing.reduce((sum, { next, from }) => sum + next - from, 0n) > mostRecords) throw behind
    for (const range of missing) await catchUpWithin(tx, deps, table, range, endAt)
    if ((await keysBehind(gapsWithin(tx), tableOf(live), table)).length > mostBehind) throw gaps
    await tx.setState(live, 'RETIRED')
  }
  await tx.setState(table, 'LIVE')
  await tx.show(table)
}

type Range = BuildPosition & { readonly from: bigint }

/** Returns the offsets that the live table includes and the built one does not, of those that the log has. */
async function missingRanges(
  { projection, source, runtime }: SwitchDeps,
  live: readonly BuildPosition[],
  own: readonly BuildPosition[],
  endAt: number,
): Promise<readonly Range[]> {
  const read = positionsRead(projection, live)
  const ranges = (positions: readonly BuildPosition[]) => positions.flatMap((one) => rangeBehind(one, own))
  // Most switches miss nothing, and need no answer of the broker.
  if (ranges(read).length === 0) return []
  return ranges(withinLog(read, await within(runtime, endAt, source.partitions())))
}

function rangeBehind(position: BuildPosition, own: readonly BuildPosition[]): readonly Range[] {
  const from = own.find((one) => samePartition(one, position))?.next ?? 0n
  return from < position.next ? [{ ...position, from }] : []
}

async function catchUpWithin(
  tx: ProjectionTransaction,
  { source, projection, runtime }: SwitchDeps,
  table: BuildTable,
  { topic, partition, from, next }: Range,
  endAt: number,
): Promise<void> {
  await using reader = source.open({ topic, partition }, from, next)
  for (let at = from; ; ) {
    const records = await within(runtime, endAt, reader.next(recordsPerBatch))
    // Markers of transactions leave offsets out, and so does retention: then a worker fails the build.
    if ((records?.[0]?.offset ?? next) > at) {
      const partitions = await within(runtime, endAt, source.partitions())
      const now = partitions.find((one) => samePartition(one, { topic, partition }))
      if (now === undefined || now.start > at || now.end < next) throw behind
    }
    if (records === undefined) break
    at = (records.at(-1)?.offset ?? at) + 1n
    const events = await decodeAll(projection, records)
    const stored = await tx.readLocked(table, [...new Set(events.map(({ key }) => key))])
    if (!(await writeStep(tx, table, foldPast(projection, checkRows(projection, stored), events)))) throw behind
  }
  await tx.advance(table, [{ topic, partition, next }])
}

/** @throws behind if the work is not done by then */
async function within<T>({ clock, timers }: Runtime, endAt: number, work: Promise<T>): Promise<T> {
  const ending = new AbortController()
  const late = timers.sleep(Math.max(0, endAt - clock.monotonic()), ending.signal).then(
    () => Promise.reject(behind),
    // Only the end of the work aborts it.
    () => work,
  )
  try {
    return await Promise.race([work, late])
  } finally {
    ending.abort()
  }
}
