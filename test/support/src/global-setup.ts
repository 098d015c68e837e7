import { systemClock } from '@waybill/core/internal'
import { reasonOf, type ServiceName, serviceNames } from '@waybill/services'
import type { TestProject } from 'vitest/node'
import { findServices } from './find-services.ts'
import { isStalePlace } from './place/place-name.ts'
import { loadPlaceKind } from './place/places.ts'

/** Finds the real services of a run, and deletes from them what killed runs left behind. */
export default async function setUp(project: TestProject): Promise<() => Promise<void>> {
  const run = await findServices()
  await Promise.all(
    serviceNames.map(async (name) => {
      const { shared } = run.services[name]
      if (shared.state === 'PRESENT') await sweep(name, shared.url)
    }),
  )
  project.provide('services', run.services)
  return async () => run[Symbol.asyncDispose]()
}

/** Deletes stale places. A failure is printed, and does not stop the run. */
async function sweep(name: ServiceName, url: string): Promise<void> {
  const now = systemClock.now()
  try {
    const kind = await loadPlaceKind(name)
    await kind.sweep(url, (place) => isStalePlace(place, now))
  } catch (error) {
    process.stderr.write(`Stale test places on ${name} could not be deleted: ${reasonOf(error)}\n`)
  }
}
