import type { Schemas } from '@waybill/core'
import type { BuildTable, ProjectionBuild, ProjectionStore } from '@waybill/core/internal'
import type { Projection } from '../definition/projection.ts'
import { ProjectionStateError, RevisionMismatchError } from '../definition/projection-errors.ts'

/** A build and the projection that it is for. */
export interface KnownBuild {
  readonly build: ProjectionBuild
  readonly projection: Projection<Schemas, unknown>
  readonly table: BuildTable
}

/** Returns the table of a build. */
export function tableOf(
  projection: Pick<Projection<Schemas, unknown>, 'name' | 'keyColumn' | 'columns'>,
  number: number,
): BuildTable {
  return { projection: projection.name, number, keyColumn: projection.keyColumn, columns: projection.columns }
}

/** Returns the build that is LIVE; undefined if there is none. */
export function liveOf(builds: readonly ProjectionBuild[]): ProjectionBuild | undefined {
  return builds.find(({ state }) => state === 'LIVE')
}

/**
 * Returns the projection that a build is for, among those that this process has.
 *
 * @throws RevisionMismatchError if it has none of that revision, ProjectionStateError if its columns are others
 */
export function projectionFor(
  projections: readonly Projection<Schemas, unknown>[],
  build: ProjectionBuild,
): KnownBuild {
  const projection = projections.find(({ revision }) => revision === build.revision)
  if (projection === undefined) {
    const revisions = projections.map(({ revision }) => revision)
    throw new RevisionMismatchError(build.projection, build.revision, revisions)
  }
  if (projection.fingerprint !== build.fingerprint)
    throw new ProjectionStateError(
      `Projection ${projection.name}: the live table was created for other columns or functions of revision ${build.revision}`,
      {
        impact: 'Nothing was applied. The partition waits; no event is lost.',
        hint: 'Raise the revision of the projection, and rebuild it.',
      },
    )
  return { build, projection, table: tableOf(projection, build.number) }
}

/**
 * Returns the live build of a projection. The first one is created here, with an empty table: events fill it from the
 * first offset on.
 */
export async function openLive(
  store: ProjectionStore,
  projections: readonly [Projection<Schemas, unknown>, ...Projection<Schemas, unknown>[]],
): Promise<KnownBuild> {
  const [current] = projections
  const builds = await store.builds(current.name)
  const live = liveOf(builds)
  if (live !== undefined) {
    const known = projectionFor(projections, live)
    await store.ensureShown(known.table)
    return known
  }
  const number = nextNumber(builds)
  const table = tableOf(current, number)
  await store.createTable(table)
  const created = await store.transaction(async (tx) => {
    const locked = await tx.lock(current.name, 'EXCLUSIVE')
    // Another process may have been faster.
    if (liveOf(locked) !== undefined || nextNumber(locked) !== number) return false
    const { name, revision, fingerprint } = current
    await tx.addBuild({ projection: name, number, revision, fingerprint, state: 'LIVE' })
    await tx.show(table)
    return true
  })
  if (!created) return openLive(store, projections)
  const build = liveOf(await store.builds(current.name))
  return build === undefined ? openLive(store, projections) : projectionFor(projections, build)
}

/** Returns the number of the next build. */
export function nextNumber(builds: readonly ProjectionBuild[]): number {
  return Math.max(0, ...builds.map(({ number }) => number)) + 1
}
