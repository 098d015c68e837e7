import { describe, expect, test } from 'vitest'
import { type AdminWorld, adminWorld } from '../support/admin-world.ts'

async function paused({ connector, write, ask, runtime }: AdminWorld): Promise<void> {
  await connector.start()
  await write('mails', ['a', 'b', 'c'])
  await runtime.timers.sleep(20_000)
  expect(await ask('POST', '/eventbus/bindings/mail/pause')).toMatchObject({ status: 200 })
}

describe('positions', () => {
  test('are moved by a seek that was planned before', () =>
    adminWorld({}, async (world) => {
      await paused(world)
      const { ask, audit } = world
      const before = audit.length
      const url = '/eventbus/bindings/mail/positions/seek'
      const plan = await ask('POST', `${url}?dryRun=true`, { body: { to: 'EARLIEST' } })
      expect(plan).toMatchObject({
        status: 200,
        body: {
          dryRun: true,
          positions: [{ topic: 'mails', partition: 0, from: '3', to: '0', skipped: '0', repeated: '3' }],
        },
      })
      expect(audit.length).toBe(before)
      const moved = await ask('POST', url, { body: { to: 'EARLIEST' } })
      expect(moved).toMatchObject({ status: 200, body: { positions: plan.body.positions } })
    }))

  test('skip single records, named by texts of digits', () =>
    adminWorld({}, async (world) => {
      await paused(world)
      const { ask } = world
      const url = '/eventbus/bindings/mail/positions/skip'
      expect(await ask('POST', url, { body: { partition: 0, offsets: ['3'] } })).toMatchObject({ status: 428 })
      expect(await ask('POST', url, { body: { partition: 0, offsets: [3], reason: 'x' } })).toMatchObject({
        status: 400,
        body: { violations: [{ path: 'offsets[0]' }] },
      })
      expect(await ask('POST', url, { body: { partiton: 0, offsets: ['3'], reason: 'x' } })).toMatchObject({
        status: 400,
        body: {
          violations: [{ path: 'partiton', message: 'is unknown; did you mean partition?' }, { path: 'partition' }],
        },
      })
      expect(
        await ask('POST', `${url}?dryRun=true`, { body: { partition: 0, offsets: ['1'], reason: 'x' } }),
      ).toMatchObject({
        body: {
          positions: [{ skipped: '1' }],
          warnings: ["1 record gets no outcome but 'skipped', and stay in the topic until retention deletes them."],
        },
      })
    }))

  test('are reset to a time', () =>
    adminWorld({}, async (world) => {
      await paused(world)
      const answer = await world.ask('POST', '/eventbus/bindings/mail/positions/reset', {
        body: { to: { timestampMs: '2000-01-01T00:00:00Z' }, reason: 'again' },
      })
      expect(answer).toMatchObject({ status: 200, body: { positions: [{ to: '0' }] } })
    }))

  test('of a running binding are not moved', () =>
    adminWorld({}, async ({ ask, connector }) => {
      await connector.start()
      for (const dryRun of ['', '?dryRun=true'])
        expect(
          await ask('POST', `/eventbus/bindings/mail/positions/seek${dryRun}`, { body: { to: 'LATEST' } }),
        ).toMatchObject({
          status: 409,
          body: { code: 'WAYBILL_CONTAINER_STATE_INVALID', state: 'RUNNING' },
        })
    }))
})
