/** What happens to a partition while a record that waits cannot be moved out of the way of the commit. */

import { Buffer } from 'node:buffer'
import { replayHeader } from '@waybill/core'
import { originalHeader, waitingHeader } from '@waybill/core/internal'
import { watchRejections } from '@waybill/test-support/kafka'
import { describe, expect, test } from 'vitest'
import { type ConnectorWorld, connectorWorld } from '../../support/connector-world.ts'

watchRejections()

const waitingTopic = 'orders.shipping.waiting'
const bounds = {
  maxAhead: 4,
  keyOrder: { maxWaitingRecords: 4 },
  retry: { tier0: { maxAttempts: 1 }, tiers: [{ delayMs: 1 }] },
}
const span = 2 * (4 + 4)
const own = (value: string): string => value

function connectorOf(world: ConnectorWorld, handler: (value: string) => Promise<void>) {
  return world.connector({
    bindings: {
      orders: {
        topic: 'orders',
        groupId: 'shipping',
        orderingMode: 'KEY',
        parallelism: 'KEY',
        handler: ({ value }) => handler(String(value)),
        ...bounds,
      },
    },
  })
}

const numbered = (count: number): string[] => Array.from({ length: count }, (_, index) => `r${index}`)

const endOfWaiting = (world: ConnectorWorld): number => Number(world.sim.partition(waitingTopic, 0).highWatermark)

const partitionOf = (connector: ReturnType<typeof connectorOf>) =>
  connector.listBindings()[0]?.containers[0]?.members[0]?.partitions[0]

describe('a record that waits and whose handler does not end', () => {
  test('stops its partition when a commit could not remember more, which goes on when it ends', () =>
    connectorWorld(async (world) => {
      world.sim.createTopic('orders')
      const failed = new Set<string>()
      const stuck = Promise.withResolvers<void>()
      const connector = connectorOf(world, async (value) => {
        if (failed.has(value)) return value === 'stuck' ? stuck.promise : undefined
        failed.add(value)
        throw new Error('not yet')
      })
      await connector.start()
      await world.write('orders', ['stuck', ...numbered(100)], 0, own)
      await world.eventually(() => expect(partitionOf(connector)?.pausedBy).toContain('WAITING_FULL'))
      await world.sleep(60_000)
      expect(endOfWaiting(world)).toBeLessThan(2 * span)
      stuck.resolve()
      await world.eventually(() => expect(partitionOf(connector)).toMatchObject({ committed: 101n, waiting: 0 }))
      expect(partitionOf(connector)?.pausedBy).toEqual([])
    }))

  test('does not keep the member from its other commits, whatever strangers write beside it', () =>
    connectorWorld(async (world) => {
      world.sim.createTopic('orders', { partitions: 2 })
      let calls = 0
      const stuck = Promise.withResolvers<void>()
      const connector = connectorOf(world, async (value) => {
        if (value !== 'stuck') return
        if (++calls === 1) throw new Error('not yet')
        await stuck.promise
      })
      await connector.start()
      await world.write('orders', ['stuck'], 0, own)
      await world.eventually(() => expect(calls).toBe(2))
      for (let time = 0; time < 17; time++) await world.write(waitingTopic, numbered(1_000))
      await world.sleep(60_000)
      await world.write('orders', ['other'], 1, own)
      await world.eventually(() => {
        const offsets = world.sim.group('shipping').offsets
        expect(offsets.find(({ topic, partition }) => topic === 'orders' && partition === 1)?.offset).toBe(1n)
      })
      stuck.resolve()
      await world.eventually(() => expect(partitionOf(connector)).toMatchObject({ waiting: 0, pausedBy: [] }))
      expect(world.logger.lines.filter(({ text }) => text.includes('member of the group failed'))).toEqual([])
    }))
})

test('requests for records that the source does not have hold up nothing', () =>
  connectorWorld(async (world) => {
    world.sim.createTopic('orders')
    const values: string[] = []
    const connector = connectorOf(world, async (value) => void values.push(value))
    await connector.start()
    await world.eventually(() => expect(partitionOf(connector)).toBeDefined())
    const request = (kind: string, offset: number) => ({
      topic: waitingTopic,
      partition: 0,
      key: Buffer.from('k'),
      value: Buffer.from(kind),
      headers: Object.entries({
        [originalHeader.topic]: 'orders',
        [originalHeader.partition]: '0',
        [originalHeader.offset]: `${offset}`,
        [originalHeader.timestamp]: '1',
        [replayHeader.consumerGroup]: 'shipping',
        [replayHeader.count]: '1',
        [waitingHeader.kind]: kind,
      }).map(([name, text]) => [name, Buffer.from(text)] as const),
    })
    const producer = world.client.producer('EVENT')
    await producer.send(request('RELEASE', 1_000_000))
    await producer.send(request('REPLAY', 2_000_000))
    await world.write(waitingTopic, numbered(3 * span))
    await world.write('orders', ['1', '2'], 0, own)
    await world.eventually(() => expect(values.toSorted()).toEqual(['1', '2', 'REPLAY']))
    await world.eventually(() => {
      const position = world.sim.group('shipping').offsets.find(({ topic }) => topic === waitingTopic)?.offset
      expect(Number(position)).toBe(endOfWaiting(world))
    })
    expect(partitionOf(connector)?.pausedBy).toEqual([])
  }))
