import { describe, expect, test } from 'vitest'
import { adminWorld } from '../support/admin-world.ts'
import { bury } from '../support/bury.ts'

describe('dead letter topics', () => {
  test('are counted', () =>
    adminWorld({}, async (world) => {
      await bury(world, ['a', 'b', 'c'])
      const { body } = await world.ask('GET', '/eventbus/bindings/shipping/dlt/stats')
      expect(body).toMatchObject({
        topics: ['orders.DLT'],
        count: 3,
        notReplayed: '3',
        complete: true,
        byException: { NonRetryableError: 3 },
        oldest: { id: expect.stringMatching(/^orders\.DLT:\d+:\d+$/), originalTopic: 'orders' },
      })
    }))

  test('are replayed as an operation that the request waits for', () =>
    adminWorld({}, async (world) => {
      await bury(world, ['a', 'b', 'c'])
      const { ask, audit } = world
      const plan = await ask('POST', '/eventbus/bindings/shipping/dlt/replay?count=2&dryRun=true')
      expect(plan).toMatchObject({ status: 200, body: { dryRun: true, available: '3' } })
      expect(audit.filter(({ operation }) => operation === 'REPLAY')).toEqual([])
      const answer = await ask('POST', '/eventbus/bindings/shipping/dlt/replay?count=2')
      expect(answer).toMatchObject({ status: 200, body: { operation: expect.stringMatching(/^op_/), replayed: 2 } })
      expect(answer.headers['location']).toBe(`/eventbus/operations/${answer.body.operation}`)
      expect(audit.filter(({ operation }) => operation === 'REPLAY').map(({ outcome }) => outcome)).toEqual([
        'ASKED',
        'DONE',
      ])
    }))

  test('are copied to a tier, if there is one', () =>
    adminWorld({}, async (world) => {
      await bury(world, ['a'])
      const { ask } = world
      expect(await ask('POST', '/eventbus/bindings/shipping/dlt/replay-to-tier?tier=9&count=1')).toMatchObject({
        status: 400,
        body: { code: 'WAYBILL_ARGUMENT_INVALID' },
      })
      expect(await ask('POST', '/eventbus/bindings/shipping/dlt/replay-to-tier?tier=1&count=1')).toMatchObject({
        status: 200,
        body: { replayed: 1 },
      })
    }))

  test('answer 202 and go on where the client does not wait', () =>
    adminWorld({}, async (world) => {
      await bury(world, ['a', 'b'])
      const answer = await world.ask('POST', '/eventbus/bindings/shipping/dlt/replay?count=2', {
        headers: { prefer: 'wait=0' },
      })
      expect(answer).toMatchObject({ status: 202, body: { state: 'RUNNING' } })
      await world.eventually(() => expect(world.audit.at(-1)).toMatchObject({ operation: 'REPLAY', outcome: 'DONE' }))
    }))

  test('of a window are planned with what a run would take, and nothing is created', () =>
    adminWorld({}, async (world) => {
      await bury(world, ['a', 'b'])
      const { ask } = world
      const url =
        '/eventbus/bindings/shipping/dlt/replay?from=1970-01-01T00:00:00Z&to=2100-01-01T00:00:00Z&target=ORIGINAL'
      const planned = { dryRun: true, operation: null }
      expect(await ask('POST', `${url}&dryRun=true`)).toMatchObject({
        status: 200,
        body: { ...planned, available: '2', skipped: {} },
      })
      const { body: stats } = await ask('GET', '/eventbus/bindings/shipping/dlt/stats')
      const replay = { type: 'REPLAY', binding: 'shipping', ids: [stats.oldest.id], abortWhen: false }
      const { body: one } = await ask('POST', '/eventbus/operations', { body: replay })
      await world.eventually(async () => {
        expect((await ask('GET', `/eventbus/operations/${one.id}`)).body.state).toBe('DONE')
      })
      const { body } = await ask('POST', `${url}&dryRun=true`)
      expect(body.skipped).toMatchObject({ NOT_OPEN: 1 })
      const empty =
        '/eventbus/bindings/shipping/dlt/replay?from=1970-01-01T00:00:00Z&to=1970-01-01T00:00:01Z&dryRun=true'
      expect((await ask('POST', empty)).body).toMatchObject({ ...planned, available: '0' })
      expect((await ask('GET', '/eventbus/operations')).body.items).toHaveLength(1)
    }))

  test('are purged by an age, never by bare digits', () =>
    adminWorld({}, async (world) => {
      await bury(world, ['a', 'b'])
      const { ask, runtime } = world
      const reason = { headers: { 'waybill-reason': 'old' } }
      expect(await ask('DELETE', '/eventbus/bindings/shipping/dlt?olderThan=604800000', reason)).toMatchObject({
        status: 400,
      })
      await runtime.timers.sleep(3_600_000)
      const url = '/eventbus/bindings/shipping/dlt?olderThan=PT30M'
      expect(await ask('DELETE', url)).toMatchObject({ status: 428 })
      expect(await ask('DELETE', `${url}&dryRun=true`, reason)).toMatchObject({
        status: 200,
        body: { purged: '2', dryRun: true },
      })
      expect(await ask('DELETE', url, reason)).toMatchObject({ status: 200, body: { purged: '2', notReplayed: '2' } })
      const { body } = await ask('GET', '/eventbus/bindings/shipping/dlt/stats', {
        headers: { 'cache-control': 'no-cache' },
      })
      expect(body.count).toBe(0)
    }))

  test.each([
    '',
    '?from=2026-01-01T00:00:00Z',
    '?count=0',
    '?count=1e3',
    '?count=9007199254740993',
    '?from=5&to=5',
    '?count=1&count=2',
  ])('refuse the selection "%s"', (query) =>
    adminWorld({}, async ({ ask }) => {
      expect(await ask('POST', `/eventbus/bindings/shipping/dlt/replay${query}`)).toMatchObject({ status: 400 })
    }),
  )
})
