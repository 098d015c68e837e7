import type { Schemas } from '@waybill/core'
import type { BuildState, ProjectionStore } from '@waybill/core/internal'
import type { Projection } from '../definition/projection.ts'
import { liveOf, tableOf } from '../projector/live-build.ts'

const droppable: ReadonlySet<BuildState> = new Set(['RETIRED', 'FAILED', 'CANCELLED'])
const droppedReason = 'dropped'

/**
 * Drops the tables that were live before, and those that no state leads back to. Returns their numbers.
 *
 * @param known - the revisions of one projection that this process has
 */
export async function dropRetired(
  store: ProjectionStore,
  known: readonly [Projection<Schemas, unknown>, ...Projection<Schemas, unknown>[]],
): Promise<readonly number[]> {
  const dropped: number[] = []
  const builds = await store.builds(known[0].name)
  const live = liveOf(builds)
  const shown = known.find(({ revision }) => revision === live?.revision)
  // A process may have ended between a switch and the change of its view.
  if (live !== undefined && shown !== undefined) await store.ensureShown(tableOf(shown, live.number))
  for (const build of builds) {
    if (!droppable.has(build.state) || build.reason === droppedReason) continue
    // First, so that no roll-back picks a table that is being dropped.
    const isOurs = await store.transaction(async (tx) => {
      const locked = await tx.lock(build.projection, 'EXCLUSIVE')
      const found = locked.some(({ number, state }) => number === build.number && state === build.state)
      if (found && build.state === 'RETIRED') await tx.setState(build, 'CANCELLED')
      return found
    })
    if (!isOurs) continue
    await store.dropTable(build)
    dropped.push(build.number)
    // Last: a crash before it leaves a build that is dropped again.
    await store.transaction(async (tx) => {
      await tx.lock(build.projection, 'EXCLUSIVE')
      await tx.setState(build, 'CANCELLED', droppedReason)
    })
  }
  return dropped
}
