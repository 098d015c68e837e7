import { kinds, type ServiceName } from '@waybill/services'
import { type Availability, findServices, loadPlaceKind } from '@waybill/test-support'
import { describe, expect, inject, test } from 'vitest'

const nothing = async (name: ServiceName): Promise<Availability> => ({ state: 'ABSENT', reason: `there is no ${name}` })

describe('the services of a run', () => {
  test('have a PostgreSQL of their own where there is none, until the run ends', async ({ skip }) => {
    const { obstacle, isRequired } = inject('services').postgres
    skip(obstacle !== undefined && !isRequired, obstacle)
    await using run = await findServices({}, nothing)
    const { shared } = run.services.postgres
    if (shared.state === 'ABSENT') throw new Error(shared.reason)
    expect(shared.origin).toBe('STARTED_FOR_THIS_RUN')
    const place = (await loadPlaceKind('postgres')).create(shared.url, 'embedded')
    await place.open()
    expect((await place.pool.query('select 1 as one')).rows).toEqual([{ one: 1 }])
    await place.close()
    await run[Symbol.asyncDispose]()
    await expect(kinds.postgres.probe(shared.url)).rejects.toThrow(/ECONNREFUSED/)
  })

  test('do not replace a PostgreSQL that is named and does not answer', async () => {
    await using run = await findServices({ DATABASE_URL: 'postgres://127.0.0.1:1/x' }, nothing)
    expect(run.services.postgres.shared).toEqual({ state: 'ABSENT', reason: 'there is no postgres' })
  })

  test('are not started otherwise, and carry what is required', async () => {
    const environment = { DATABASE_URL: 'postgres://127.0.0.1:1/x', WAYBILL_REQUIRE: 'redis' }
    await using run = await findServices(environment, nothing)
    expect(run.services.kafka).toMatchObject({ shared: { state: 'ABSENT' }, isRequired: false })
    expect(run.services.mysql).toMatchObject({ shared: { state: 'ABSENT' }, isRequired: false })
    expect(run.services.redis).toMatchObject({ shared: { state: 'ABSENT' }, isRequired: true })
  })

  test('are looked for where the environment says', async () => {
    const environment = Object.fromEntries(
      Object.values(kinds).map((kind) => [kind.variable, kind.urlAt(2)]),
    ) as NodeJS.ProcessEnv
    await using run = await findServices(environment)
    for (const { shared } of Object.values(run.services))
      expect(shared).toMatchObject({ state: 'ABSENT', reason: expect.stringContaining('ECONNREFUSED') })
  })
})
