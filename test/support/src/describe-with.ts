import { systemClock } from '@waybill/core/internal'
import {
  kinds,
  type PrivateService,
  type PrivateServiceOptions,
  type ServiceName,
  startPrivateService,
} from '@waybill/services'
import { afterAll, beforeAll, describe, inject } from 'vitest'
import type { ServicesInUse } from './availability.ts'
import type { Place } from './place/place.ts'
import { createPlaceName } from './place/place-name.ts'
import { loadPlaceKind, type Places } from './place/places.ts'

/**
 * Declares tests that need real services. Each service has a place of its own, created before the tests and deleted after
 * them even if they fail:
 *
 *     describeWith('kafka', 'postgres')('an outbox', ({ kafka, postgres }) => {
 *       test('…', async () => { await postgres.pool.query('…') })
 *     })
 *
 * If a service is absent, the tests are skipped and the run reports why. If WAYBILL_REQUIRE names it, they fail.
 */
export function describeWith<N extends ServiceName>(
  ...names: readonly N[]
): (title: string, define: (places: Pick<Places, N>) => void) => void {
  return (title, define) => {
    const services = inject('services')
    const absent = names.flatMap((name) => {
      const { shared, isRequired } = services[name]
      return shared.state === 'ABSENT' ? [{ name, reason: shared.reason, isRequired }] : []
    })
    describeWhere({ shared: names }, absent, title, async () => {
      const opened: Place[] = []
      const entries = await Promise.all(names.map(async (name) => [name, await createPlace(name)]))
      const places = Object.fromEntries(entries) as Places
      beforeAll(async () => {
        for (const name of names) {
          await places[name].open()
          opened.push(places[name])
        }
      })
      afterAll(() => closeAll(opened))
      define(places)
    })
  }
}

/**
 * Declares tests that stop, kill or degrade a service. The service is started for these tests alone, and stopped after them.
 *
 *     describeWithPrivate('redis')('a lost Redis', (redis) => { test('…', async () => { await redis().kill() }) })
 */
export function describeWithPrivate(
  name: ServiceName,
  options: PrivateServiceOptions = {},
): (title: string, define: (service: () => PrivateService) => void) => void {
  return (title, define) => {
    const { obstacle, isRequired } = inject('services')[name]
    // A required service is started in any case: that may download what is missing, and fails with the best reason.
    const absent = obstacle === undefined || isRequired ? [] : [{ name, reason: obstacle, isRequired }]
    describeWhere({ own: [name] }, absent, title, () => {
      let service: PrivateService | undefined
      beforeAll(async () => {
        service = await startPrivateService(name, options)
      }, startDeadlineMs)
      afterAll(() => service?.[Symbol.asyncDispose](), startDeadlineMs)
      define(() => {
        if (service === undefined) throw new Error(`The ${kinds[name].title} of these tests runs only while they run.`)
        return service
      })
    })
  }
}

/** Enough for a download and the start of three brokers on a busy machine. */
const startDeadlineMs = 300_000

interface Missing {
  readonly name: ServiceName
  readonly reason: string
  readonly isRequired: boolean
}

function describeWhere(
  use: ServicesInUse,
  missing: readonly Missing[],
  title: string,
  define: () => void | Promise<void>,
): void {
  const meta = { services: use }
  const required = missing.filter(({ isRequired }) => isRequired)
  if (missing.length === 0) describe(title, { meta }, define)
  else if (required.length === 0) describe(title, { meta, skip: true }, define)
  else
    describe(title, { meta }, async () => {
      beforeAll(() => {
        throw new Error(required.map(({ name, reason }) => `${name} is required, and absent: ${reason}`).join('; '))
      })
      await define()
    })
}

async function createPlace(name: ServiceName): Promise<Place> {
  const { shared } = inject('services')[name]
  // A place connects when it is opened, so skipped tests can be declared with any address.
  const url = shared.state === 'PRESENT' ? shared.url : kinds[name].urlAt(kinds[name].usualPort)
  const kind = await loadPlaceKind(name)
  return kind.create(url, createPlaceName(systemClock.now()))
}

/** Closes every place, even if closing another one fails. */
async function closeAll(places: readonly Place[]): Promise<void> {
  const results = await Promise.allSettled(places.map((place) => place.close()))
  const failures = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : []))
  if (failures.length === 1) throw failures[0]
  if (failures.length > 1) throw new AggregateError(failures, 'Several places could not be closed.')
}
