import { DatabaseSync } from 'node:sqlite'
import { createMemoryDeadLetterIndex, type DeadLetterIndex } from '@waybill/core/internal'
import { createDeadLetterIndex, fromSqlite, migrate } from '@waybill/sql'
import { describe, expect, test } from 'vitest'
import { type AdminWorld, adminWorld } from '../support/admin-world.ts'
import { buryLetters } from '../triage/bury-letters.ts'

const letters = '/eventbus/dead-letters'

async function inDatabase(): Promise<DeadLetterIndex> {
  const database = fromSqlite(new DatabaseSync(':memory:'))
  await migrate(database, { tables: { outbox: false, inbox: false, admin: 'waybill' } })
  return createDeadLetterIndex(database)
}

/** Creates an operation and returns it once it has ended. */
async function ended(
  { ask, eventually }: AdminWorld,
  body: object,
): Promise<{ readonly state: string; readonly progress: object }> {
  const created = await ask('POST', '/eventbus/operations', { body })
  expect(created.status).toBe(202)
  let operation = created.body
  await eventually(async () => {
    operation = (await ask('GET', `/eventbus/operations/${created.body.id}`)).body
    expect(operation.state).not.toBe('RUNNING')
  })
  return operation
}

describe.each([
  ['in memory', async () => createMemoryDeadLetterIndex()],
  ['in a database', inDatabase],
] as const)('an index of dead letters %s', (_where, open) => {
  test('is filled again from the topics, and keeps what is known of states', async () => {
    const deadLetters = await open()
    await adminWorld({ admin: { deadLetters } }, async (world) => {
      const [newest = ''] = await buryLetters(world, ['a1', 'a2', 'b1'])
      const replay = { type: 'REPLAY', binding: 'shipping', ids: [newest] }
      expect(await ended(world, replay)).toMatchObject({ state: 'DONE' })
      const [topic = '', partition, offset] = newest.split(':')
      const ref = { cluster: 'default', topic, partition: Number(partition), offset: BigInt(offset ?? 0) }
      const known = await deadLetters.get(ref)
      expect(known?.state).not.toBe('OPEN')
      // A row that was damaged: its facts come from the record.
      await deadLetters.put([{ ...(known as NonNullable<typeof known>), exception: 'Damaged' }], [])
      const rebuilt = await ended(world, { type: 'INDEX_REBUILD', binding: 'shipping', reason: 'INC-1' })
      expect(rebuilt).toMatchObject({ state: 'DONE', progress: { refused: {}, sent: '0' } })
      expect(await deadLetters.get(ref)).toMatchObject({ exception: 'NonRetryableError', state: known?.state })
      const groups = await world.ask('GET', `${letters}/facets?by=exception`)
      expect(groups.body.facets.exception.values.map(({ value }: { value: string }) => value)).toEqual([
        'NonRetryableError',
      ])
    })
  })

  test('forgets what was purged at once', async () => {
    const deadLetters = await open()
    await adminWorld({ admin: { deadLetters } }, async (world) => {
      await buryLetters(world, ['a1', 'a2', 'b1'])
      const purged = await world.ask('DELETE', '/eventbus/bindings/shipping/dlt?olderThan=PT0S', {
        headers: { 'waybill-reason': 'INC-1' },
      })
      expect(purged.body).toMatchObject({ purged: '3' })
      expect((await world.ask('GET', letters)).body).toMatchObject({ items: [], total: { count: '0' } })
    })
  })
})

test('a rebuild of the index is planned with the number of its records, and needs dlt:triage', () =>
  adminWorld({ access: { ben: { 'dlt:triage': ['mail'], 'bindings:read': true } } }, async (world) => {
    await buryLetters(world, ['a1', 'a2'])
    const body = { type: 'INDEX_REBUILD', binding: 'shipping' }
    const planned = await world.ask('POST', '/eventbus/operations?dryRun=true', { body })
    expect(planned).toMatchObject({ status: 201, body: { state: 'PLANNED', plan: { scanned: '2' } } })
    expect(await world.ask('POST', '/eventbus/operations', { by: 'ben', body })).toMatchObject({ status: 403 })
    expect(await world.ask('POST', '/eventbus/operations', { body: { ...body, filter: {} } })).toMatchObject({
      status: 400,
      body: { violations: [{ path: 'filter', message: 'is no key of INDEX_REBUILD' }] },
    })
    expect(await world.ask('POST', '/eventbus/operations', { body: { type: 'INDEX_REBUILD' } })).toMatchObject({
      status: 400,
    })
  }))
