/** Delivers events through faults, and compares the rows with those of a quiet run. */

import assert from 'node:assert/strict'
import { noopLogger, runtimeWith, type Schemas, UnavailableError } from '@waybill/core'
import { createSeededRandom } from '@waybill/core/internal'
import type { KafkaRecord } from '@waybill/kafka'
import type { Projection } from '../definition/projection.ts'
import { createMemoryProjectionStore, type MemoryProjectionStore } from '../memory/memory-projection-store.ts'
import { createProjector } from '../projector/create-projector.ts'
import { tableOf } from '../projector/live-build.ts'
import { deliverAll } from './deliver-all.ts'

/** The chance that a step of the store fails, and that a consumer delivers records again that it has committed. */
const chances = { failure: 0.05, rewind: 0.2 }
const mostRecords = 5
const consumers = 2
const quiet = runtimeWith({ logger: noopLogger })

/** Runs one seed. @throws an AssertionError that names it */
export async function runChaos(
  projection: Projection<Schemas, unknown>,
  records: readonly KafkaRecord[],
  seed: number,
): Promise<void> {
  const calm = createMemoryProjectionStore()
  await deliverAll(createProjector(projection, { store: calm, runtime: quiet }), records)

  const random = createSeededRandom(seed)
  const store = createMemoryProjectionStore({
    // Other consumers run meanwhile, for some turns or none.
    async pause(step) {
      for (let turns = Math.floor(random() * 4); turns > 0; turns--) await Promise.resolve()
      if (random() < chances.failure) throw new UnavailableError(`The database went away at "${step}"`)
    },
  })
  const consume = async (): Promise<void> => {
    const projector = createProjector(projection, { store, runtime: quiet })
    let committed = 0
    while (committed < records.length) {
      const batch = records.slice(committed, committed + 1 + Math.floor(random() * mostRecords))
      try {
        await deliverAll(projector, batch)
        committed += batch.length
        if (random() < chances.rewind) committed = Math.floor(random() * committed)
      } catch (error) {
        if (!(error instanceof UnavailableError)) throw error
      }
    }
  }
  await Promise.all(Array.from({ length: consumers }, consume))
  assert.deepEqual(
    await rowsOf(projection, store),
    await rowsOf(projection, calm),
    `the rows after seed ${seed} are not those of a quiet run: thenHoldsUnderChaos({ firstSeed: ${seed}, seeds: 1 })`,
  )
}

async function rowsOf(projection: Projection<Schemas, unknown>, store: MemoryProjectionStore): Promise<unknown> {
  for (;;) {
    try {
      return await store.scan(tableOf(projection, 1), null, Number.MAX_SAFE_INTEGER)
    } catch (error) {
      // The store still fails now and then.
      if (!(error instanceof UnavailableError)) throw error
    }
  }
}
