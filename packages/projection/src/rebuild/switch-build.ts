/**
 * Switches readers and writers to the table that was built, in one transaction:
 *
 *     lock the builds ─▶ no live batch is open, and none begins
 *                     ─▶ apply what the live table has and this one has not: at most a few batches
 *                     ─▶ LIVE, RETIRED, view ─▶ COMMIT
 *
 * A crash anywhere before COMMIT leaves the live table live.
 */

import { type Schemas, StateError } from '@waybill/core'
import type { BuildPosition, BuildTable, ProjectionStore, ProjectionTransaction } from '@waybill/core/internal'
import type { Projection } from '../definition/projection.ts'
import { liveOf } from '../projector/live-build.ts'
import { decodeAll, foldPast, writeStep } from './apply-build.ts'
import type { RebuildSource } from './rebuild-source.ts'

/** The most records that are applied while writers wait. */
const mostRecords = 5_000n
const recordsPerBatch = 1_000

/** Returns false if the build is too far behind to switch now. @throws StateError unless the build is READY */
export async function switchBuild(
  store: ProjectionStore,
  source: RebuildSource,
  projection: Projection<Schemas, unknown>,
  table: BuildTable,
): Promise<boolean> {
  try {
    await store.transaction((tx) => switchWithin(tx, source, projection, table))
    return true
  } catch (error) {
    if (error === behind) return false
    throw error
  }
}

const behind = new StateError('The build is too far behind the live table to switch.')

async function switchWithin(
  tx: ProjectionTransaction,
  source: RebuildSource,
  projection: Projection<Schemas, unknown>,
  table: BuildTable,
): Promise<void> {
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
    const missing = await missingRanges(tx, live, table)
    if (missing.reduce((sum, { next, from }) => sum + next - from, 0n) > mostRecords) throw behind
    for (const range of missing) await catchUpWithin(tx, source, projection, table, range)
    await tx.setState(live, 'RETIRED')
  }
  await tx.setState(table, 'LIVE')
  await tx.show(table)
}

type Range = BuildPosition & { readonly from: bigint }

/** Returns the offsets that the live table includes and the built one does not. */
async function missingRanges(
  tx: ProjectionTransaction,
  live: Pick<BuildTable, 'projection' | 'number'>,
  table: BuildTable,
): Promise<readonly Range[]> {
  const own = await tx.positions(table)
  return (await tx.positions(live)).flatMap((position) => {
    const from = own.find((one) => one.topic === position.topic && one.partition === position.partition)?.next ?? 0n
    return from < position.next ? [{ ...position, from }] : []
  })
}

async function catchUpWithin(
  tx: ProjectionTransaction,
  source: RebuildSource,
  projection: Projection<Schemas, unknown>,
  table: BuildTable,
  { topic, partition, from, next }: Range,
): Promise<void> {
  await using reader = source.open({ topic, partition }, from, next)
  for (
    let records = await reader.next(recordsPerBatch);
    records !== undefined;
    records = await reader.next(recordsPerBatch)
  ) {
    const events = await decodeAll(projection, records)
    const stored = await tx.readLocked(table, [...new Set(events.map(({ key }) => key))])
    await writeStep(tx, table, foldPast(projection, stored, events))
  }
  await tx.advance(table, [{ topic, partition, next }])
}
