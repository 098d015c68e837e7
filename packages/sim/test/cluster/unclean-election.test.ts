import { encodeBatch } from '@waybill/kafka/wire'
import type { SimCluster } from '@waybill/sim'
import { describe, expect, test } from 'vitest'
import { SimClient, simulate, textBatch, textRecord } from './sim-client.ts'

async function filled(cluster: SimCluster, ...batches: readonly (readonly string[])[]): Promise<SimClient> {
  cluster.createTopic('t')
  const client = await SimClient.connect(cluster)
  for (const values of batches) await client.produce('t', 0, textBatch(values))
  return client
}

/** A client of the node that leads now. */
function atLeader(cluster: SimCluster): Promise<SimClient> {
  return SimClient.connect(cluster, cluster.partition('t', 0).leader)
}

describe('an unclean election', () => {
  test('elects another leader, whose log ends at a batch and is continued under the next epoch', () =>
    simulate(
      async (cluster) => {
        await filled(cluster, ['a'], ['b', 'c'], ['d'])
        const before = cluster.partition('t', 0)
        expect(cluster.electUnclean('t', 0, 2n)).toBe(1n)
        const { leader, leaderEpoch, highWatermark } = cluster.partition('t', 0)
        expect([leader === before.leader, leaderEpoch, highWatermark]).toEqual([false, before.leaderEpoch + 1, 1n])
        const client = await atLeader(cluster)
        expect((await client.produce('t', 0, textBatch(['x']))).baseOffset).toBe(1n)
        expect((await client.fetch('t', 0, 0n)).batches.map(({ values }) => values)).toEqual([['0:a'], ['1:x']])
      },
      { brokers: 3 },
    ))

  test('cuts nothing of a log that ends before, and a lone replica leads again', () =>
    simulate(async (cluster) => {
      await filled(cluster, ['a'])
      expect(cluster.electUnclean('t', 0, 1n)).toBe(1n)
      expect(cluster.partition('t', 0)).toMatchObject({ leader: 1, leaderEpoch: 1 })
    }))

  test('never moves the end below the start', () =>
    simulate(async (cluster) => {
      await filled(cluster, ['a', 'b', 'c'])
      cluster.deleteRecords('t', 0, 2n)
      expect(cluster.electUnclean('t', 0, 2n)).toBe(2n)
    }))

  test('forgets sequences and open transactions that only the lost batches knew', () =>
    simulate(async (cluster) => {
      cluster.createTopic('t')
      const client = await SimClient.connect(cluster)
      const write = (value: string, baseSequence: number) => {
        const producer = { producerId: 7n, producerEpoch: 0, baseSequence, isTransactional: false }
        return client.produce('t', 0, encodeBatch([textRecord(value)], 'NONE', producer))
      }
      for (const [index, value] of ['a', 'b', 'c'].entries()) await write(value, index)
      cluster.electUnclean('t', 0, 1n)
      expect((await write('d', 3)).error).toBe('OUT_OF_ORDER_SEQUENCE_NUMBER')
      expect((await write('b', 1)).baseOffset).toBe(1n)
    }))
})

describe('a fetch after an unclean election', () => {
  test('is out of range while the log has not come as far again, and reads other records then', () =>
    simulate(async (cluster) => {
      await filled(cluster, ['a'], ['b'], ['c'])
      cluster.electUnclean('t', 0, 1n)
      const client = await atLeader(cluster)
      expect((await client.fetch('t', 0, 3n)).error).toBe('OFFSET_OUT_OF_RANGE')
      await client.produce('t', 0, textBatch(['x', 'y', 'z']))
      expect((await client.fetch('t', 0, 3n)).batches.map(({ values }) => values)).toEqual([['1:x', '2:y', '3:z']])
    }))

  test('that names its last fetched epoch receives the end of the shared log, whatever was written since', () =>
    simulate(async (cluster) => {
      await filled(cluster, ['a'], ['b'], ['c'])
      cluster.electUnclean('t', 0, 1n)
      const client = await atLeader(cluster)
      const shared = { error: 'NONE', divergingEpoch: { epoch: 0, endOffset: 1n }, batches: [] }
      expect(await client.fetch('t', 0, 3n, { lastFetchedEpoch: 0 })).toMatchObject(shared)
      await client.produce('t', 0, textBatch(['x', 'y', 'z']))
      expect(await client.fetch('t', 0, 3n, { lastFetchedEpoch: 0 })).toMatchObject(shared)
      const fine = await client.fetch('t', 0, 1n, { lastFetchedEpoch: 0 })
      expect([fine.divergingEpoch, fine.batches.length]).toEqual([undefined, 1])
    }))

  test('is answered at once, though it may wait for records', () =>
    simulate(async (cluster, runtime) => {
      const client = await filled(cluster, ['a'], ['b'])
      const waiting = client.fetch('t', 0, 2n, { lastFetchedEpoch: 0, maxWaitMs: 10_000 })
      await runtime.timers.sleep(100)
      cluster.electUnclean('t', 0, 1n)
      const from = runtime.clock.monotonic()
      expect((await waiting).divergingEpoch).toEqual({ epoch: 0, endOffset: 1n })
      expect(runtime.clock.monotonic() - from).toBeLessThan(1_000)
    }))

  test('receives an older epoch when nothing of the last one is left', () =>
    simulate(async (cluster) => {
      await filled(cluster, ['a'])
      cluster.electUnclean('t', 0, 5n) // Epoch 1, nothing lost.
      const second = await atLeader(cluster)
      await second.produce('t', 0, textBatch(['b']))
      cluster.electUnclean('t', 0, 1n) // Epoch 2, without all of epoch 1.
      const third = await atLeader(cluster)
      await third.produce('t', 0, textBatch(['x']))
      const answer = await third.fetch('t', 0, 2n, { lastFetchedEpoch: 1 })
      expect(answer.divergingEpoch).toEqual({ epoch: 0, endOffset: 1n })
    }))

  test('that names an epoch the leader does not know yet is out of range', () =>
    simulate(async (cluster) => {
      const client = await filled(cluster, ['a'])
      expect((await client.fetch('t', 0, 1n, { lastFetchedEpoch: 9 })).error).toBe('OFFSET_OUT_OF_RANGE')
    }))
})
