/** A source or a waiting topic that is not the one it was: deleted and created again, cut, or set back. */

import type { Buffer } from 'node:buffer'
import { watchRejections } from '@waybill/test-support/kafka'
import { describe, expect, test } from 'vitest'
import { type ConnectorWorld, connectorWorld } from '../../support/connector-world.ts'

watchRejections()

const waitingTopic = 'orders.shipping.waiting'
const own = (value: string): string => value

/** A fetch beyond the end and the next owner's fence both reveal a shorter log; which one is first depends on the seed. */
const reportedByFetchOrFence =
  /orders\.shipping\.waiting-0: the next offset, \d+, is not in the log|its waiting topic ends before the committed position/

/** What a connector with `orderingMode: KEY` handles of one topic; records that begin with `b` fail the first time. */
function keyed(world: ConnectorWorld, delayMs = 200) {
  const values: string[] = []
  const failed = new Set<string>()
  const handler = async ({ value }: { readonly value: Buffer | null }): Promise<void> => {
    const text = String(value)
    values.push(text)
    if (!text.startsWith('b') || failed.has(text)) return
    failed.add(text)
    throw new Error('not yet')
  }
  const retry = { tier0: { maxAttempts: 1 }, tiers: [{ delayMs, maxAttempts: 3 }] }
  const binding = {
    topic: 'orders',
    groupId: 'shipping',
    handler,
    parallelism: 'KEY',
    orderingMode: 'KEY',
    retry,
  } as const
  return { values, connect: () => world.connector({ bindings: { orders: binding } }) }
}

const committed = (world: ConnectorWorld): string =>
  String(world.sim.group('shipping').offsets.find(({ topic }) => topic === 'orders')?.metadata)

describe('a source that is deleted and created again', () => {
  test('does not take with it what waits, also when that waits through further restarts', () =>
    connectorWorld(async (world) => {
      world.sim.createTopic('orders')
      const { values, connect } = keyed(world, 20_000)
      const first = connect()
      await first.start()
      await world.write('orders', ['1', '2', 'bad'], 0, own)
      await world.eventually(() => expect(committed(world)).toContain('wn=1'))
      await first.stop()
      world.sim.deleteTopic('orders')
      world.sim.createTopic('orders')
      const second = connect()
      await second.start()
      await world.write('orders', ['n1'], 0, own)
      await world.eventually(() => expect(committed(world)).toContain('o=1'))
      expect(second.health()).toMatchObject({ status: 'DEGRADED' })
      expect(second.health().reasons[0]).toContain('only its waiting topic has a commit')
      await second.stop()
      const third = connect()
      await third.start()
      await world.eventually(() => expect(values).toEqual(['1', '2', 'bad', 'n1', 'bad']))
      await world.eventually(() => expect(committed(world)).toContain('wn=0'))
      expect(third.health().status).toBe('UP')
      expect((await third.audit()).map(({ problem }) => problem)).toEqual([undefined])
    }))

  test('brings its new records though one that waits had the same offset', () =>
    connectorWorld(async (world) => {
      world.sim.createTopic('orders')
      const { values, connect } = keyed(world, 20_000)
      const first = connect()
      await first.start()
      await world.write('orders', ['bad'], 0, own)
      await world.eventually(() => expect(committed(world)).toContain('wn=1'))
      await first.stop()
      world.sim.deleteTopic('orders')
      world.sim.createTopic('orders')
      await world.write('orders', ['n1', 'n2'], 0, own)
      await connect().start()
      await world.eventually(() => expect(values).toEqual(['bad', 'n1', 'n2', 'bad']))
      await world.eventually(() => expect(committed(world)).toContain('wn=0'))
    }))
})

describe('a waiting topic that is deleted and created again', () => {
  test.each([300, 1])('is read from its beginning, and what waits there later runs (after %i records)', (count) =>
    connectorWorld(async (world) => {
      world.sim.createTopic('orders')
      const { values, connect } = keyed(world)
      const first = connect()
      await first.start()
      const before = Array.from({ length: count }, (_, index) => `b${index}`)
      await world.write('orders', before, 0, own)
      await world.eventually(() => expect(committed(world)).toContain(`wo=${count}`))
      await first.stop()
      world.sim.deleteTopic(waitingTopic)
      values.length = 0
      const second = connect()
      await second.start()
      await world.write('orders', ['n1', 'b-new', 'n2'], 0, own)
      await world.eventually(() => expect(values.toSorted()).toEqual(['b-new', 'b-new', 'n1', 'n2']))
      expect(second.health().reasons.join()).toMatch(reportedByFetchOrFence)
      await world.sleep(600_000)
      expect(world.logger.lines.filter(({ text }) => text.includes('member of the group failed'))).toEqual([])
      await second.acknowledgeLoss('orders', { by: 'alice' })
      expect(second.health().status).toBe('UP')
      expect((await second.audit()).map(({ problem }) => problem)).toEqual([undefined])
    }),
  )

  test('is read from its beginning when that happens while it is read', () =>
    connectorWorld(async (world) => {
      world.sim.createTopic('orders')
      const { values, connect } = keyed(world)
      const connector = connect()
      await connector.start()
      await world.write('orders', ['b1', 'b2', 'b3'], 0, own)
      await world.eventually(() => expect(committed(world)).toContain('wo=3'))
      world.sim.deleteTopic(waitingTopic)
      world.sim.createTopic(waitingTopic)
      await world.sleep(60_000)
      await world.write('orders', ['b4', 'n1'], 0, own)
      await world.eventually(() => expect(values.filter((value) => value === 'b4')).toHaveLength(2))
      expect(values).toContain('n1')
      expect(connector.health().reasons.join()).toContain(waitingTopic)
    }))
})

test('a record that should wait and is not found is told, once, and counting goes on from there', () =>
  connectorWorld(async (world) => {
    world.sim.createTopic('orders')
    await world.write('orders', ['1', '2', '3'], 0, own)
    const metadata = 'wb1 s=0 o=1 r=1 d=0 k=0 h=0 b= w=0 ws=0 wo=0 wr=0 wd=0 wk=0 wh=0 wp=0 wn=1 wb='
    await world.client.admin.alterGroupOffsets('shipping', [{ topic: 'orders', partition: 0, offset: 2n, metadata }])
    const { values, connect } = keyed(world)
    const connector = connect()
    await connector.start()
    await world.eventually(() => expect(values).toEqual(['3']))
    await world.eventually(() => expect(committed(world)).toContain('s=2 o=1'))
    await connector.audit()
    expect(connector.health().reasons).toHaveLength(1)
    expect(connector.health().reasons[0]).toContain('1 records that waited are not in the waiting topic')
    await connector.acknowledgeLoss('orders', { by: 'alice' })
    await connector.audit()
    expect(connector.health().status).toBe('UP')
  }))
