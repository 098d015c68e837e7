import { describe, expect, test } from 'vitest'
import { inSimulation } from '../support/behaviour-scene.ts'
import { collecting, connectorWorld } from '../support/connector-world.ts'
import { testBatches } from './batch-behaviour.ts'

describe('BatchRecordListenerAdapter, PartialBatchFailure', () => {
  describe('listenerType BATCH on a simulated cluster', () => {
    testBatches((program) =>
      inSimulation(async ({ sim, ...place }) => {
        const refuse = async (topic: string): Promise<() => Promise<void>> => {
          sim.deleteTopic(topic)
          return async () => void sim.createTopic(topic, { partitions: 1 })
        }
        await program({ ...place, refuse })
      }),
    )
  })
})

describe('the commits of a batch', () => {
  test.each(['MANUAL', 'MANUAL_IMMEDIATE'] as const)('S0-147 are one, with ackMode %s', (ackMode) =>
    connectorWorld(async ({ sim, connector, write, commits, eventually, sleep }) => {
      sim.createTopic('orders', { partitions: 1 })
      const { handler, values } = collecting()
      await write('orders', ['a', 'b', 'c', 'd'])
      const bindings = {
        shipping: { topic: 'orders', groupId: 'shipping', listenerType: 'BATCH' as const, ackMode, handler },
      }
      await connector({ bindings }).start()
      const moved = (): readonly bigint[] =>
        commits
          .filter(({ groupId }) => groupId === 'shipping')
          .flatMap(({ offsets }) => offsets.map(({ offset }) => offset))
          .filter((offset) => offset > 0n)
      await eventually(() => expect(moved()).toContain(4n))
      expect(values).toEqual(['a', 'b', 'c', 'd'])
      await sleep(10_000)
      expect(moved()).toEqual([4n])
    }),
  )
})

describe('the tiers of a batch listener', () => {
  test('are committed with the polls, with ackMode MANUAL', () =>
    connectorWorld(async ({ sim, connector, write, eventually }) => {
      sim.createTopic('orders', { partitions: 1 })
      const binding = {
        topic: 'orders',
        groupId: 'shipping',
        listenerType: 'BATCH' as const,
        batchFailureStrategy: 'TIER_AND_CONTINUE' as const,
        ackMode: 'MANUAL' as const,
        retry: { tier0: { maxAttempts: 1 }, tiers: [{ delayMs: 100 }] },
        handler: (_record: unknown, { tier }: { readonly tier: number }): void => {
          if (tier === 0) throw new Error('not here')
        },
      }
      await write('orders', ['a'])
      await connector({ bindings: { shipping: binding } }).start()
      await eventually(() => {
        const offsets = sim.group('shipping-retry-1').offsets.map(({ offset }) => offset)
        expect(offsets).toContain(1n)
      })
    }))
})
