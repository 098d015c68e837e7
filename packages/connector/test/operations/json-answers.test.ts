import { NonRetryableError } from '@waybill/core'
import { expect, test } from 'vitest'
import type { Connector } from '../../src/api/connector.ts'
import { type ConnectorWorld, connectorWorld } from '../support/connector-world.ts'

const alice = { by: 'alice' }

/** Parses an answer's JSON: throws when the answer has a bigint that JSON cannot hold. */
function json(answer: unknown): unknown {
  return JSON.parse(JSON.stringify(answer))
}

/** Starts a binding that has handled `a` and buried `dead`. */
async function settledTwo({ sim, connector, write, eventually }: ConnectorWorld): Promise<Connector> {
  sim.createTopic('orders')
  const bus = connector({
    bindings: {
      orders: {
        topic: 'orders',
        groupId: 'orders',
        handler: async ({ value }) => {
          if (value?.toString() === 'dead') throw new NonRetryableError('refused')
        },
      },
    },
  })
  await bus.start()
  await write('orders', ['a', 'dead'])
  await eventually(async () => expect((await bus.audit())[0]).toMatchObject({ ok: 1n, dead: 1n }))
  return bus
}

test('audit, status and losses can be written as JSON, with offsets as decimal strings', () =>
  connectorWorld(async (world) => {
    const bus = await settledTwo(world)
    const [row] = await bus.audit()
    expect(row?.committed).toBe(2n)
    expect(json([row])).toMatchObject([{ topic: 'orders', committed: '2', ok: '1', dead: '1' }])
    for (const views of [bus.listBindings(), bus.admin.bindings(), [bus.admin.binding('orders')]]) {
      expect(json(views)).toMatchObject([
        { containers: [{ members: [{ partitions: [{ watermark: '2', committed: '2' }] }] }, {}, {}, {}] },
      ])
      expect(json(views[0]?.containers[0]?.members[0]?.partitions[0])).toMatchObject({ watermark: '2' })
    }
    expect(json([bus.health(), await bus.admin.statuses()])).toMatchObject([{ status: 'UP' }, [{ state: 'RUNNING' }]])
    await bus.stop('orders')
    await world.write('orders', ['b', 'c'])
    world.sim.deleteRecords('orders', 0, 4n)
    await bus.audit()
    expect(json(await bus.acknowledgeLoss('orders', alice))).toMatchObject([{ kind: 'LOST', records: '2' }])
  }))

test('moved positions can be written as JSON, also in the audit', () =>
  connectorWorld(async (world) => {
    const bus = await settledTwo(world)
    await bus.stop('orders')
    const moved = { positions: [{ from: '2', to: '1', repeated: '1' }], instances: [{ positions: [{ to: '1' }] }] }
    expect(json(await bus.admin.seek('orders', { to: { offset: 1n }, partitions: [0] }, alice))).toMatchObject(moved)
    expect(json(await bus.admin.skip('orders', { partition: 0, offsets: [1n] }, alice))).toMatchObject({
      positions: [{ from: '1', to: '2', skipped: '1' }],
    })
    expect(json(await bus.admin.reset('orders', { to: 'EARLIEST' }, alice))).toMatchObject({ positions: [{ to: '0' }] })
    expect(json((await bus.audit())[0])).toMatchObject({ moved: { from: '2', to: '0', by: 'alice' } })
    expect(json(await bus.admin.start('orders', alice))).toMatchObject({ instances: [{ state: 'RUNNING' }] })
  }))

test('reports, statistics and dead letters can be written as JSON, with the progress of long calls', () =>
  connectorWorld(async (world) => {
    const bus = await settledTwo(world)
    const progress: unknown[] = []
    const onProgress = (one: unknown): void => void progress.push(json(one))
    expect(json(await bus.admin.dltStats('orders', alice, { onProgress }))).toMatchObject({
      count: 1,
      oldest: { offset: '0', originalOffset: '1' },
      newest: { offset: '0', originalOffset: '1' },
      notReplayed: '1',
    })
    for await (const letter of bus.admin.deadLetters('orders', alice))
      expect(json(letter)).toMatchObject({ offset: '0', record: { originalOffset: '1' } })
    const operated = [
      await bus.admin.replayDlt('orders', { count: 1, onProgress }, alice),
      await bus.admin.replayDlt('orders', { count: 1 }, alice),
      await bus.admin.replayToTier('orders', 1, { from: 0, to: 1, onProgress }, alice),
    ]
    expect(json(operated)).toMatchObject([{ replayed: 1, remaining: '0' }, { remaining: '0' }, { remaining: '0' }])
    expect(json(await bus.admin.purgeDlt('orders', 0, alice))).toMatchObject({
      purged: expect.stringMatching(/^\d+$/),
    })
    expect(progress).toEqual([
      { read: 1, of: '1' },
      { replayed: 1, skipped: {}, remaining: '0' },
      { replayed: 0, skipped: {}, remaining: '0' },
    ])
  }))
